"""What a program that was called wrote: compared with the reference, or handed on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pytest_ansorbench.arrays import pack_arrays
from pytest_ansorbench.measure.arguments import mismatch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_ansorbench.workloads.case import Check


class Called(Protocol):
    """A program that was called with the inputs of its check."""

    def outputs(self) -> Sequence[NDArray[Any]]:
        """What its last call wrote."""

    def damage(self) -> str:
        """What it wrote where it should not: one sentence, empty if nothing is known."""

    def outputs_of(self, check: Check) -> tuple[Sequence[NDArray[Any]], str]:
        """What a call with other inputs writes, and what it damages."""


def fault(program: Called, check: Check | None) -> str:
    """What is wrong with what it wrote, and writes for the fresh inputs; empty if nothing."""
    wrong = program.damage()
    if check is None or wrong:
        return wrong
    wrong = mismatch(program.outputs(), check)
    if check.fresh is None or wrong:
        return wrong
    outputs, wrong = program.outputs_of(check.fresh)
    if not wrong and (wrong := mismatch(outputs, check.fresh)):
        wrong = f"with inputs that it was not timed on, {wrong}"
    return wrong


def computed(program: Called, check: Check | None) -> dict[str, Any]:
    """What it wrote, and what it writes for the fresh inputs, as a reply to the parent."""
    outputs = list(program.outputs())
    count = len(outputs)
    if check is not None and check.fresh is not None:
        outputs += program.outputs_of(check.fresh)[0]
    return {"count": count, "payload": pack_arrays(outputs)}
