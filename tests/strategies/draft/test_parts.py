"""The parts of a draft search, each on points whose truth is known."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.strategies import (
    BoostedTrees,
    Draft,
    Neighbourhood,
    Prior,
    SharpeningShares,
    Survey,
)
from pytest_ansorbench.strategies.decisions.knobs import TileKnob, ValueKnob, factorizations
from pytest_ansorbench.strategies.decisions.space import DecisionSpace, shared_out
from pytest_ansorbench.strategies.draft.evidence import Evidence

BEST = st.lists(st.floats(0.0, 1e3), min_size=1, max_size=9)
SPACE = DecisionSpace(
    0,
    [
        *(TileKnob(factorizations(extent, 4, 64)) for extent in (512, 512, 256)),
        ValueKnob([0, 16, 64]),
    ],
    footprints=(),
)
"""A space without a sketch: loops to tile, and a value to choose."""


def rows_of(points):
    """Features of each decision by itself, and the sketch's index, which is 0."""
    vectors = np.array([vector for _, vector in points], dtype=np.int32)
    own = sum(len(knob.columns) for knob in SPACE.knobs)
    return np.pad(SPACE.features(vectors)[:, :own], ((0, 0), (0, 1)))


def hidden(rng):
    """A throughput with one optimum: the further away in tile sizes, the slower."""
    optimum = rows_of([(0, vector) for vector in SPACE.draw(1, rng)])
    return lambda points: np.exp(-np.abs(rows_of(points) - optimum).sum(axis=1) / 20.0)


@given(BEST, st.integers(0, 1_000))
def test_shares_are_a_distribution_in_the_order_of_the_sketches(best, trials):
    shares = SharpeningShares().shares(best, [trials] * len(best))
    assert shares.sum() == pytest.approx(1.0) and (shares > 0.0).all()
    known = sorted((gflops, share) for gflops, share in zip(best, shares, strict=True) if gflops)
    assert all(one[1] <= other[1] + 1e-12 for one, other in pairwise(known))


def test_shares_sharpen_with_trials_and_never_come_to_nothing():
    policy = SharpeningShares(sharpen_trials=12, least=0.03)
    of_second = [policy.shares([100.0, 80.0], [9, trials])[1] for trials in (0, 48, 96, 1000)]
    assert of_second[0] == 0.5
    assert of_second == sorted(of_second, reverse=True)
    assert of_second[-1] == pytest.approx(0.03 / 1.06, rel=1e-3)


def test_a_sketch_without_a_valid_trial_goes_on_being_tried():
    shares = SharpeningShares().shares([100.0, 0.0], [400, 100])
    assert shares[0] == shares[1]
    assert SharpeningShares().shares([0.0, 0.0], [400, 100]).tolist() == [0.5, 0.5]


def test_one_slow_program_says_less_of_its_sketch_than_ten():
    shares = SharpeningShares().shares([100.0, 1.0, 1.0], [40, 1, 10])
    assert shares[1] > 4 * shares[2]
    assert shares[1] > 0.2


@given(
    st.lists(st.integers(0, 2), max_size=40),
    st.lists(st.floats(0.02, 1.0), min_size=3, max_size=3),
)
def test_what_is_shared_out_keeps_each_order_and_any_prefix_has_the_shares(sketches, weights):
    points = [(index, (place,)) for place, index in enumerate(sketches)]
    shares = np.array(weights) / sum(weights)
    shared = list(shared_out(points, shares))
    assert sorted(shared) == sorted(points)
    for index in range(3):
        mine = [point for point in shared if point[0] == index]
        assert mine == [point for point in points if point[0] == index]
    left = [sketches.count(index) for index in range(3)]
    for length in range(1, len(shared) + 1):
        counts = [sum(point[0] == index for point in shared[:length]) for index in range(3)]
        if any(count == total for count, total in zip(counts, left, strict=True)):
            break  # one has run out: the others have to fill in
        assert np.abs(np.array(counts) - length * shares).max() <= 1.5


