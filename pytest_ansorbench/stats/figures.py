"""The figures that can be held against those of an earlier result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Literal

import numpy as np

from pytest_ansorbench.stats.bootstrap import Draws
from pytest_ansorbench.stats.gate import Sense
from pytest_ansorbench.stats.quotient import quotients
from pytest_ansorbench.stats.running_time_ratio import Race, expected_times
from pytest_ansorbench.stats.throughput_ratio import geometric_means
from pytest_ansorbench.stats.trajectory import Floats, Spending, Trajectory


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of an arm, or of a challenger against its reference.

    Attributes:
        key: How the command line calls it.
        sense: Whether a smaller or a larger one is better.
        subject: `challenger` for a ratio between arms, from which the machine's speed cancels;
            `arm` for a figure of its own.
        per_machine: Whether it means anything on the same machine only.
        what: What it is, in a few words.
        values: The figure in each draw of a race's seeds, shape (draws,).
        improved: A run whose figure is better by a factor, all else the same: smaller figures
            are divided by it, larger ones multiplied.
    """

    key: str
    sense: Sense
    subject: Literal["challenger", "arm"]
    per_machine: bool
    what: str
    values: Callable[[Race, Draws], Floats]
    improved: Callable[[Trajectory, float], Trajectory]

    def worsening(self, before: Floats, after: Floats) -> Floats:
        """By what factor the figure got worse; above 1 it did."""
        return quotients(after, before) if self.sense == "smaller" else quotients(before, after)


def _search_ratio(spending: Spending) -> Callable[[Race, Draws], Floats]:
    def values(race: Race, drawn: Draws) -> Floats:
        targets_s = race.targets_s(drawn)
        return quotients(
            expected_times(race.challenger, drawn, targets_s, spending),
            expected_times(race.reference, drawn, targets_s, spending),
        )

    return values


def _to_target(spending: Spending) -> Callable[[Race, Draws], Floats]:
    return lambda race, drawn: expected_times(
        race.challenger, drawn, race.targets_s(drawn), spending
    )


def _throughput_ratio(race: Race, drawn: Draws) -> Floats:
    reference = np.array([run.final_s for run in race.reference])
    challenger = np.array([run.final_s for run in race.challenger])
    return geometric_means(quotients(reference, challenger)[drawn])


def _throughput(race: Race, drawn: Draws) -> Floats:
    return geometric_means(
        np.array([run.run.flops / run.final_s / 1e9 for run in race.challenger])[drawn]
    )


def _search_time(race: Race, drawn: Draws) -> Floats:
    means: Floats = np.array([run.search_s[-1] for run in race.challenger])[drawn].mean(axis=1)
    return means


def _in_seconds(run: Trajectory, factor: float) -> Trajectory:
    return replace(run, search_s=run.search_s / factor)


def _in_trials(run: Trajectory, factor: float) -> Trajectory:
    return replace(run, trials=run.trials / factor)


def _in_speed(run: Trajectory, factor: float) -> Trajectory:
    return replace(run, final_s=run.final_s / factor)


FIGURES: Final[Mapping[str, Figure]] = MappingProxyType(
    {
        figure.key: figure
        for figure in (
            Figure(
                "search_ratio",
                "smaller",
                "challenger",
                False,
                "S, search time to the target, challenger over reference",
                _search_ratio("search_s"),
                _in_seconds,
            ),
            Figure(
                "search_ratio_trials",
                "smaller",
                "challenger",
                False,
                "S_trials, the same in trials",
                _search_ratio("trials"),
                _in_trials,
            ),
            Figure(
                "throughput_ratio",
                "larger",
                "challenger",
                False,
                "final throughput, challenger over reference",
                _throughput_ratio,
                _in_speed,
            ),
            Figure(
                "trials_to_target",
                "smaller",
                "arm",
                False,
                "expected trials to the target",
                _to_target("trials"),
                _in_trials,
            ),
            Figure(
                "throughput",
                "larger",
                "arm",
                True,
                "GFLOP/s of the final kernels",
                _throughput,
                _in_speed,
            ),
            Figure(
                "time_to_target",
                "smaller",
                "arm",
                True,
                "expected seconds of search to the target",
                _to_target("search_s"),
                _in_seconds,
            ),
            Figure(
                "search_time",
                "smaller",
                "arm",
                True,
                "seconds of search of a whole run",
                _search_time,
                _in_seconds,
            ),
        )
    }
)
"""Ratios between arms first: they hold on any machine."""
