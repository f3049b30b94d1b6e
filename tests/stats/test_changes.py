"""Changes since an earlier result, and cases that cannot be compared."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import pytest

from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.stats.changes import CaseChanges, case_changes, same_case
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.evidence import change_evidence
from pytest_ansorbench.stats.figures import FIGURES, gates_per_case
from pytest_ansorbench.stats.gate import Judge, later_chances
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.limits import Allowance
from pytest_ansorbench.stats.looks import Looks
from pytest_ansorbench.stats.paired_runs import pair_case_runs
from pytest_ansorbench.stats.suite_changes import suite_changes
from pytest_ansorbench.storage import result_changes
from tests.stats.test_leads import confirmed
from tests.synthetic import CRITERIA, make_case_result, make_result, make_run, with_runs

SEEDS = range(6)


def case(
    *, seconds: float = 0.5, final: float = 1.0, speed: float = 1.0, **more: Any
) -> CaseResult:
    """A challenger that takes `seconds` a trial, on a machine that is `speed` times as fast."""
    jitter = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0]
    reference = [
        make_run(seed=s, seconds_per_trial=jitter[s] / speed, final=jitter[s] / speed)
        for s in SEEDS
    ]
    fast = [
        make_run(
            strategy="fast",
            seed=s,
            seconds_per_trial=seconds * jitter[-s] / speed,
            final=final * jitter[-s] / speed,
        )
        for s in SEEDS
    ]
    return make_case_result(reference=reference, challengers={"fast": fast}, **more)


def changes(before: CaseResult, after: CaseResult, *allowed: str, **more: Any) -> CaseChanges:
    allowances = [Allowance.parse(text) for text in allowed]
    return case_changes(before, after, allowances, criteria=CRITERIA, family=1, **more)


def outcome(found: CaseChanges, metric: str, strategy: str = "fast") -> str | None:
    [change] = [c for c in found.changes if (c.metric, c.strategy) == (metric, strategy)]
    return change.gate.outcome if change.gate else None


def test_the_same_result_twice_has_changed_in_nothing() -> None:
    found = changes(case(), case())
    assert found.changes
    assert {change.ratio.value for change in found.changes} == {1.0}
    assert all(change.ratio.low <= 1.0 <= change.ratio.high for change in found.changes)


def test_a_slower_search_breaks_what_was_allowed_and_a_little_slower_one_does_not() -> None:
    slower = changes(case(), case(seconds=0.7), "search_ratio_early:5%")
    assert outcome(slower, "search_ratio_early") == "broken"
    same = changes(case(), case(seconds=0.5), "search_ratio_early:5%")
    assert outcome(same, "search_ratio_early") == "holds"
    found = changes(case(), case(seconds=0.7), "search_ratio_early:50%")
    assert outcome(found, "search_ratio_early") == "holds"


def test_slower_kernels_break_both_forms_of_throughput() -> None:
    found = changes(case(), case(final=1.2), "throughput:3%", "throughput_ratio:3%")
    assert outcome(found, "throughput") == outcome(found, "throughput_ratio") == "broken"
    assert outcome(found, "throughput", "default") == "holds"
    gate = next(gate for gate in found.gates if gate.outcome == "broken")
    assert (gate.metric, gate.reason, gate.limit) == ("throughput_ratio", "beyond", 0.97)
    assert gate.estimate.value == pytest.approx(1 / 1.2)


def test_ratios_between_arms_do_not_see_another_machines_speed() -> None:
    found = changes(case(), case(speed=3.0), "search_ratio_early:5%", "throughput_ratio:3%")
    assert outcome(found, "search_ratio_early") == outcome(found, "throughput_ratio") == "holds"
    [absolute] = [c for c in found.changes if (c.metric, c.strategy) == ("throughput", "fast")]
    assert absolute.ratio.value == pytest.approx(3.0)


def test_seconds_are_not_compared_on_another_machine() -> None:
    found = changes(case(), case(), other_machine="cpu: A is now B")
    assert {change.metric for change in found.changes} == {"search_ratio", "throughput_ratio"}


def test_a_gate_on_seconds_has_nothing_to_compare_on_another_machine() -> None:
    found = changes(case(), case(), "search_time:10%", other_machine="cpu: A is now B")
    gated = [change for change in found.changes if change.metric == "search_time"]
    assert [change.gate.outcome for change in gated if change.gate] == ["broken", "broken"]
    assert {change.gate.reason for change in gated if change.gate} == {"other-machine"}
    assert {change.other_machine for change in gated} == {"cpu: A is now B"}
    assert {change.other_machine for change in found.changes if change not in gated} == {""}


def test_of_two_tests_of_a_case_the_one_like_the_later_is_compared() -> None:
    one = case()
    alone = dataclasses.replace(
        one, strategies=("default",), runs=one.runs_of("default"), verdicts=()
    )
    longer = with_runs(one, budget_trials=8)
    for before in itertools.permutations((one, alone, longer)):
        assert all(same_case(before, after) is after for after in before)
    assert same_case([alone], one) is alone
    [found, *_] = result_changes(
        make_result(alone, one), make_result(one), (), criteria=CRITERIA, any_machine=False
    )
    assert {change.strategy for change in found.changes} == {"default", "fast"}


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        ({"version": "2"}, "its program changed, version 1 is now 2"),
        ({"runs": ()}, "one of the results has no run of it"),
        (
            {"strategies": ("other",), "runs": (make_run(strategy="other"),), "verdicts": ()},
            "the results have no strategy in common",
        ),
    ],
)
def test_what_cannot_be_compared_is_no_regression(spoil: dict[str, Any], reason: str) -> None:
    found = changes(case(), dataclasses.replace(case(), **spoil), "search_ratio_early:5%")
    assert (found.changes, found.incomparable) == ((), reason)


@pytest.mark.parametrize(
    ("conditions", "reason"),
    [
        ({"budget_trials": 8}, "it had 4 trials a run and now has 8"),
        (
            {"run_time_s": 60.0, "budget_trials": 1_000_000},
            "it had 0 seconds of run time and now has 60.0",
        ),
        ({"caches": "cold"}, "it had warm caches and now has cold"),
    ],
)
def test_other_conditions_are_another_experiment(conditions: dict[str, Any], reason: str) -> None:
    found = changes(case(), with_runs(case(), **conditions))
    assert found.incomparable == reason


def test_a_version_that_was_not_recorded_is_given_the_benefit_of_the_doubt() -> None:
    assert not changes(case(version=""), case()).incomparable


def test_a_figure_that_has_become_infinite_is_worse() -> None:
    after = case()
    runs = tuple(
        run
        if run.strategy == "default"
        else dataclasses.replace(
            run,
            trials=tuple(dataclasses.replace(trial, latencies_s=(9.0,)) for trial in run.trials),
        )
        for run in after.runs
    )
    found = changes(case(), dataclasses.replace(after, runs=runs), "trials_to_target:10%")
    assert outcome(found, "trials_to_target") == "broken"
    assert outcome(found, "trials_to_target", "default") == "holds"


def test_the_control_is_left_out() -> None:
    again = [make_run(strategy="default-again", seed=s, final=1.0) for s in SEEDS]
    reference = [make_run(seed=s, final=1.0) for s in SEEDS]
    controlled = make_case_result(
        reference=reference, challengers={"default-again": again}, control="default-again"
    )
    found = changes(controlled, controlled)
    assert {change.strategy for change in found.changes} == {"default"}
    result, allowance = make_result(controlled), Allowance.parse("throughput:90%")
    [found] = result_changes(result, result, [allowance], criteria=CRITERIA, any_machine=False)
    assert [gate.family for gate in found.gates] == [1]


def test_an_allowance_with_nothing_to_compare_is_broken() -> None:
    alone = dataclasses.replace(
        case(), strategies=("default",), runs=case().runs_of("default"), verdicts=()
    )
    for before, after, strategy in ((alone, case(), "fast"), (case(), alone, "default")):
        found = changes(before, after, "throughput_ratio:3%", "throughput:90%")
        gates = {(one.metric, one.strategy): one.gate for one in found.changes if one.gate}
        gate = gates["throughput_ratio", strategy]
        assert (gate.outcome, gate.reason, gate.limit) == ("broken", "nothing-to-compare", 0.97)
        assert gates["throughput", "default"].outcome == "holds"


@pytest.mark.parametrize(("goal", "compared"), [("way", False), ("0.5", True)])
def test_another_reference_has_other_targets_unless_one_is_given(goal: str, compared: bool) -> None:
    before = case()
    runs = [
        dataclasses.replace(run, strategy="draft") if run.strategy == "default" else run
        for run in before.runs
    ]
    after = dataclasses.replace(before, strategies=("fast", "draft"), runs=tuple(runs), verdicts=())
    criteria = dataclasses.replace(CRITERIA, goal=Goal.parse(goal))
    for metric in ("time_to_target", "trials_to_target"):
        allowance = Allowance.parse(f"{metric}:10%")
        found = case_changes(before, after, [allowance], criteria=criteria, family=1)
        assert [gate.reason != "nothing-to-compare" for gate in found.gates] == [compared]
        assert "throughput" in {change.metric for change in found.changes}


def test_confirmed_progress_is_not_compared_with_believed() -> None:
    plain, lucky = case(), {0: 4.0, 1: 3.5}
    steady = {trial: 4.0 - trial for trial in range(4)}
    runs = [confirmed(run, lucky if run.strategy == "fast" else steady) for run in plain.runs]
    again = dataclasses.replace(plain, runs=tuple(runs))
    for before, after in ((again, plain), (plain, again)):
        found = changes(before, after, "trials_to_target:10%")
        assert {change.ratio.value for change in found.changes} == {1.0}
        both = suite_changes([(before, after)], (), criteria=CRITERIA, family=1)
        assert {change.before == change.after for change in both.changes} == {True}


def test_gates_are_counted_before_anything_runs() -> None:
    found = changes(case(), case(), "search_ratio_early:5%", "throughput:3%")
    assert len(found.gates) == gates_per_case(["search_ratio_early", "throughput"], 2)


def kernels(*latencies: float) -> CaseResult:
    """Searches of one trial; the challenger's kernels have these latencies."""
    runs = [
        make_run(strategy=name, seed=seed, latencies=(1.0,), final=final)
        for seed, latency in enumerate(latencies)
        for name, final in (("default", 1.0), ("fast", latency))
    ]
    return dataclasses.replace(case(), runs=tuple(runs))