def test_evidence_is_labelled_by_the_best_and_scores_count_at_first_only():
    known, survey = Evidence(), Survey(weight=0.25, trials=2)
    known.scores = [((0, (1,)), 1.0), ((1, (2,)), 0.5)]
    assert known.fastest == [(0, (1,)), (1, (2,))]
    assert known.shown_by_sketches(3) == [1.0, 0.5, 0.0]
    known.gflops.append(((1, (7,)), 50.0))
    points, throughput, trust = known.labelled(survey)
    assert points == [(1, (7,)), (0, (1,)), (1, (2,))]
    assert throughput.tolist() == [1.0, 1.0, 0.5] and trust.tolist() == [1.0, 0.25, 0.25]
    known.gflops += [((2, (8,)), 0.0), ((1, (9,)), 100.0)]
    points, throughput, trust = known.labelled(survey)
    assert throughput.tolist() == [0.5, 0.0, 1.0] and trust.tolist() == [1.0] * 3
    assert known.fastest == [(1, (9,)), (1, (7,))]
    assert known.shown_by_sketches(3) == [0.0, 100.0, 0.0] and known.best_gflops == 100.0
    assert known.labelled(None)[0] == [(1, (7,)), (2, (8,)), (1, (9,))]


@pytest.mark.parametrize(("trials", "programs"), [(256, 128), (16.0, 16), (2.5, 3), (0, 0)])
def test_no_more_is_surveyed_than_a_task_has_trials(trials, programs):
    assert Survey(programs=128, per_trial=1.0).programs_for(trials) == programs


def test_the_neighbourhood_climbs_to_the_optimum_of_what_it_is_told():
    rng = np.random.default_rng(0)
    score = hidden(rng)
    search = Neighbourhood(random=500, climbs=12, climbers=50)
    found = search.points([SPACE], [], score, lambda point: False, rng)
    scores = score(found)
    assert (np.diff(scores) <= 0.0).all()
    assert len(set(found)) == len(found)
    assert scores[0] > 0.9
    # Of as many points at random, none comes near.
    drawn = [(0, tuple(vector)) for vector in SPACE.draw(len(found), rng).tolist()]
    assert score(drawn).max() < 0.7


def test_measured_points_lead_to_others_near_them_and_taken_ones_stay_out():
    rng = np.random.default_rng(1)
    [start] = SPACE.draw(1, rng).tolist()
    around = Neighbourhood(random=0, parents=1, children=200, most_steps=1, climbs=0)
    every = around.points(
        [SPACE], [(0, tuple(start))], lambda points: np.zeros(len(points)), {}.__contains__, rng
    )
    changed = [sum(a != b for a, b in zip(start, vector, strict=True)) for _, vector in every]
    assert every and set(changed) <= {0, 1}
    taken = set(every[:5])
    rest = around.points(
        [SPACE], [(0, tuple(start))], lambda p: np.zeros(len(p)), taken.__contains__, rng
    )
    assert not taken & set(rest)


def test_a_scaled_neighbourhood_has_fewer_points_of_each_origin():
    full = Neighbourhood(random=400, children=40, climbers=80)
    assert full.scaled(1.0) == full
    few = full.scaled(0.25)
    assert (few.random, few.children, few.climbers) == (100, 10, 20)
    assert (few.parents, few.climbs, few.offspring) == (24, 3, 5)
    least = full.scaled(0.008)
    assert (least.random, least.children, least.climbers) == (4, 1, 1)


def test_trees_learn_where_the_fast_ones_are():
    rng = np.random.default_rng(2)
    score = hidden(rng)
    points = [(0, tuple(vector)) for vector in SPACE.draw(600, rng).tolist()]
    known, asked = points[:400], points[400:]
    top = score(known).max()
    model = BoostedTrees().fit(rows_of(known), score(known) / top, np.ones(400), seed=1)
    predicted, truth = model.predict(rows_of(asked)), score(asked) / top
    assert np.corrcoef(predicted, truth)[0, 1] > 0.6
    again = BoostedTrees().fit(rows_of(known), score(known) / top, np.ones(400), seed=1)
    np.testing.assert_array_equal(predicted, again.predict(rows_of(asked)))


