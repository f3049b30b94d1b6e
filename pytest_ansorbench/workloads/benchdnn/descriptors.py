"""Descriptors of problems: dimensions, and numbers after names."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Final

from pytest_ansorbench.workloads.operators.window import Window

_NUMBER: Final = r"\d{1,18}"
"""One that fits into 64 bits, whatever its digits."""


class Unread(ValueError):
    """What is wrong with a problem, and what is expected."""


def dimensions_of(text: str, least: int, most: int) -> list[tuple[int, ...]]:
    """The dimensions of some tensors, as `2x3:3x4`."""
    found = [one.split("x") for one in text.split(":")]
    are_numbers = all(re.fullmatch(_NUMBER, one) for one in itertools.chain(*found))
    if not least <= len(found) <= most or not are_numbers:
        raise Unread(f"expected dimensions, e.g. {':'.join(['2x3', '3x4'][:least])}")
    return [tuple(map(int, one)) for one in found]


def entries_of(text: str, names: str) -> dict[str, int]:
    """Numbers by their names, as `mb1_ic64`."""
    name = "|".join(names.split())
    if not re.fullmatch(rf"(({name}){_NUMBER}_*)+", text):
        raise Unread(f"expected numbers after names ({names}), e.g. ic64ih56")
    return {one: int(number) for one, number in re.findall(rf"({name})({_NUMBER})", text)}


def extents_of(entries: Mapping[str, int]) -> tuple[dict[str, dict[str, int]], list[int]]:
    """What entries say of each spatial axis, and its elements; that of rows is that of columns."""
    # Of other numbers, 0 says nothing.
    said = {name: value for name, value in entries.items() if value or name[0] == "p"}
    axes = {axis: {n[0]: value for n, value in said.items() if n[1:] == axis} for axis in "dhw"}
    # A problem may say ph0sh1 of rows that it has not.
    axes = {axis: values for axis, values in axes.items() if values.items() - {("p", 0), ("s", 1)}}
    if [*axes] in (["d"], ["h"]):
        [values] = axes.values()
        axes = dict.fromkeys("dhw" if "d" in axes else "hw", values)
    if [*axes] not in (["d", "h", "w"], ["h", "w"], ["w"]):
        raise Unread("expected one to three spatial axes, e.g. ih56iw56")
    if missing := [axis for axis, values in axes.items() if not values.get("i")]:
        raise Unread(f"expected the elements of each axis, e.g. i{missing[0]}56")
    return axes, [values["i"] for values in axes.values()]


def windows_of(entries: Mapping[str, int]) -> tuple[list[int], Window]:
    """Elements of each spatial axis, and the window that slides over all of them."""
    axes, extents = extents_of(entries)
    windows = {_window(values) for values in axes.values()}
    if len(windows) != 1:
        raise Unread("expected the same kernel, stride, padding and dilation along each axis")
    [window] = windows
    for values in axes.values():
        output = window.output_extent(values["i"])
        if values.get("o", output) != output:
            raise Unread(
                f"its output of {values['o']} asks for a padding at one end that the other has "
                f"not; expected {output}"
            )
    return extents, window


def _window(values: Mapping[str, int]) -> Window:
    """The window along an axis; a padding that is not named is half of what the output asks for."""
    kernel, stride, dilation = values.get("k", 0), values.get("s", 1), values.get("d", 0) + 1
    span = dilation * (kernel - 1) + 1
    asked = (values["o"] - 1) * stride - values["i"] + span if "o" in values else 0
    return Window(kernel, stride, values.get("p", max(0, asked) // 2), dilation)
