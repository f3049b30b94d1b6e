"""What a result was measured under: caches, confirmed progress, what else the machines did."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from pytest_ansorbench.records import CaseResult, MachineState, Run
from pytest_ansorbench.report.cells import (
    Cell,
    Cores,
    Count,
    Counted,
    Percentage,
    PlainRatio,
    Significant,
    Text,
)
from pytest_ansorbench.report.sections import Lines, Sentence, listed
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.recorded import Pace

BUSY_CORES: Final = 0.1
"""Cores' worth of other work that moves a latency by more than it varies anyway."""


_CACHES: Final = {
    "cold": "each timed call of a trial came after a copy that emptied the caches",
    "network": (
        "each timed call of a network's trials found the caches as the network leaves them; "
        "operators and final measurements are warm"
    ),
}


def caches_lines(results: Sequence[CaseResult]) -> Lines:
    """Say how trials found the caches.

    Args:
        results: The cases.

    Returns:
        One sentence for each way but the usual one, which is warm.
    """
    found = {run.caches: None for result in results for run in result.runs}
    return Lines(
        tuple(
            ("caches: ", Text(caches), ": ", _CACHES[caches])
            for caches in found
            if caches in _CACHES
        )
    )


def recorded_lines(results: Sequence[CaseResult]) -> Lines:
    """Say which runs are of another day.

    Args:
        results: The cases.

    Returns:
        One sentence for each case with such runs.
    """
    return Lines(tuple(_recorded(result) for result in results if _of_another_day(result)))


def _of_another_day(result: CaseResult) -> list[Run]:
    return [run for run in result.runs if run.recorded is not None]


def _recorded(result: CaseResult) -> Sentence:
    runs = _of_another_day(result)
    strategy = runs[0].strategy
    pace = Pace.of(result.runs_of(strategy))
    days = {run.recorded.created[:10]: None for run in runs if run.recorded is not None}
    return (
        "recorded: ",
        Text(result.case),
        ": ",
        Count(len(runs)),
        " of ",
        Counted(len(result.runs_of(strategy)), "run"),
        " of ",
        Text(strategy),
        " are of ",
        *listed(map(Text, days)),
        "; their first rounds, run again, took ",
        PlainRatio(pace.ratio),
        " times as long; ratios in seconds count that, with intervals wider by ",
        Percentage(math.expm1(pace.error), Significant(2)),
    )


def progress_lines(results: Sequence[CaseResult], criteria: Criteria) -> Lines:
    """Say which progress of the searches counts, where there is a choice.

    Args:
        results: The cases.
        criteria: How they were judged.

    Returns:
        One sentence; none if no run's leads were measured again.
    """
    if not any(run.leads is not None for result in results for run in result.runs):
        return Lines(())
    return Lines((("progress: ", _PROGRESS[criteria.progress]),))


_PROGRESS: Final = {
    "confirmed": "each program that led a search was measured again, and counts as fast as then",
    "believed": "each program that led a search counts as fast as the search saw it",
}


def machine_warnings(results: Sequence[CaseResult]) -> Lines:
    """Say of each case whether its machine was at rest, and always the same one.

    Args:
        results: The cases.

    Returns:
        One sentence for each case that was disturbed, and one for each that was measured on
        several machines; none for the others.
    """
    sentences: tuple[Sentence, ...] = tuple(
        ("warning: ", Text(result.case), ": ", *warning)
        for result in results
        for warning in (*_disturbed(result), *_mixed(result))
    )
    return Lines(sentences, tone="warning")


def _disturbed(result: CaseResult) -> Iterator[Sentence]:
    # All arms of a repeat, which is a seed, share what was seen before and after it.
    states = {
        (run.seed, moment): state
        for run in result.runs
        for moment, state in (("before", run.before), ("after", run.after))
        if state is not None
    }
    disturbed = [s for s in states.values() if s.busy_cores + s.stolen_cores > BUSY_CORES]
    if not disturbed:
        return
    worst = max(disturbed, key=lambda state: state.busy_cores + state.stolen_cores)
    yield (
        "the machine was busy at ",
        Count(len(disturbed)),
        " of ",
        Count(len(states)),
        " looks, with up to ",
        *_work(worst),
        "; its times may be off",
    )


def _work(state: MachineState) -> Iterator[str | Cell]:
    yield from (Cores(state.busy_cores), " cores of other work")
    if state.busiest:
        yield from (" (", *listed(map(Text, state.busiest)), ")")
    if state.stolen_cores > BUSY_CORES:
        yield from (" and ", Cores(state.stolen_cores), " cores taken by the host")


def _mixed(result: CaseResult) -> Iterator[Sentence]:
    if len(result.machines) > 1:
        yield (
            "its repeats come from ",
            Counted(len(result.machines), "machine"),
            ", so its seconds and GFLOP/s mix machines; its ratios do not, as they are taken "
            "within a repeat",
        )
