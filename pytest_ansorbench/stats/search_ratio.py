"""S and S_trials, by whatever goal was chosen."""

from __future__ import annotations

import math

import numpy as np

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.stats.bootstrap import Draws
from pytest_ansorbench.stats.ladder import (
    ladder_chance,
    ladder_lateness,
    ladder_ratio,
    ladder_ratios,
)
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.permutation_tests import running_time_chance
from pytest_ansorbench.stats.recorded import widened
from pytest_ansorbench.stats.running_time_ratio import running_time_ratio, running_time_ratios
from pytest_ansorbench.stats.trajectory import Floats, Spending


def search_ratio(paired: PairedRuns, spending: Spending, confidence: float) -> Estimate:
    """The cost of the search, challenger over reference."""
    by_goal = ladder_ratio if paired.goal.kind == "way" else running_time_ratio
    return widened(by_goal(paired, spending, confidence), _error(paired, spending))


def search_ratios(paired: PairedRuns, drawn: Draws, spending: Spending) -> Floats:
    """`search_ratio` in each draw of the seeds.

    Returns: Shape (draws,); NaN where neither arm reached a target.
    """
    by_goal = ladder_ratios if paired.goal.kind == "way" else running_time_ratios
    return by_goal(paired, drawn, spending)


def search_lateness(paired: PairedRuns, drawn: Draws, spending: Spending) -> Floats:
    """How late the challenger is in each draw of the seeds, for tests of a change.

    Returns: Shape (draws,): votes over the way, or the logarithm of the ratio to one target; NaN
    where neither arm reached it.
    """
    if paired.goal.kind == "way":
        return ladder_lateness(paired, drawn, spending)
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(running_time_ratios(paired, drawn, spending))
    return logs


def search_ratio_chance(
    paired: PairedRuns, spending: Spending, limit: float, level: float
) -> float:
    """Chance of a search ratio at least as large as seen, if the true one were the limit."""
    by_goal = ladder_chance if paired.goal.kind == "way" else running_time_chance
    return by_goal(paired, spending, limit * math.exp(_error(paired, spending)), level)


def _error(paired: PairedRuns, spending: Spending) -> float:
    """What runs of another day add to the error of a ratio; trials are the same any day."""
    return paired.seconds_error if spending == "search_s" else 0.0
