"""Cases and models that a command is given as words."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_ansorbench.cli.exits import Refusal, parsed

if TYPE_CHECKING:
    from pytest_ansorbench.workloads import Case


def add_shapes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--shape",
        metavar="NAME=N,N",
        action="append",
        default=[],
        help="shape of a model's input, e.g. x=1,3,224,224, or value of a symbolic dimension, e.g. "
        "batch=1; may be given several times",
    )


def add_rewrite(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "--rewrite",
        default=default,
        metavar="NAME",
        help="what becomes of a model before the search: none, channels-last, packed (and weights "
        "in blocks), winograd (and its form of 3 x 3 convolutions), or fast-math (and exponentials "
        "by polynomials) (default: %(default)s)",
    )


def case_given(word: str, shapes: Sequence[str], rewrite: str = "none") -> Case:
    """A shipped case by its id, a model by its file, or what a function of a module returns."""
    from pytest_ansorbench.workloads.given import FixedCase, case_of
    from pytest_ansorbench.workloads.networks.rewrites import rewrite_named

    import_from_here()
    extents = dict(parsed("--shape", one, _shape) for one in shapes)
    made = parsed("--rewrite", rewrite, rewrite_named)
    try:
        return case_of(word, shapes=extents, rewrite=made)
    except FixedCase as error:
        raise Refusal(f"bad --shape: {error}") from None


def import_from_here() -> None:
    """Have the user's modules found as by `python -m`."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())


def _shape(text: str) -> tuple[str, int | tuple[int, ...]]:
    """A name and its number, or its numbers with commas between them."""
    name, _, numbers = text.rpartition("=")
    words = numbers.removesuffix(",").split(",") if numbers else []
    if not name or not all(word.strip().isdecimal() for word in words):
        raise ValueError("expected NAME=N,N, e.g. x=1,3,224,224, or batch=1")
    extents = tuple(map(int, words))
    return name, extents[0] if numbers.isdecimal() else extents
