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
    """The schedule of a winner, written out."""

    winner: Winner
    trace: str  # calls of `tvm.s_tir.Schedule`; empty for a program that was made without one
    program: str  # the scheduled program as TVMScript

    @classmethod
    def of(cls, winner: Winner) -> Script:
        candidate = winner.candidate()
        return cls(
            winner, "\n".join(candidate.schedule.trace.as_python()), str(candidate.mod.script())
        )


def scripts_of(result: Result) -> tuple[Script, ...]:
    """The fastest schedules of a result, written out, as far as this TVM, if any, can read them."""
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
    """The fastest winner of each strategy for each task of each case, over the seeds."""
    best: dict[tuple[str, int], dict[str, Winner]] = {}
    for winner in winners:
        of_task = best.setdefault((winner.case, winner.place), {})
        known = of_task.get(winner.strategy)
        if known is None or winner.latency_s < known.latency_s:
            of_task[winner.strategy] = winner
    for of_task in best.values():
        yield from of_task.values()
