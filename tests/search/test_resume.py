"""Searches that go on from a journal's rounds, as if nothing had happened."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest

from pytest_ansorbench.packed import PackedError
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.search.candidates import pack, unpack
from pytest_ansorbench.strategies import (
    Evolution,
    ExploreThenCommit,
    Registry,
    StockEvolution,
    Strategy,
    XGBoostModel,
)
from tests.faults import Doubling
from tests.proposers import scripted
from tests.search.rounds import searching, stepped
from tests.strategies.setups import MATMUL
from tests.watching import Watched

search = functools.partial(searching, seed=3)
SMALL = {"population": 16, "min_unmeasured": 8, "generations": 1}
EARLY = XGBoostModel(warmup_samples=1)  # the cost model counts from the first round on
STRATEGIES = {
    "default": Strategy("default", proposer=StockEvolution(**SMALL), cost_model=EARLY),
    "etc": Strategy("etc", proposer=Evolution(ExploreThenCommit(1, 1), **SMALL), cost_model=EARLY),
}


@pytest.mark.parametrize("name", ["default", "etc"])
def test_cost_model_measured_set_and_policies_are_rebuilt(unbuilding_engine, name):
    watched = Watched(STRATEGIES[name].proposer)
    strategy = dataclasses.replace(STRATEGIES[name], proposer=watched)
    first = search(MATMUL, strategy, unbuilding_engine, trials=16, round_trials=4)
    entries = stepped(first, 3)
    again = search(MATMUL, strategy, unbuilding_engine, trials=16, round_trials=4, resumed=entries)
    assert list(again.rounds) == list(first.rounds)
    assert list(again.trials) == list(first.trials)
    assert again.best_gflops == first.best_gflops
    assert again.search_s == pytest.approx(first.search_s)
    one, other = (proposer.decisions() for proposer in watched.started)
    sketch_policy = ("phase", "committed_sketch", "sketch_shares", "mean_gflops")
    told = [key for key in sketch_policy if key in one]
    assert len(told) == (4 if name == "etc" else 0)
    assert [other[key] for key in told] == [one[key] for key in told]
    # The same questions have the same answers: the cost model is the same.
    mod = again.tasks[0].task.mod
    recorded = [c for entry in entries for c in unpack(entry.state.candidates, mod)]
    asked = [candidate.measure_candidate for candidate in recorded]
    answers = [setup.cost_model.predict(setup.context, asked) for setup in watched.setups]
    np.testing.assert_array_equal(*answers)
    assert len(set(answers[0])) > 1
    # Nothing is measured twice, though the best so far are the likeliest to be proposed.
    known = {candidate.fingerprint for candidate in recorded}
    [entry] = stepped(again, 1)
    fresh = unpack(entry.state.candidates, mod)
    assert len(fresh) == 4
    assert not known & {candidate.fingerprint for candidate in fresh}
    assert again.finished


@pytest.mark.slow
def test_without_a_journal_measured_programs_would_be_proposed_again(unbuilding_engine):
    """The control of the test above: what it looks for does happen where nothing is recalled.

    TVM's threads race for work, so that it does not happen every time.
    """

    class Forgetful(StockEvolution):
        def start(self, setup):
            proposer = super().start(setup)
            proposer.recall = lambda candidates: None
            return proposer

    def proposed_again():
        entries = stepped(search(MATMUL, strategy, unbuilding_engine, trials=24, round_trials=8), 2)
        again = search(
            MATMUL, strategy, unbuilding_engine, trials=24, round_trials=8, resumed=entries
        )
        mod = again.tasks[0].task.mod
        known, proposed = (
            {
                candidate.fingerprint
                for entry in rounds
                for candidate in unpack(entry.state.candidates, mod)
            }
            for rounds in (entries, stepped(again, 1))
        )
        return known & proposed

    strategy = dataclasses.replace(STRATEGIES["default"], proposer=Forgetful(**SMALL))
    assert any(proposed_again() for _ in range(5))


def test_random_numbers_go_on_where_they_were(unbuilding_engine):
    first = search(MATMUL, STRATEGIES["etc"], unbuilding_engine, trials=8, round_trials=4)
    entries = stepped(first, 1)
    again = search(
        MATMUL, STRATEGIES["etc"], unbuilding_engine, trials=8, round_trials=4, resumed=entries
    )
    one, other = (made.last_round("label").state for made in (first, again))
    assert (other.numpy_state, other.numpy_position) == (one.numpy_state, one.numpy_position)
    assert other.rng == one.rng


def test_tvms_random_numbers_go_on_from_other_ones(unbuilding_engine):
    """Else a policy of TVM's own would draw the programs of the first round once more."""
    watched = Watched(STRATEGIES["default"].proposer)
    strategy = dataclasses.replace(STRATEGIES["default"], proposer=watched)
    first = search(MATMUL, strategy, unbuilding_engine, trials=16, round_trials=4)
    entries = stepped(first, 2)
    for done in (1, 2):
        search(
            MATMUL, strategy, unbuilding_engine, trials=16, round_trials=4, resumed=entries[:done]
        )
    assert len({setup.context.rand_state for setup in watched.setups}) == 3


