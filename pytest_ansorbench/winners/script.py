"""Winners as text, to be read and copied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from pytest_ansorbench.environment import ToolchainError, check_toolchain
from pytest_ansorbench.packed import PackedError
from pytest_ansorbench.records import Result
from pytest_ansorbench.winners.winner import Winner, winners_of


@dataclass(frozen=True, slots=True)
class Script:
    """The schedule of a winner, written out.

    Attributes:
        winner: The winner.
        trace: The schedule, as calls of `tvm.s_tir.Schedule`; empty for a program that was made
            without one.
        program: The scheduled program as TVMScript.
    """

    winner: Winner
    trace: str
    program: str

    @classmethod
    def of(cls, winner: Winner) -> Script:
        """Write a winner out.

        Raises:
            PackedError: The schedule does not apply, or this version of TVM cannot read it.
        """
        candidate = winner.candidate()
        return cls(
            winner, "\n".join(candidate.schedule.trace.as_python()), str(candidate.mod.script())
        )


def scripts_of(result: Result) -> tuple[Script, ...]:
    """The fastest schedules of a result, written out.

    Returns:
        As `fastest` chooses them; without those that this version of TVM cannot read, and none
        where there is no TVM that could.
    """
    winners = [*fastest(winners_of(result))]
    scripts = []
    try:
        if winners:
            check_toolchain()
    except ToolchainError:
        return ()
    for winner in winners:
        with suppress(PackedError):
            scripts.append(Script.of(winner))
    return tuple(scripts)


def fastest(winners: Iterable[Winner]) -> Iterator[Winner]:
    """The fastest winner of each strategy for each task of each case, over the seeds.

    Args:
        winners: The winners, as `winners_of` yields them.

    Yields:
        Winners, in order of cases and tasks, then of strategies as they come.
    """
    best: dict[tuple[str, int], dict[str, Winner]] = {}
    for winner in winners:
        of_task = best.setdefault((winner.case, winner.place), {})
        known = of_task.get(winner.strategy)
        if known is None or winner.latency_s < known.latency_s:
            of_task[winner.strategy] = winner
    for of_task in best.values():
        yield from of_task.values()
