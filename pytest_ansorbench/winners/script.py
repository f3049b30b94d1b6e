"""Winners as text, to be read and copied."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from pytest_ansorbench.environment import ToolchainError, check_toolchain
from pytest_ansorbench.packed import PackedError
from pytest_ansorbench.records import Result
from pytest_ansorbench.winners.winner import Winner, fastest_by, winners_of


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
    winners = fastest(winners_of(result))
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


def fastest(winners: Iterable[Winner]) -> list[Winner]:
    """The fastest winner of each strategy for each task of each case, over the seeds."""
    best = fastest_by(winners, lambda one: (one.case, one.place, one.strategy)).values()
    cases = [*dict.fromkeys(one.case for one in best)]
    return sorted(best, key=lambda one: (cases.index(one.case), one.place))