def test_programs_without_a_trace_are_rebuilt_too(engine):
    strategy = scripted(("fine", "crash"), ("fine", "wrong"), ("fine",))
    first = search(Doubling(), strategy, engine, trials=5, round_trials=2)
    entries = stepped(first, 2)
    again = search(Doubling(), strategy, engine, trials=5, round_trials=2, resumed=entries)
    assert list(again.rounds) == list(first.rounds)
    assert list(again.trials) == list(first.trials)
    assert again.tasks[0].best is not None


def test_a_run_that_had_stopped_stays_stopped(unbuilding_engine):
    strategy = scripted(("fine",), None)
    first = search(Doubling(), strategy, unbuilding_engine, trials=5, round_trials=1)
    entries = stepped(first, 2)
    again = search(
        Doubling(), strategy, unbuilding_engine, trials=5, round_trials=1, resumed=entries
    )
    assert again.finished
    assert again.tasks[0].stopped == "the strategy proposes nothing more"


def test_candidates_are_packed_small_and_rebuilt_equal(unbuilding_engine):
    from tvm_ffi import structural_equal

    first = search(MATMUL, Registry().get("random"), unbuilding_engine, trials=16, round_trials=16)
    candidates = first.tasks[0].propose(16)
    text = pack(candidates)
    assert len(text) < 1000 * len(candidates)
    for before, after in zip(candidates, unpack(text, first.tasks[0].task.mod), strict=True):
        assert structural_equal(before.mod, after.mod)
        assert str(before.schedule.trace) == str(after.schedule.trace)
        assert list(map(str, before.args_info)) == list(map(str, after.args_info))


@pytest.mark.parametrize("text", ["", "@", "AAAA", "eJwDAAAAAAE=", "eJyLrgUAAXUA+Q=="])
def test_what_is_no_candidate_is_refused(text):
    with pytest.raises(PackedError, match=r"expected|does not fit"):
        unpack(text, None)


def spoiled(entry, **changes):
    return dataclasses.replace(entry, state=dataclasses.replace(entry.state, **changes))


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda entry: dataclasses.replace(entry, sketches=("x",)), "design space"),
        (lambda entry: spoiled(entry, candidates="AAAA"), "cannot be rebuilt"),
        (lambda entry: spoiled(entry, numpy_state="AAAA"), "a state of 624 words"),
        (lambda entry: spoiled(entry, numpy_position=625), "a state of 624 words"),
        (lambda entry: spoiled(entry, rng={}), "cannot be rebuilt"),
        (lambda entry: dataclasses.replace(entry, trials=entry.trials[:1]), "1 trials"),
    ],
)
def test_rounds_of_something_else_are_refused(unbuilding_engine, spoil, what):
    strategy = Registry().get("random")
    [entry] = stepped(search(MATMUL, strategy, unbuilding_engine, trials=4, round_trials=2), 1)
    with pytest.raises(ResumeError, match=what):
        search(
            MATMUL, strategy, unbuilding_engine, trials=4, round_trials=2, resumed=[spoil(entry)]
        )