def test_what_the_earlier_result_does_not_know_no_repeats_can_tell() -> None:
    scatter = (0.9, 1.1, 1.0, 1.05, 0.95)
    before, after = kernels(*scatter), kernels(*(1.3 * by for by in scatter * 3))
    criteria, allowance = Criteria(looks=Looks.parse("5+10")), "throughput_ratio:3%"
    found = case_changes(before, after, [Allowance.parse(allowance)], criteria=criteria, family=100)
    [gate] = found.gates
    assert (gate.outcome, gate.reason, gate.repeats) == ("undecided", "chance", 15)
    assert gate.advice is not None
    assert gate.advice.repeats_needed is None or gate.advice.repeats_needed > 15


def test_the_last_of_many_repeats_changes_little_whatever_the_earlier_result_knows() -> None:
    scatter, figure = (0.9, 1.1, 1.0, 1.05, 0.95), FIGURES["throughput_ratio"]
    then, now = (
        pair_case_runs(kernels(*latencies), "fast", CRITERIA)
        for latencies in (scatter, [1.2 * by for by in (scatter * 3)[:14]])
    )
    few, most = (change_evidence(figure, then, now.first(n), 0.95) for n in (5, 14))
    sure = dataclasses.replace(most, fixed=lambda: 0.0)
    few_break, most_break, sure_break = (
        later_chances(figure, one, 0.97, Judge(CRITERIA, 100), 15)[1] for one in (few, most, sure)
    )
    assert most_break < 0.001 < 0.01 < few_break < 0.5 < sure_break


