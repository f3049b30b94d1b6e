"""The schedules that searches came to, to be read and copied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_ansorbench.report.cells import Index, Latency, Significant, Text, Throughput
from pytest_ansorbench.report.sections import Block, Code, Lines, Section, Sentence

if TYPE_CHECKING:
    from pytest_ansorbench.winners import Script


def schedules(case: str, scripts: Sequence[Script]) -> Section:
    """Show the fastest kernels of a case.

    Args:
        case: The case's id.
        scripts: Schedules written out; those of other cases are left out.

    Returns:
        Of each a sentence on its throughput, its trace and its program.
    """
    own = [script for script in scripts if script.winner.case == case]
    return Section("schedules", tuple(_blocks(own)), subject=case)


def _blocks(scripts: Sequence[Script]) -> Iterator[Block]:
    for script in scripts:
        yield Lines((_fastest(script),))
        yield Code("schedule, as calls of tvm.s_tir.Schedule", script.trace, "python")
        yield Code("scheduled program", script.program, "python")


def _fastest(script: Script) -> Sentence:
    winner = script.winner
    task: Sentence = (", task ", Text(winner.task.name)) if winner.tasks > 1 else ()
    return (
        Text(winner.strategy),
        *task,
        ": ",
        Throughput(winner.gflops),
        " GFLOP/s, ",
        Latency(1e3 * winner.latency_s, Significant(4)),
        " ms, found with seed ",
        Index(winner.seed),
    )
