"""Makes a search, steps it as an experiment does, and assembles its run as a session does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_ansorbench.bench.history import CaseHistory, RepeatHistory
from pytest_ansorbench.measure.engine import Engine
from pytest_ansorbench.records import MachineState, Remeasurement, Run, TaskRecord
from pytest_ansorbench.search import Search
from pytest_ansorbench.storage.entries import CaseEntry, FinalEntry, RepeatEntry, RoundEntry
from pytest_ansorbench.strategies import Strategy
from pytest_ansorbench.workloads.case import Case, Task

AT_REST = MachineState(0.0, 0.0, None, None)
NOTHING_FOUND = Remeasurement(None, "run-error", (), "no valid trial")


def searching(
    case: Case,
    strategy: Strategy,
    engine: Engine,
    *,
    trials: int,
    round_trials: int,
    tasks: Sequence[Task] | None = None,
    seed: int = 1,
    **options: Any,
) -> Search:
    """A search that nothing was done with; of these tasks, or of all that the case has."""
    return Search(
        case,
        case.tasks() if tasks is None else tasks,
        strategy,
        engine,
        seed=seed,
        budget_trials=trials,
        round_trials=round_trials,
        **options,
    )


def stepped(search: Search, rounds: int) -> list[RoundEntry]:
    """Make some rounds; returns what the journal keeps of them."""
    entries = []
    for _ in range(rounds):
        search.step()
        entries.append(search.last_round("label"))
    return entries


def finished(search: Search) -> list[RoundEntry]:
    """Make all rounds; returns what the journal keeps of them."""
    entries = []
    while not search.finished:
        entries += stepped(search, 1)
    return entries


def run_of(case: Case, search: Search, entries: Sequence[RoundEntry]) -> Run:
    """The run that a search has made, as it is assembled from a journal."""
    strategy = search.strategy.name
    begun = CaseEntry(
        label="label",
        case=case.id,
        version="",
        strategies=(strategy,),
        control=None,
        flops=case.flops,
        tasks=tuple(TaskRecord(t.task.name, t.task.weight, t.task.flops, ()) for t in search.tasks),
        programs=(),
        conditions={
            "trials": search.budget_trials,
            "round_trials": len(entries[0].trials),
            "run_time_s": search.run_time_s,
        },
    )
    seed = entries[0].seed
    repeat = RepeatHistory(
        RepeatEntry("label", seed, {"cpu": "made up"}, AT_REST),
        {strategy: list(entries)},
        FinalEntry("label", seed, (NOTHING_FOUND,), None, 0.0, AT_REST),
    )
    [run] = CaseHistory(begun, {seed: repeat}).runs(seed)
    return run
