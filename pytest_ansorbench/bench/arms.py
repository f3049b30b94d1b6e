"""The arms of an experiment: strategies run here, and strategies that a host runs elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.bench.prepared import PreparedCase, RunPlan
from pytest_ansorbench.bench.reference import RecordedSearch
from pytest_ansorbench.hosted import HostedSearch, HostedStrategy
from pytest_ansorbench.records import LastRanking
from pytest_ansorbench.search.loop import Search
from pytest_ansorbench.storage.entries import RoundEntry
from pytest_ansorbench.strategies.scheduling import SCHEDULERS
from pytest_ansorbench.strategies.strategy import Strategy

if TYPE_CHECKING:
    from pytest_ansorbench.measure.engine import Engine

Arm = Strategy | HostedStrategy
AnySearch = Search | HostedSearch
FinishedSearch = AnySearch | RecordedSearch


def search_of(
    arm: Arm,
    prepared: PreparedCase,
    seed: int,
    plan: RunPlan,
    engine: Engine,
    *,
    on_trial: Callable[[AnySearch], None],
    resumed: Sequence[RoundEntry],
    ranking: LastRanking | None,
) -> AnySearch:
    tasks = len(prepared.tasks)
    terms: dict[str, Any] = {
        "seed": seed,
        "budget_trials": plan.budget.in_all(tasks),
        "round_trials": plan.budget.a_round(tasks),
        "run_time_s": plan.budget.run_time_s,
        "on_trial": on_trial,
        "resumed": resumed,
        "ranking": ranking,
    }
    if isinstance(arm, HostedStrategy):
        return HostedSearch(prepared.case, prepared.tasks, arm, scheduler=plan.scheduler, **terms)
    scheduler = arm.scheduler or SCHEDULERS[plan.scheduler]
    return Search(prepared.case, prepared.tasks, arm, engine, scheduler=scheduler, **terms)
