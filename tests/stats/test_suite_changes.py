"""Changes of all cases together since an earlier result."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.stats.changes import Change
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.limits import Allowance
from pytest_ansorbench.stats.suite_changes import suite_changes
from tests.stats.test_suite import case
from tests.synthetic import make_case_result, make_run

NAMES = ("a", "b", "c", "d")


def changes(
    before: Sequence[CaseResult], after: Sequence[CaseResult], *allowed: str, **more
) -> dict[str, Change]:
    found = suite_changes(
        list(zip(before, after, strict=True)),
        [Allowance.parse(text) for text in allowed],
        **{"criteria": Criteria(), "family": 1, **more},
    )
    assert found.case == "all cases"
    return {change.metric: change for change in found.changes}


@functools.cache
def cases(seconds: float, final: float = 1.0) -> tuple[CaseResult, ...]:
    return tuple(case(name, seconds, final) for name in NAMES)


def test_a_loss_that_no_case_can_show_is_broken_over_all() -> None:
    found = changes(cases(0.5), cases(1.0), "suite_search_ratio:20%")["search_ratio"]
    assert found.gate is not None
    assert found.gate.outcome == "broken"
    assert found.before is not None
    assert found.after is not None
    assert found.ratio.value == pytest.approx(found.after / found.before, rel=0.2)
    assert 1.2 < found.ratio.low < found.ratio.value < found.ratio.high


def test_kernels_that_got_slower_are_seen_as_well() -> None:
    found = changes(cases(0.5), cases(0.5, final=2.0), "suite_throughput_ratio:5%")
    assert found["throughput_ratio"].gate is not None
    assert found["throughput_ratio"].gate.outcome == "broken"
    assert found["throughput_ratio"].ratio.value < 0.7
    assert found["search_ratio"].gate is None


def test_no_change_is_none_and_within_a_wide_allowance_it_holds() -> None:
    found = changes(cases(0.5), cases(0.5), "suite_search_ratio:90%", "suite_throughput_ratio:50%")
    for change in found.values():
        assert change.ratio.value == pytest.approx(1.0, abs=0.01)
        assert change.gate is not None
        assert change.gate.outcome == "holds"


def test_a_gate_without_looks_stands_on_all_repeats_of_every_case() -> None:
    before, after = cases(0.5)[:2], [case("a", 1.0, repeats=4), case("b", 1.0, repeats=5)]
    change = changes(before, after, "suite_search_ratio:20%")["search_ratio"]
    assert change.gate is not None
    assert (change.gate.estimate, change.gate.repeats) == (change.ratio, 4)


def test_a_suite_that_lost_a_case_does_not_hold() -> None:
    found = changes(cases(0.5), cases(0.5), "suite_search_ratio:90%", lost=["gone"])
    gate = found["search_ratio"].gate
    assert gate is not None
    assert (gate.outcome, gate.reason, gate.lost) == ("undecided", "lost-cases", ("gone",))


def spoilt(one: CaseResult, strategy: str = "fast", **run: Any) -> CaseResult:
    """The same case with other runs of its challenger."""
    runs = [make_run(one.case, strategy, seed, **{"final": 1.0, **run}) for seed in range(3)]
    return make_case_result(one.case, one.runs_of("default"), {strategy: runs})


@pytest.mark.parametrize(
    ("metric", "run"),
    [("search_ratio", {"latencies": [9.0] * 4}), ("throughput_ratio", {"final": None})],
)
def test_a_case_whose_challenger_stalls_or_has_no_kernel_is_lost(
    metric: str, run: dict[str, Any]
) -> None:
    after = (spoilt(cases(0.5)[0], **run), *cases(0.1, 0.25)[1:])
    gate = changes(cases(0.5), after, f"suite_{metric}:90%")[metric].gate
    assert gate is not None
    assert (gate.outcome, gate.reason, gate.lost) == ("undecided", "lost-cases", ("a",))


def test_a_figure_that_is_a_bound_is_not_told_as_a_value() -> None:
    stalled = [spoilt(one, latencies=[9.0] * 4) for one in cases(0.5)]
    found = changes(stalled, cases(0.5))["search_ratio"]
    assert (found.before, found.ratio.bound) == (math.inf, "undefined")


def test_a_case_that_lost_its_challenger_is_lost() -> None:
    after = (spoilt(cases(0.5)[0], "other"), *cases(0.1)[1:])
    gate = changes(cases(0.5), after, "suite_search_ratio:90%")["search_ratio"].gate
    assert gate is not None
    assert (gate.outcome, gate.reason, gate.lost) == ("undecided", "lost-cases", ("a",))


@pytest.mark.parametrize(("compared", "lost"), [(NAMES, ("gone",)), ((), ("gone",)), ((), ())])
def test_an_allowance_with_nothing_to_compare_is_broken(
    compared: Sequence[str], lost: Sequence[str]
) -> None:
    before = [spoilt(case(name), "other") for name in compared]
    after = [case(name) for name in compared]
    gate = changes(before, after, "suite_search_ratio:5%", lost=lost)["search_ratio"].gate
    assert gate is not None
    assert (gate.outcome, gate.reason) == ("broken", "nothing-to-compare")
    assert gate.lost == (*compared, *lost)


def test_times_to_a_single_target_add_up_as_those_to_many_do() -> None:
    found = changes(cases(0.5), cases(0.5), criteria=Criteria(goal=Goal(1.0, 1.0)))
    assert list(found) == ["search_ratio", "throughput_ratio"]
