"""The laws of a comparison, and its bounds where a side never reached the target."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ansorbench.records import Comparison, Estimate, Run
from pytest_ansorbench.stats.compare import compare, summarize_arm
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.paired_runs import PairingError, pair_runs
from pytest_ansorbench.stats.suite import RATIOS
from pytest_ansorbench.stats.trajectory import Trajectory
from tests.synthetic import FLOPS, make_run

LATENCIES = st.none() | st.floats(1e-3, 10.0)
FINALS = st.none() | st.floats(1e-3, 10.0)
BOOTSTRAP = settings(deadline=None, max_examples=15)


def against(reference: list[Run], challenger: list[Run], tolerance: float = 0.0) -> Comparison:
    criteria = Criteria(tolerance=tolerance, confidence=0.9)
    return compare(pair_runs(reference, challenger, criteria), criteria.confidence)


@st.composite
def arms(draw: st.DrawFn, strategy: str = "default", repeats: int | None = None) -> list[Run]:
    repeats = repeats or draw(st.integers(1, 5))
    return [
        make_run(
            strategy=strategy,
            seed=seed,
            latencies=draw(st.lists(LATENCIES, min_size=1, max_size=5)),
            seconds_per_trial=draw(st.sampled_from([0.25, 0.5, 1.0, 3.0])),
            final=draw(FINALS),
        )
        for seed in range(repeats)
    ]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[Run], list[Run]]:
    reference = draw(arms())
    return reference, draw(arms("fast", len(reference)))


def retimed(runs: list[Run], factor: float, strategy: str = "default") -> list[Run]:
    """The same runs on a clock that runs `factor` times as fast."""
    return [
        dataclasses.replace(
            run,
            strategy=strategy,
            rounds=tuple(
                dataclasses.replace(
                    r,
                    propose_s=r.propose_s * factor,
                    build_s=r.build_s * factor,
                    run_s=r.run_s * factor,
                    learn_s=r.learn_s * factor,
                )
                for r in run.rounds
            ),
            trials=tuple(
                dataclasses.replace(trial, search_s=trial.search_s * factor) for trial in run.trials
            ),
        )
        for run in runs
    ]


def always(*latencies: float | None, **more: Any) -> list[Run]:
    return [make_run(seed=seed, latencies=latencies, **more) for seed in range(4)]


@BOOTSTRAP
@given(arms())
def test_the_same_runs_on_both_sides_give_exactly_1(runs: list[Run]) -> None:
    comparison = against(runs, retimed(runs, 1.0, "fast"))
    for name in RATIOS:
        estimate = getattr(comparison, name)
        if estimate.bound == "undefined":
            continue
        assert (estimate.bound, estimate.value) == ("value", 1.0)
        assert estimate.low <= 1.0 <= estimate.high


@BOOTSTRAP
@given(arms())
def test_half_the_clock_gives_a_half(runs: list[Run]) -> None:
    comparison = against(runs, retimed(runs, 0.5, "fast"))
    for name in ("search_ratio", "search_ratio_paper"):
        estimate = getattr(comparison, name)
        if estimate.bound != "undefined":
            assert estimate.value == pytest.approx(0.5)
    if comparison.search_ratio_trials.bound != "undefined":
        assert comparison.search_ratio_trials.value == 1.0


@BOOTSTRAP
@given(pairs(), st.sampled_from([0.25, 2.0, 64.0]))
def test_scaling_all_times_changes_no_ratio(
    arms: tuple[list[Run], list[Run]], factor: float
) -> None:
    before = against(*arms)
    after = against(retimed(arms[0], factor), retimed(arms[1], factor, "fast"))
    for name in RATIOS:
        one, other = getattr(after, name), getattr(before, name)
        assert one.bound == other.bound
        for end in ("low", "value", "high"):
            assert getattr(one, end) == pytest.approx(getattr(other, end), rel=2e-3), (name, end)


@BOOTSTRAP
@given(pairs(), st.permutations(range(5)))
def test_order_of_the_runs_does_not_matter(
    arms: tuple[list[Run], list[Run]], order: list[int]
) -> None:
    reference, challenger = arms
    shuffled = [reference[i] for i in order if i < len(reference)]
    assert against(shuffled, challenger[::-1]) == against(reference, challenger)


@BOOTSTRAP
@given(pairs(), st.sampled_from([0.0, 0.01, 0.5]))
def test_every_estimate_is_within_its_interval(
    arms: tuple[list[Run], list[Run]], tolerance: float
) -> None:
    comparison = against(*arms, tolerance)
    for name in RATIOS:
        estimate: Estimate = getattr(comparison, name)
        assert 0.0 <= estimate.low <= estimate.value <= estimate.high
        assert (estimate.bound == "undefined") <= (
            estimate == Estimate(0, 0, math.inf, "undefined")
        )


@BOOTSTRAP
@given(pairs())
def test_swapping_the_arms_inverts_the_throughput_ratio(
    arms: tuple[list[Run], list[Run]],
) -> None:
    there = against(*arms).throughput_ratio
    back = against(arms[1], arms[0]).throughput_ratio
    assert there.bound == back.bound
    if there.bound == "value" and 0 < there.value < math.inf:
        assert there.value * back.value == pytest.approx(1.0)


@BOOTSTRAP
@given(pairs())
def test_s_paper_has_a_bound_only_if_the_challenger_misses(
    arms: tuple[list[Run], list[Run]],
) -> None:
    bound = against(*arms).search_ratio_paper.bound
    if all(run.best_trials != (None,) for run in arms[0]):
        assert bound in ("value", "at-least")


def test_ratios_and_arms_of_a_plain_case() -> None:
    reference = [make_run(seed=s, latencies=[4, 2, None, 1], final=1.0) for s in range(4)]
    challenger = [
        make_run(
            strategy="fast",
            seed=s,
            latencies=[1, None, None] if s else [9, 9, 9],
            seconds_per_trial=0.5,
            final=0.5,
        )
        for s in range(4)
    ]
    comparison = against(reference, challenger)
    # The challenger hits at 0.5 s in three of four seeds and spends 1.5 s on the miss.
    assert comparison.challenger.time_to_target_s == 1.0
    assert comparison.challenger.trials_to_target == 2.0
    # From 0.7 kernels a second on, which the reference has after 4 s and the challenger after 0.5.
    assert comparison.search_ratio.value == pytest.approx(0.5 / 4.0)
    assert comparison.search_ratio_trials.value == pytest.approx(1.0 / 4.0)
    assert comparison.search_ratio_early.value == pytest.approx(0.5 / 2.0)
    assert comparison.ahead_to == 1.0
    assert comparison.search_ratio_paper.value == 1.0 / 4.0
    assert comparison.throughput_ratio == Estimate(2.0, 2.0, 2.0)
    assert comparison.target_gflops == pytest.approx(FLOPS / 1e9)
    assert comparison.case == "conv2d"
    arm = comparison.challenger
    assert (arm.strategy, arm.runs, arm.reached) == ("fast", 4, 3)
    assert (arm.trials, arm.failed_trials) == (12, 6)
    assert arm.search_s == arm.propose_s + arm.build_s + arm.run_s + arm.learn_s == 1.5
    assert arm.propose_s == 0.75
    assert arm.throughput_gflops == pytest.approx(2.0)


def test_s_paper_takes_each_seeds_own_target() -> None:
    reference = [make_run(seed=s, latencies=[8, latency]) for s, latency in enumerate([4, 2, 1])]
    challenger = [
        make_run(strategy="fast", seed=s, latencies=[latency, latency])
        for s, latency in enumerate([4, 2, 1])
    ]
    comparison = against(reference, challenger)
    # To the fixed target 2: (2 + 1 + 1) / 2 against (2 + 2 + 2) / 2.
    assert comparison.running_time_ratio.value == pytest.approx(4 / 6)
    assert comparison.search_ratio_paper.value == 0.5


def test_a_challenger_that_never_arrives_has_a_lower_bound() -> None:
    estimate = against(always(1.0), always(2.0, 2.0, strategy="fast")).running_time_ratio
    # Four runs of 2 s in vain, against 1 s expected.
    assert estimate == Estimate(8.0, 8.0, math.inf, "at-least")


def test_a_reference_that_never_arrives_has_an_upper_bound() -> None:
    reference = always(None, None)
    estimate = against(reference, always(2.0, strategy="fast")).running_time_ratio
    assert estimate == Estimate(1 / 8, 0.0, 1 / 8, "at-most")


def test_neither_arriving_is_undefined() -> None:
    comparison = against(always(None), always(None, strategy="fast"))
    for name in RATIOS:
        assert getattr(comparison, name) == Estimate(0.0, 0.0, math.inf, "undefined")
    assert comparison.target_gflops == 0.0
    assert comparison.reference.time_to_target_s == math.inf


def test_one_repeat_gives_no_interval() -> None:
    comparison = against([make_run(final=1.0)], [make_run(strategy="fast", final=1.0)])
    for name in RATIOS:
        assert getattr(comparison, name) == Estimate(1.0, 0.0, math.inf)


def test_censored_seeds_widen_the_interval_instead_of_leaving() -> None:
    challenger = [
        make_run(strategy="fast", seed=s, latencies=[1.0] if s else [2.0] * 50) for s in range(4)
    ]
    estimate = against(always(1.0), challenger).running_time_ratio
    assert estimate.value == pytest.approx(53 / 3)
    assert estimate.low == 1.0
    assert estimate.high >= 103.0 / 2


def test_an_interval_reaches_infinity_if_the_seeds_might_as_well_all_have_missed() -> None:
    challenger = [
        make_run(strategy="fast", seed=s, latencies=[2.0] if s else [1.0]) for s in range(4)
    ]
    estimate = against(always(1.0), challenger).running_time_ratio
    # The upper end is that of the resamples without the seed that hit.
    assert (estimate.value, estimate.high) == (4.0, math.inf)
    assert 1.0 <= estimate.low < 4.0


@pytest.mark.parametrize(
    ("reference", "challenger", "expected"),
    [
        ([1.0, 1.0], [None, 0.5], (0.0, 0.0, math.inf)),
        ([None, 1.0], [1.0, 0.5], (math.inf, 0.0, math.inf)),
        ([None, 1.0], [None, 0.5], (2.0, 0.0, math.inf)),
    ],
    ids=["challenger missing is 0", "reference missing is infinity", "both missing is excluded"],
)
def test_winners_that_could_not_be_measured_again(
    reference: list[float | None],
    challenger: list[float | None],
    expected: tuple[float, float, float],
) -> None:
    comparison = against(
        [make_run(seed=s, final=final) for s, final in enumerate(reference)],
        [make_run(strategy="fast", seed=s, final=final) for s, final in enumerate(challenger)],
    )
    assert comparison.throughput_ratio == Estimate(*expected)
    if None in challenger:
        assert comparison.challenger.throughput_gflops == 0.0


def test_a_loss_and_a_gain_beyond_all_bounds_have_no_mean() -> None:
    comparison = against(
        [make_run(seed=0, final=None), make_run(seed=1, final=1.0)],
        [make_run(strategy="fast", seed=0, final=1.0), make_run(strategy="fast", seed=1)],
    )
    assert comparison.throughput_ratio.bound == "undefined"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda runs: [], r"bad challenger arm \[\]: expected at least one run"),
        (lambda runs: runs[:1], r"bad challenger seeds \[0\]: expected those .* \[0, 1\]"),
        (lambda runs: [*runs, runs[0]], r"bad challenger seeds .*: expected each seed once"),
        (lambda runs: [runs[0], make_run(seed=1)], r"bad challenger arm of .*: expected a single"),
        (
            lambda runs: [make_run("conv1d", "fast", seed) for seed in range(2)],
            r"bad cases .*conv1d.*: expected runs of one case",
        ),
        (
            lambda runs: [dataclasses.replace(runs[0], machine="elsewhere"), runs[1]],
            r"'elsewhere'\] of seed 0: expected both arms of a repeat on one machine",
        ),
    ],
    ids=["empty", "seed missing", "seed twice", "two strategies", "two cases", "two machines"],
)
def test_arms_that_do_not_pair_up_are_refused(
    spoil: Callable[[list[Run]], list[Run]], message: str
) -> None:
    reference = [make_run(seed=seed) for seed in range(2)]
    challenger = [make_run(strategy="fast", seed=seed) for seed in range(2)]
    with pytest.raises(PairingError, match=message):
        against(reference, spoil(challenger))


def test_the_goal_is_a_setting() -> None:
    reference = always(8.0, 4.0, 2.0, 1.0)
    challenger = always(8.0, 1.0, strategy="fast")
    half = Criteria(goal=Goal.parse("40%"), tolerance=0.0)
    # 40% of the way from 1/8 to 1 is 0.475 a second, between the second and the third trial.
    assert compare(pair_runs(reference, challenger, half), 0.9).search_ratio.value == 2 / 3
    absolute = Criteria(goal=Goal.parse("0.2"), tolerance=0.0)
    assert compare(pair_runs(reference, challenger, absolute), 0.9).search_ratio.value == 2 / 2
    assert against(reference, challenger).running_time_ratio.value == 2 / 4
    # The upper part of the way begins above 1/2.
    assert against(reference, challenger).search_ratio.value == 2 / 4


def test_the_interval_does_not_take_the_target_for_granted() -> None:
    # Every run's last trial is its best, so each resample has another target to reach.
    reference = [make_run(seed=s, latencies=[9.0, 1.0 + s]) for s in range(6)]
    challenger = [make_run(strategy="fast", seed=s, latencies=[1.0 + s, 9.0]) for s in range(6)]
    estimate = against(reference, challenger).running_time_ratio
    # With the target of the sample in every resample it would be [0.75, 0.75].
    assert estimate.low < estimate.value == 0.75


def arm_of(*runs):  # type: ignore[no-untyped-def]
    return [Trajectory.of(run) for run in runs]


def test_an_arm_without_a_target_has_no_time_to_it() -> None:
    arm = summarize_arm(arm_of(make_run(final=2.0), make_run(seed=1, final=0.5)), None)
    assert (arm.reached, arm.time_to_target_s, arm.trials_to_target) == (0, math.inf, math.inf)
    assert arm.throughput_gflops == pytest.approx(1.0)


def test_a_run_without_a_measured_winner_counts_as_throughput_0() -> None:
    arm = summarize_arm(arm_of(make_run(final=2.0), make_run(seed=1)), 1.0)
    assert arm.throughput_gflops == 0.0
