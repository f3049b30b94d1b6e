"""What any search for points has to do: find the best, nothing twice, and go on when resumed."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from pytest_ansorbench.strategies import (
    Annealing,
    Bandit,
    Droplet,
    Genetic,
    Grid,
    PointSearch,
    PointSearchPolicy,
    Registry,
    StrategyError,
    Suggestion,
    Tried,
)
from pytest_ansorbench.strategies.blackbox.bandit import credit
from tests.search.rounds import finished, searching, stepped
from tests.strategies.draft.test_draft import MATMUL, PLAIN, TINY, search
from tests.strategies.point_searches import (
    SMALL,
    SMALLER,
    Hidden,
    as_json,
    brief,
    design_space,
    every_point,
    needing,
    searched,
)
from tests.strategies.setups import FAMILIES, spaces_of, unchecked_tasks

SEARCHES = [one.name for one in Registry() if isinstance(one.proposer, PointSearchPolicy)]
BLACK_BOXES = ["genetic", "grid", "annealing", "droplet", "bandit", "tpe"]


every_search = needing(SEARCHES)


def test_the_searches_are_those_that_ship():
    assert [
        *BLACK_BOXES,
        *("autotvm", "autotvm+transfer", "autotvm-loops", "autotvm-relations", "autotvm-treegru"),
    ] == SEARCHES


@pytest.mark.parametrize(("case", "points"), [(SMALL, 3_600), (SMALLER, 384)], ids=str)
def test_the_hidden_point_is_the_best(target, case, points):
    space = design_space(target, case)
    hidden, every = Hidden(space), every_point(space)
    assert len(every) == points
    assert max(every, key=hidden) == hidden.best


@needing([*BLACK_BOXES, "autotvm"])
def test_it_finds_the_best_point_of_a_small_space(target, name):
    """In a sixth of the trials; a genetic search takes a third, one with a model a twentieth."""
    space = design_space(target, SMALLER if name == "tpe" else SMALL)
    policy = brief(name).proposer
    trials = {"grid": 3_600, "genetic": 1_200, "autotvm": 180, "tpe": 100}.get(name, 600)
    hidden = Hidden(space)
    tried, _ = searched(policy, space, hidden, trials)
    assert len({one.point for one in tried}) == len(tried) == trials
    assert hidden.best in {one.point for one in tried}


@every_search
def test_failures_alone_do_not_end_it(target, name):
    policy = brief(name).proposer
    tried, _ = searched(policy, design_space(target), lambda point: 0.0, 100)
    assert len({one.point for one in tried}) == 100


@pytest.fixture(scope="module")
def everything(target):
    """The programs of all points of a tiny space."""
    spaces, maker, _ = spaces_of(target, TINY)
    programs = [
        maker.replay(space.trace(tuple(vector)), 1)
        for space in spaces
        for vector in space.every().tolist()
    ]
    return {program.fingerprint for program in programs if program is not None}


@needing([*SEARCHES, "draft"])
def test_all_programs_of_a_tiny_space_are_proposed_once_and_then_it_ends(target, name, everything):
    policy = PLAIN if name == "draft" else brief(name).proposer
    rounds, proposer, _ = search(target, policy, trials=10_000, round_trials=16, case=TINY)
    assert proposer.propose(16) is None
    assert max(map(len, rounds)) <= 16
    proposed = [candidate.fingerprint for batch in rounds for candidate in batch]
    assert len(proposed) == len(everything) and set(proposed) == everything


def begun(strategy, engine, *, case=MATMUL, **options):
    return searching(case, strategy, engine, tasks=unchecked_tasks(case), seed=3, **options)


@every_search
def test_a_resumed_search_goes_on_as_if_nothing_had_happened(unbuilding_engine, name):
    budget = {"trials": 18, "round_trials": 6}
    entries = finished(begun(brief(name), unbuilding_engine, **budget))
    assert sum(len(entry.trials) for entry in entries) == 18
    again = begun(brief(name), unbuilding_engine, **budget, resumed=entries[:2])
    after = stepped(again, len(entries) - 2)
    assert [one.state.candidates for one in after] == [one.state.candidates for one in entries[2:]]
    assert [one.round.decisions for one in after] == [one.round.decisions for one in entries[2:]]


def test_locations_that_tvm_moves_are_those_of_the_measured_program(target):
    """Its point is told, not the one that was suggested."""
    told, asked = [], []

    class Noting(PointSearchPolicy):
        def search(self, space, rng, trials):
            return Drawn(space, rng)

    class Drawn(PointSearch):
        def __init__(self, space, rng):
            self.space, self.rng = space, rng

        def ask(self, wanted, taken):
            for _ in range(wanted):
                asked.append(self.space.draw(self.rng))
                yield Suggestion(asked[-1], {"number": len(asked) - 1})

        def tell(self, tried):
            told.extend(tried)

    rounds, proposer, _ = search(
        target, Noting(), trials=24, round_trials=24, case=FAMILIES["Conv2d"]
    )
    moved = [one for one in told if one.point != asked[one.note["number"]]]
    assert 0 < len(moved) < len(told)
    for one, candidate in zip(told, rounds[0], strict=False):
        index, vector = one.point
        assert proposer._space.spaces[index].vector_in(candidate.trace) == vector


def test_nothing_new_is_followed_by_random_points(target):
    notes = []

    class Stubborn(PointSearchPolicy):
        def search(self, space, rng, trials):
            return Same(space)

    class Same(PointSearch):
        def __init__(self, space):
            self.space = space

        def ask(self, wanted, taken):
            while True:
                yield Suggestion((0, (0,) * len(self.space.spaces[0].knobs)), {"mine": True})

        def tell(self, tried):
            notes.append([one.note for one in tried])

    rounds, _, _ = search(target, Stubborn(), trials=9, round_trials=4)
    assert [len(candidates) for candidates in rounds] == [1, 4, 4]
    assert notes == [[{"mine": True}], [{}] * 4, [{}] * 4]


def test_the_round_in_which_nothing_is_left_is_not_told(unbuilding_engine):
    told = []

    class Sweeping(PointSearchPolicy):
        def search(self, space, rng, trials):
            return Sweep(space)

    class Sweep(PointSearch):
        def __init__(self, space):
            self.space = space

        def ask(self, wanted, taken):
            return map(Suggestion, every_point(self.space))

        def tell(self, tried):
            told.append(max(one.gflops for one in tried))

    strategy = replace(brief("grid"), proposer=Sweeping())
    made = begun(strategy, unbuilding_engine, case=TINY, trials=10_000, round_trials=16)
    rounds = finished(made)
    assert made.tasks[0].stopped == "the strategy proposes nothing more"
    assert not rounds[-1].trials and len(told) == len(rounds) - 1


def test_generations_are_full_and_keep_the_best(target):
    space = design_space(target)
    tried, search = searched(Genetic(population=20, elites=2), space, Hidden(space), 60, batch=16)
    assert len(tried) == 60 and search._generation == []
    best = sorted((one.gflops for one in tried), reverse=True)[:2]
    assert [one.gflops for one in search._elites] == best
    assert {one.point for one in search._parents} >= {one.point for one in tried[40:]}


def test_a_grid_is_spread_evenly_and_says_what_it_leaves_out(target):
    space = design_space(target)
    tried, search = searched(Grid(), space, Hidden(space), 300)
    assert search.decisions() == {"grid": {"points": 3_600, "exceeds_budget": True}}
    for at, one in enumerate(space.spaces):
        vectors = np.array([vector for index, vector in (t.point for t in tried) if index == at])
        assert len(vectors) == 100
        for place, knob in enumerate(one.knobs):
            counts = np.bincount(vectors[:, place], minlength=knob.size)
            assert counts.min() > 0.4 * len(vectors) / knob.size, place
    whole = Grid().search(space, np.random.default_rng(0), 3_600)
    assert not whole.decisions()["grid"]["exceeds_budget"]


def test_a_grid_goes_on_behind_points_that_are_no_program(target):
    """Random ones were measured in their place."""
    space = design_space(target)

    def suggested(search):
        return [one.point for one in islice(search.ask(16, ()), 128)]

    search, resumed = (Grid().search(space, np.random.default_rng(0), 300) for _ in range(2))
    first = suggested(search)
    told(search, Suggestion(every_point(space)[0]), 1.0)
    resumed.memory = as_json(search.memory)
    second = suggested(search)
    assert len({*first, *second}) == 256
    assert suggested(resumed) == second


def test_annealing_goes_downhill_while_it_is_warm(target):
    space = design_space(target)

    def downhill(temperature):
        """Share of steps that a chain took although they led to slower programs."""
        policy = Annealing(chains=1, temperature=temperature)
        search = policy.search(space, np.random.default_rng(0), 1e9)
        hidden, taken = Hidden(space), set()
        slower, accepted = 0, 0
        for _ in range(200):
            before = search._at[0]
            [one] = search.ask(1, taken)
            tried = told(search, one, hidden(one.point))
            taken.add(one.point)
            if before is not None and tried.gflops < before.gflops:
                slower += 1
                accepted += search._at[0] is tried
        return accepted / slower

    assert downhill(1e-9) == 0.0
    assert 0.0 < downhill(0.2) < downhill(5.0)


def told(search, suggestion, gflops):
    one = Tried(suggestion.point, gflops, suggestion.note)
    search.tell([one])
    return one


def test_a_descent_ends_where_no_neighbour_is_faster_and_another_begins(target):
    space = design_space(target)
    hidden = Hidden(space)
    tried, search = searched(Droplet(starts=4), space, hidden, 400, batch=8)
    first = [one for one in tried if one.note["descent"] == 0]
    best = max(first, key=lambda one: one.gflops)
    index, vector = best.point
    near = {
        (index, (*vector[:at], choice, *vector[at + 1 :]))
        for at, knob in enumerate(space.spaces[index].knobs)
        for choice in knob.near(vector[at])
    }
    assert near <= {one.point for one in first}
    assert search.decisions()["descents"] > 1


@pytest.mark.parametrize(
    ("led", "area"),
    [([False] * 3, 0.0), ([True] * 3, 1.0), ([True, False, False], 1 / 6), ([False, True], 2 / 3)],
)
def test_late_successes_count_more(led, area):
    assert credit(led) == pytest.approx(area)


def test_the_bandit_uses_what_leads_to_the_best(target):
    space = design_space(target)
    policy = Bandit(exploration=0.01)
    search = policy.search(space, np.random.default_rng(0), 100)
    told(search, next(iter(search.ask(1, ()))), 1.0)
    for gflops in range(2, 80):
        one = next(iter(search.ask(1, ())))
        told(search, one, float(gflops) if one.note["operator"] == "cross" else 0.5)
    uses = {name: one["uses"] for name, one in search.decisions()["operators"].items()}
    assert uses["cross"] > 60 and min(uses.values()) >= 1


def test_a_failed_trial_is_no_credit_to_the_bandits_operator(target):
    space = design_space(target)
    tried, search = searched(Bandit(), space, lambda point: 0.0, 8)
    told(search, Suggestion(tried[0].point, tried[0].note), 1.0)
    assert search.decisions()["operators"]["random"] == {"uses": 9, "bests": 1}


def test_a_batch_of_the_bandit_has_several_operators(target):
    space = design_space(target)
    tried, _ = searched(Bandit(), space, Hidden(space), 64, batch=16)
    for start in range(16, 64, 16):
        assert len({one.note["operator"] for one in tried[start : start + 16]}) > 1


def test_each_decision_has_estimators_of_its_own_whatever_optuna_does_by_default(
    target, monkeypatch
):
    optuna = pytest.importorskip("optuna")
    create_study, samplers = optuna.create_study, []

    def noted(**given):
        samplers.append(given["sampler"])
        return create_study(**given)

    monkeypatch.setattr(optuna, "create_study", noted)
    space = design_space(target, SMALLER)
    searched(brief("tpe").proposer, space, Hidden(space), 16)
    # None would stand for Optuna's choice.
    assert {(one._multivariate, one._constant_liar) for one in samplers} == {(False, False)}


def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(StrategyError, match=r"tpe takes Optuna .* 'pytest-ansorbench\[tpe\]'"):
        Registry().get("tpe").proposer.start(None)