def test_trees_wait_for_enough_trials_and_for_a_valid_one():
    rows = np.zeros((20, 3), dtype=np.float32)
    assert BoostedTrees(least=21).fit(rows, np.ones(20), np.ones(20), seed=1) is None
    assert BoostedTrees(least=20).fit(rows, np.zeros(20), np.ones(20), seed=1) is None
    assert BoostedTrees(least=20).fit(rows, np.ones(20), np.ones(20), seed=1) is not None


def test_trees_believe_what_is_trusted_more():
    rows = np.repeat(np.arange(2.0, dtype=np.float32), 40)[:, None]
    said = np.tile([1.0, 0.2], 40)  # of each point both is said
    trust = np.where(said == 1.0, 1.0, 0.01)
    policy = BoostedTrees(columns=1.0, floor=1.0)
    [of_trusted, _] = policy.fit(rows, said, trust, seed=1).predict(rows[[0, 40]])
    [of_both, _] = policy.fit(rows, said, np.ones(80), seed=1).predict(rows[[0, 40]])
    assert of_trusted > 0.9 > of_both


def test_what_is_best_of_two_programs_makes_one_that_is_faster_than_both():
    rows = np.array([(a, b) for a in range(4) for b in range(4)] * 4, dtype=np.float32)
    throughput = 0.6 ** (6.0 - rows.sum(axis=1))
    known = (rows < 3.0).any(axis=1)  # all but those that have the best of both
    top = throughput[known].max()
    policy = BoostedTrees(columns=1.0)
    model = policy.fit(rows[known], throughput[known] / top, np.ones(known.sum()), seed=1)
    of_both = model.predict(np.array([[3.0, 3.0]], dtype=np.float32))[0]
    assert of_both > 1.2 > 1.05 > model.predict(rows[known]).max()


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (lambda: Draft(model=None), "bad model None: expected an object with a method fit"),
        (lambda: Draft(sharing=3), "bad sharing 3: expected an object with a method shares"),
        (lambda: Draft(survey=1), r"bad survey 1: expected Survey\(\) or None"),
    ],
)
def test_bad_parameters_are_refused(policy, message):
    with pytest.raises(ValueError, match=message):
        policy()


def test_a_single_lucky_trial_does_not_take_the_shares():
    known = Evidence()
    for index in range(3):
        known.gflops += [((index, (at,)), 70.0 + index + at / 4) for at in range(18)]
    before = shares_by(known)
    known.gflops.append(((2, (18,)), 131.0))
    np.testing.assert_allclose(shares_by(known), before, atol=0.06)
    known.gflops.append(((2, (19,)), 131.0))
    assert shares_by(known)[2] > 0.5


def test_a_lead_beyond_luck_speaks_for_its_sketch_at_once():
    known = Evidence()
    known.gflops += [((0, (at,)), 3.0) for at in range(16)] + [((0, (16,)), 18.0)]
    known.gflops += [((1, (at,)), 11.0) for at in range(15)]
    assert known.shown_by_sketches(2) == [18.0, 11.0]
    assert shares_by(known)[0] > 0.8


def shares_by(known):
    count = 1 + max(index for (index, _), _ in known.gflops)
    return SharpeningShares().shares(
        known.shown_by_sketches(count), known.trials_of_sketches(count)
    )


class Worthless:
    """A model that promises nothing, and less."""

    def predict(self, rows):
        return np.linspace(-0.1, 0.0, len(rows))


def test_a_model_that_promises_nothing_ends_no_search():
    assert 0.0 <= Prior().weight([(0.0, 1.0), (-0.1, 2.0)]) <= 1.0
    rows = np.arange(16.0, dtype=np.float32)[:, None]
    prior = Prior().faded(Worthless(), trials=3)
    assert np.isfinite(prior.predict(rows)).all()
    model = BoostedTrees().fit(rows, np.linspace(0.1, 1.0, 16), np.ones(16), 1, Worthless())
    assert np.isfinite(model.predict(rows)).all()