def test_three_earlier_seeds_are_no_sample_of_which_repeats_can_prove_a_loss() -> None:
    figure, now = FIGURES["throughput_ratio"], (0.9, 1.1, 1.0, 1.05, 0.95)
    then, slower = (
        pair_case_runs(kernels(*latencies), "fast", CRITERIA)
        for latencies in (now[:3], [1.2 * by for by in now])
    )
    three = change_evidence(figure, then, slower, 0.95)
    many = dataclasses.replace(three, earlier=None)
    of_three, of_many = (
        later_chances(figure, one, 0.97, Judge(CRITERIA, 12), 15)[1] for one in (three, many)
    )
    assert of_three < 0.01 < of_many
    single = dataclasses.replace(three, earlier=1)  # as of a suite, whose cases tell its error
    assert later_chances(figure, single, 0.97, Judge(CRITERIA, 12), 15)[1] == 0.0


def test_few_repeats_can_still_say_that_something_is_far_off() -> None:
    slow = case(seconds=5.0)
    found = case_changes(
        case(), slow, [Allowance.parse("search_ratio_early:5%")], criteria=CRITERIA, family=100
    )
    assert outcome(found, "search_ratio_early") == "broken"
    assert all(gate.family == 100 for gate in found.gates)
    [change] = [c for c in found.changes if c.metric == "search_ratio_early"]
    assert change.ratio.value == pytest.approx(10.0, rel=0.1)
    assert change.after is not None
    assert not math.isinf(change.after)
