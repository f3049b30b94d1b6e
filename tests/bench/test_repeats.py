"""Which repeat comes next."""

from __future__ import annotations

from dataclasses import replace

from pytest_ansorbench.bench import FixedRepeats, RepeatsUntilSettled
from pytest_ansorbench.bench.history import CaseHistory, RepeatHistory
from pytest_ansorbench.stats.looks import Looks
from pytest_ansorbench.storage.entries import CaseEntry, FinalEntry, RepeatEntry
from tests.search.rounds import AT_REST
from tests.synthetic import make_case_result

CASE = CaseEntry("case", "case", "1", ("one",), None, 1, (), (), {"trials": 4, "round_trials": 2})


def history(complete=(), begun=()):
    repeats = {seed: RepeatHistory(RepeatEntry("case", seed, {}, AT_REST)) for seed in begun}
    for seed in complete:
        repeat = repeats[seed] = RepeatHistory(RepeatEntry("case", seed, {}, AT_REST))
        repeat.final = FinalEntry("case", seed, (), None, 0.0, AT_REST)
    return CaseHistory(CASE, repeats)


def unasked():
    raise AssertionError("a judge that nothing depends on")


def test_seeds_count_up_until_there_are_enough():
    repeats = FixedRepeats(range(7, 10))
    assert repeats.next_seed(history(), unasked) == 7
    assert repeats.next_seed(history(complete=[7]), unasked) == 8
    assert repeats.next_seed(history(complete=[7, 8, 9]), unasked) is None


def test_what_was_interrupted_comes_first():
    assert FixedRepeats(range(3)).next_seed(history(complete=[0], begun=[1]), unasked) == 1


def test_a_gap_is_filled():
    assert FixedRepeats(range(3)).next_seed(history(complete=[0, 2]), unasked) == 1


def test_only_planned_and_complete_repeats_count():
    assert list(FixedRepeats(range(3)).seeds(history(complete=[0, 1, 9], begun=[2]))) == [0, 1]


def test_of_a_finished_case_no_repeat_is_next_with_fewer_repeats():
    assert FixedRepeats(range(2)).next_seed(history(complete=[0, 1, 2]), unasked) is None


def judged(*gates):
    """A result whose gates are open or not."""
    found = make_case_result()
    [verdict] = found.verdicts
    of_case = tuple(replace(verdict.gates[0], open=is_open) for is_open in gates)
    return replace(found, verdicts=(replace(verdict, gates=of_case),))


UNTIL = RepeatsUntilSettled(7, Looks(3, 6))


def test_before_the_first_look_nothing_is_asked():
    assert UNTIL.next_seed(history(), unasked) == 7
    assert UNTIL.next_seed(history(complete=[7, 8]), lambda: judged(False)) == 9


def test_repeats_go_on_while_a_gate_is_open_and_no_longer_than_that():
    assert UNTIL.next_seed(history(complete=[7, 8, 9]), lambda: judged(False, True)) == 10
    assert UNTIL.next_seed(history(complete=[7, 8, 9]), lambda: judged(False, False)) is None
    assert UNTIL.next_seed(history(complete=range(7, 13)), lambda: judged(True)) is None


def test_gates_on_changes_keep_them_going_too():
    further = replace(UNTIL, further_gates=lambda result: judged(True).verdicts[0].gates)
    assert further.next_seed(history(complete=[7, 8, 9]), lambda: judged(False)) == 10


def test_without_gates_there_are_five_or_what_the_suite_needs():
    assert UNTIL.next_seed(history(complete=[7, 8, 9]), judged) == 10
    assert UNTIL.next_seed(history(complete=range(7, 12)), judged) is None
    of_suite = replace(UNTIL, of_suite=True)
    assert of_suite.next_seed(history(complete=[7, 8, 9]), judged) is None


def test_repeats_for_suspects_end_with_those_planned_unless_a_gate_is_open():
    suspects = RepeatsUntilSettled(7, Looks(2, 4, if_suspect=True))
    assert list(suspects.planned) == [7, 8]
    assert suspects.next_seed(history(complete=[7, 8]), judged) is None
    assert suspects.next_seed(history(complete=[7, 8]), lambda: judged(False)) is None
    assert suspects.next_seed(history(complete=[7, 8]), lambda: judged(True)) == 9


def test_repeats_after_a_gap_do_not_count():
    assert list(UNTIL.seeds(history(complete=[7, 8, 10], begun=[9]))) == [7, 8]
    assert list(UNTIL.seeds(history(complete=range(7, 20)))) == list(range(7, 13))


def test_several_at_a_time_are_those_that_follow():
    repeats = FixedRepeats(range(7, 10))
    assert repeats.next_seed(history(), unasked, [7]) == 8
    assert repeats.next_seed(history(complete=[8]), unasked, [7]) == 9
    assert repeats.next_seed(history(complete=[8]), unasked, [7, 9]) is None


def test_before_the_first_look_all_of_its_repeats_are_run_at_once():
    assert UNTIL.next_seed(history(), unasked, [7]) == 8
    assert UNTIL.next_seed(history(complete=[7]), unasked, [8]) == 9
    assert UNTIL.next_seed(history(), unasked, [7, 8, 9]) is None
    assert UNTIL.next_seed(history(complete=[7, 8]), unasked, [9]) is None


def test_no_more_are_under_way_than_are_complete():
    three = history(complete=[7, 8, 9])
    assert UNTIL.next_seed(three, lambda: judged(True), [10]) == 11
    assert UNTIL.next_seed(three, lambda: judged(True), [10, 11]) == 12
    assert UNTIL.next_seed(three, lambda: judged(True), [10, 11, 12]) is None
    assert UNTIL.next_seed(three, lambda: judged(False), [10]) is None
    four = replace(UNTIL, looks=Looks(1, 9))
    assert four.next_seed(history(complete=[7]), lambda: judged(True), [8]) is None
