"""Evidence: the same questions asked of one result and of two."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.stats.evidence import Evidence, change_evidence, limit_evidence, observed
from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.relabellings import smallest_chance
from pytest_ansorbench.stats.trajectory import Trajectory
from tests.synthetic import make_run

S, THROUGHPUT = FIGURES["search_ratio"], FIGURES["throughput_ratio"]
JITTER = (0.9, 1.1, 1.0, 1.2, 0.8)


def arm(strategy: str, seconds: float, final: float, jitter: Sequence[float]) -> list[Trajectory]:
    return [
        Trajectory.of(
            make_run(
                strategy=strategy,
                seed=s,
                seconds_per_trial=seconds * by,
                final=final * by,
            )
        )
        for s, by in enumerate(jitter)
    ]


def paired(seconds: float = 1.0, final: float = 1.0, repeats: int = 5) -> PairedRuns:
    """A challenger that takes `seconds` a trial, with kernels slower by `final`."""
    jitter = JITTER[:repeats]
    return PairedRuns(
        arm("default", 1.0, 1.0, jitter), arm("fast", seconds, final, jitter[::-1]), Goal(), 0.01
    )


def evidence(value: float, **facts: object) -> Evidence:
    given = {
        "estimate": Estimate(value, value, value),
        "repeats": 5,
        "counted": lambda limit, level: 1 / 252,
        "smallest": 1 / 252,
        "spread": lambda: 0.1,
        **facts,
    }
    return Evidence(**given)  # type: ignore[arg-type]


def test_where_counting_ends_the_spread_says_more() -> None:
    far = evidence(2.0)
    assert far.chance(S, 1.0, level=0.01) == 1 / 252
    assert far.chance(S, 1.0, level=1e-4) < 1e-4
    assert evidence(2.0, spread=lambda: None).chance(S, 1.0, level=1e-4) == 1 / 252
    assert evidence(0.5).chance(THROUGHPUT, 1.0, level=1e-4) < 1e-4


def test_what_is_beyond_a_limit_by_less_than_the_error_is_not() -> None:
    unsure = evidence(2.0, error=0.3)
    assert unsure.chance(S, 1.0, level=1e-4) == evidence(2.0).chance(S, math.exp(0.3), level=1e-4)
    assert unsure.chance(S, 1.0, level=1e-4) > evidence(2.0).chance(S, 1.0, level=1e-4)


def test_an_endless_figure_is_no_accident_between_arms_but_may_be_between_results() -> None:
    assert evidence(math.inf).chance(S, 1.0, level=1e-4) == 0.0
    assert evidence(0.0).chance(THROUGHPUT, 1.0, level=1e-4) == 0.0
    assert evidence(math.inf, endless_by_chance=True).chance(S, 1.0, level=1e-4) == 1 / 252


def test_one_winner_that_was_not_measured_may_be_an_accident_and_all_are_none() -> None:
    lost = [Trajectory.of(make_run(strategy="fast", seed=seed)) for seed in range(5)]
    for kernels, by_chance in (
        ([*arm("fast", 1.0, 1.1, JITTER[1:]), lost[0]], True),
        (lost, False),
    ):
        pairs = PairedRuns(arm("default", 1.0, 1.0, JITTER), kernels, Goal(), 0.01)
        found = limit_evidence(THROUGHPUT, pairs, THROUGHPUT.limited().estimate(pairs, 0.95), 0.95)
        assert found.estimate.value == 0.0
        chance = found.chance(THROUGHPUT, 0.98, level=1e-4)
        assert chance >= 1 / 252 if by_chance else chance == 0.0


def test_a_figure_with_a_limit_is_asked_of_its_own_runs() -> None:
    estimate = Estimate(2.0, 1.5, 2.5)
    found = limit_evidence(S, paired(seconds=2.0), estimate, 0.95)
    assert (found.estimate, found.repeats) == (estimate, 5)
    assert found.smallest == smallest_chance(5, 5)
    assert limit_evidence(THROUGHPUT, paired(), estimate, 0.95).smallest == 2 * smallest_chance(
        5, 5
    )
    assert found.counted(1.0, 0.01) == 1 / 252
    assert found.counted(4.0, 0.01) > 0.5


@pytest.mark.parametrize("key", ["search_ratio", "search_time", "time_to_target"])
def test_a_change_is_asked_of_both_results(key: str) -> None:
    figure = FIGURES[key]
    before, after = paired(), paired(seconds=2.0)
    found = change_evidence(figure, before, after, 0.95)
    assert found.estimate.value == pytest.approx(2.0)
    assert observed(figure, after) == pytest.approx(2.0 * observed(figure, before))
    assert found.estimate.low < 2.0 < found.estimate.high
    assert found.smallest == smallest_chance(5, 5)
    assert found.chance(figure, 1.0, 0.01) < 0.1
    assert found.chance(figure, 3.0, 0.01) > 0.5


def test_a_change_is_counted_by_the_smaller_result_and_repeated_in_the_later() -> None:
    found = change_evidence(THROUGHPUT, paired(repeats=3), paired(final=2.0), 0.95)
    assert found.estimate.value == pytest.approx(0.5, rel=0.3)
    assert (found.repeats, found.earlier, found.smallest) == (5, 3, smallest_chance(3, 5))
    assert change_evidence(S, paired(repeats=2), paired(), 0.95).spread() is None


def kernels(slower_by: Sequence[float]) -> Evidence:
    """Kernels of seeds that differ much from each other, and the challenger's slowdown of each."""
    far_apart = [2.0**seed for seed in range(len(slower_by))]
    finals = [at * by for at, by in zip(far_apart, slower_by, strict=True)]
    pairs = PairedRuns(
        arm("default", 1.0, 1.0, far_apart), arm("fast", 1.0, 1.0, finals), Goal(), 0.01
    )
    return limit_evidence(THROUGHPUT, pairs, THROUGHPUT.limited().estimate(pairs, 0.95), 0.95)


def test_kernels_slower_with_each_seed_are_judged_by_the_size_of_the_differences() -> None:
    always = kernels([1.2, 1.21, 1.19, 1.2, 1.22, 1.18, 1.2])
    assert always.chance(THROUGHPUT, 0.98, level=1e-4) < 1e-4
    assert always.chance(THROUGHPUT, 1 / 1.2, level=1e-4) > 0.1
    but_once = kernels([1.2, 1.21, 1.19, 1.2, 1.22, 0.98, 1.2])
    assert but_once.chance(THROUGHPUT, 0.98, level=1e-4) > 0.01
