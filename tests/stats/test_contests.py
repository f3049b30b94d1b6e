"""Which recorded runs meet, and which are kept apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_ansorbench.records import Result
from tests.stats.contests import STEPS, case_of, contests, runs_of, session
from tests.stats.test_leads import confirmed
from tests.synthetic import CRITERIA, MACHINE, with_runs


def both(first: Result, second: Result) -> list[list[str]]:
    return [[*one.arms] for one in contests(first, second)]


def test_arms_of_several_sessions_meet_on_a_case() -> None:
    one = session(case_of(runs_of("conv", "a")))
    other = session(case_of(runs_of("conv", "b"), runs_of("conv", "c")))
    assert both(one, other) == [["a", "b", "c"]]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"budget_trials": 8}, "8 trials a run"),
        ({"round_trials": 4}, "4 trials a round"),
        ({"run_time_s": 60.0}, "60 seconds of run time"),
        ({"flops": 7}, "7 FLOP"),
        ({"caches": "cold"}, "cold caches"),
        ({"leads": ()}, "progress confirmed"),
        ({"machine": "elsewhere"}, "machine elsewhere"),
    ],
)
def test_other_conditions_are_another_contest(fields: dict[str, object], told: str) -> None:
    one = session(case_of(runs_of("conv", "a")))
    there = with_runs(case_of(runs_of("conv", "b")), **fields)
    other = replace(one, machines={**one.machines, "elsewhere": MACHINE}, cases=(there,))
    found = contests(one, other)
    assert sorted(arm for contest in found for arm in contest.arms) == ["a", "b"]
    conditions = [contest.conditions for contest in found]
    words = [told for one in conditions for told in one.differences(conditions)]
    assert told in words and len(words) == 2


def test_of_a_case_without_leads_in_some_runs_all_progress_is_as_believed() -> None:
    """As of a reference recorded without them, whose challengers have them."""
    arms = [
        [confirmed(run, {3: 2.0}) for run in runs_of("conv", name)]
        if name != "a"
        else runs_of("conv", name)
        for name in "abc"
    ]
    for order in (arms, arms[::-1]):
        [contest] = contests(session(case_of(*order)))
        assert contest.conditions.progress == "believed" and {*contest.arms} == {*"abc"}
        assert {run.best_s for arm in contest.arms for run in contest.runs_of(arm)} == {1.0}


def test_other_programs_and_landscapes_are_kept_apart() -> None:
    one = session(case_of(runs_of("conv", "a")))
    assert both(one, session(case_of(runs_of("conv", "b"), version="2"))) == [["a"], ["b"]]
    replayed = session(with_runs(case_of(runs_of("conv", "b")), landscape="c0ffee"))
    assert [one.conditions.landscape for one in contests(one, replayed)] == ["", "c0ffee"]


def test_a_run_counts_once() -> None:
    one = session(case_of(runs_of("conv", "a")))
    with pytest.raises(ValueError, match="two of them have the same run of a on conv with seed 0"):
        contests(one, replace(one, created="2025"))


def test_replays_that_share_an_arm_meet_and_its_runs_count_once() -> None:
    """One of them has more repeats of it."""
    runs = {name: runs_of("conv", name) for name in "abc"}
    few = with_runs(case_of(runs["a"][:2], runs["b"][:2]), landscape="c0ffee")
    many = with_runs(case_of(runs["a"], runs["c"]), landscape="c0ffee")
    for order in ([few, many], [many, few]):
        [contest] = contests(*(session(one, created=str(at)) for at, one in enumerate(order)))
        counts = {arm: len(found) for arm, found in contest.arms.items()}
        assert counts == {"a": 3, "b": 2, "c": 3}
        for pair, count in (("ab", 2), ("ac", 3), ("bc", 2)):
            paired = contest.paired(*pair, CRITERIA, None)
            assert paired is not None and len(paired.reference) == count


def test_pairs_are_of_one_session_where_there_is_one_that_has_both() -> None:
    one = session(case_of(runs_of("conv", "a"), runs_of("conv", "b")), created="1")
    other = session(case_of(runs_of("conv", "a", seconds=3.0), runs_of("conv", "c")), created="2")
    [contest] = contests(other, one)
    for pair, seconds in (("ab", 1.0), ("ac", 3.0)):
        paired = contest.paired(*pair, CRITERIA, None)
        assert paired is not None and len(contest.together(*pair)) == len(paired.reference) == 3
        assert paired.reference[0].search_s[-1] == seconds * len(STEPS)
    apart = contest.paired("b", "c", CRITERIA, None)
    assert apart is not None and not contest.together("b", "c")
    assert [run.run.seed for run in (*apart.reference, *apart.challenger)] == [0, 1, 2, 0, 1, 2]


def test_the_gain_is_up_to_the_best_of_all_or_the_references() -> None:
    slow, fast = runs_of("conv", "slow", (8.0, 4.0, 4.0, 4.0)), runs_of("conv", "fast")
    [contest] = contests(session(case_of(slow, fast)))
    assert contest.gain(None, 0.0) == (1 / 8, 1.0)
    assert contest.gain("slow", 0.0) == (1 / 8, 1 / 4)
    assert contest.gain("absent", 0.0) is None
    failed = runs_of("conv", "slow", (None,) * 4)
    [contest] = contests(session(case_of([*slow[:1], *failed[1:]], fast)))
    # As S has it: a run without a kernel has no throughput.
    assert contest.gain("slow", 0.0) == (0.0, 0.0)
    [nothing] = contests(session(case_of(failed)))
    assert nothing.gain(None, 0.0) is None
