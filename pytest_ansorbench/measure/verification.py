"""What a program that was called wrote: compared with the reference, or handed on.

A program that is timed is called again and again with the same arguments, and tells by that when
it is. So it is also called with other contents at the same place in memory, and with outputs that
hold no result: a program that remembers, skips its work or is right by chance shows there.
"""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.arrays import pack_arrays
from pytest_ansorbench.measure.arguments import mismatch, same_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_ansorbench.workloads.case import Check

_REPEATED_S: Final = 0.005
"""Seconds of calls with other contents, after which there are no more."""
_REPEATED_CALLS: Final = 8
_SLOWER: Final = 3.0
"""Latency where each call is checked over that where calls are timed, above which it lies. Caches
that others have used account for less."""
_CALL_S: Final = 1e-4
"""What a single call may take beside: threads that wake up, Python around it."""
_COMPARISONS: Final = 3
LATE_S: Final = 0.001
"""Seconds in which a program that has returned must not write."""
LATE: Final = "the kernel still wrote to its output after it had returned"


class Called(ABC):
    """A program that can be called once it has its arguments: the inputs of its check."""

    timed_s: float | None = None
    """Seconds of a call when calls were last timed; None if they never were."""

    @abstractmethod
    def call(self) -> float:
        """Call it once; seconds, those of a way there and back included."""

    @abstractmethod
    def time(self, calls: int, samples: int, flush_bytes: int) -> list[float]:
        """Call it once uncounted, then time `samples` times `calls` calls; seconds a call."""

    @abstractmethod
    def time_again(self) -> float:
        """Time calls as they were last timed; seconds of a call."""

    @abstractmethod
    def outputs(self) -> Sequence[NDArray[Any]]:
        """What its last call wrote."""

    @abstractmethod
    def damage(self) -> str:
        """What it wrote where it should not: one sentence, empty if nothing is known."""

    @abstractmethod
    def call_again(self) -> None:
        """Call it as it was timed, with outputs that hold no result."""

    @abstractmethod
    def call_on(self, check: Check) -> float:
        """Call it with a check's inputs, always at the same place in memory; seconds it took.

        This is another place than that of the inputs that it is timed on.
        """

    def late(self) -> str:
        """Wait, and tell what it still writes after it has returned; empty if nothing."""
        before = self.outputs()
        time.sleep(LATE_S)
        return "" if same_bytes(before, self.outputs()) else LATE


def fault(program: Called, check: Check | None) -> str:
    """What is wrong with what it wrote, and writes when it is called again; empty if nothing."""
    wrong = program.damage()
    if check is None or wrong:
        return wrong
    fresh = check if check.fresh is None else check.fresh
    timed = _taken(program)
    program.call_again()
    again = _taken(program)
    late = program.late()
    seconds = program.call_on(fresh)
    other = _taken(program)
    if wrong := late or program.damage() or mismatch(timed, check):
        return wrong
    if wrong := mismatch(again, check):
        return f"called once more, {wrong}"
    if wrong := mismatch(other, fresh):
        return f"with inputs that it was not timed on, {wrong}"
    known = (check, timed), (fresh, other)
    return _unsteady(program, known, seconds) or _slower(program, seconds, (fresh, check))


def computed(program: Called, check: Check | None) -> dict[str, Any]:
    """What it wrote, and what it writes for the fresh inputs, as a reply to the parent."""
    outputs = _taken(program)
    count = len(outputs)
    if check is not None and check.fresh is not None:
        program.call_on(check.fresh)
        outputs += _taken(program)
    return {"count": count, "payload": pack_arrays(outputs)}


def _taken(program: Called) -> list[NDArray[Any]]:
    """Its outputs as they are at this moment."""
    return [output.copy() for output in program.outputs()]


def _unsteady(
    program: Called, known: Sequence[tuple[Check, Sequence[NDArray[Any]]]], spent_s: float
) -> str:
    """What is wrong in one of some more calls, with contents that change from call to call."""
    for check, right in itertools.islice(itertools.cycle(known), _REPEATED_CALLS):
        if spent_s > _REPEATED_S:
            break
        spent_s += program.call_on(check)
        outputs = _taken(program)
        if wrong := program.damage():
            return wrong
        if not same_bytes(outputs, right) and (wrong := mismatch(outputs, check)):
            return f"not in every call does it compute the same: {wrong}"
    return ""


def _slower(program: Called, seconds: float, checks: Sequence[Check]) -> str:
    """How much longer it takes where contents change; empty if it may be as fast as it was timed.

    One call that was disturbed says nothing. Suspicion is confirmed by calls of both kinds in turn.
    The first of the checks has other contents than what is timed.
    """
    timed_s = program.timed_s
    if timed_s is None or not _is_slower(seconds, timed_s):
        return ""
    for _ in range(_COMPARISONS):
        timed_s = program.time_again()
        seconds = min(program.call_on(check) for check in (*checks, *checks))
        if not _is_slower(seconds, timed_s):
            return ""
    return (
        f"a call takes {1e3 * timed_s:.3g} ms where it is timed, and {1e3 * seconds:.3g} ms with "
        "inputs that change"
    )


def _is_slower(seconds: float, timed_s: float) -> bool:
    return seconds > _SLOWER * timed_s + _CALL_S
