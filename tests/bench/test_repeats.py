"""Which repeat comes next."""

from __future__ import annotations

from pytest_ansorbench.bench import CaseHistory, FixedRepeats
from pytest_ansorbench.bench.history import RepeatHistory
from pytest_ansorbench.storage.entries import CaseEntry, FinalEntry, RepeatEntry
from tests.search.rounds import AT_REST

CASE = CaseEntry("case", "case", "1", ("one",), None, 1, (), {"trials": 4, "round_trials": 2})


def history(complete=(), begun=()):
    repeats = {seed: RepeatHistory(RepeatEntry("case", seed, {}, AT_REST)) for seed in begun}
    for seed in complete:
        repeat = repeats[seed] = RepeatHistory(RepeatEntry("case", seed, {}, AT_REST))
        repeat.final = FinalEntry("case", seed, (), None, 0.0, AT_REST)
    return CaseHistory(CASE, repeats)


def test_seeds_count_up_until_there_are_enough():
    repeats = FixedRepeats(7, 3)
    assert repeats.next_seed(history()) == 7
    assert repeats.next_seed(history(complete=[7])) == 8
    assert repeats.next_seed(history(complete=[7, 8, 9])) is None


def test_what_was_interrupted_comes_first():
    assert FixedRepeats(0, 3).next_seed(history(complete=[0], begun=[1])) == 1


def test_a_gap_is_filled():
    assert FixedRepeats(0, 3).next_seed(history(complete=[0, 2])) == 1


def test_only_planned_and_complete_repeats_count():
    assert list(FixedRepeats(0, 3).seeds(history(complete=[0, 1, 9], begun=[2]))) == [0, 1]


def test_of_a_finished_case_no_repeat_is_next_with_fewer_repeats():
    assert FixedRepeats(0, 2).next_seed(history(complete=[0, 1, 2])) is None
