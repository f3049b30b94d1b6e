"""Members of a niche share what they promise, and nobody gets lost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.strategies import FitnessSharing
from pytest_ansorbench.strategies.decisions.knobs import TileKnob, ValueKnob, factorizations


class Space:
    """A loop of 8 in two tiles, and a value that no niche depends on."""

    def __init__(self, index=0):
        self.index = index
        self.knobs = (TileKnob(factorizations(8, 2, 64)), ValueKnob([0, 16, 64]))


SPACES = [Space(0), Space(1)]
VECTORS = st.tuples(st.integers(0, 3), st.integers(0, 2))
POINTS = st.tuples(st.integers(0, 1), VECTORS)
RANKED = st.dictionaries(POINTS, st.floats(0.0, 2.0), max_size=24).map(
    lambda found: sorted(
        ((score, point) for point, score in found.items()), key=lambda one: -one[0]
    )
)


def niche(point):
    index, (tiling, _) = point
    return index, int(SPACES[index].knobs[0].innermost[tiling])


@given(RANKED, st.lists(POINTS, max_size=12))
def test_all_points_stay_in_the_order_of_their_niche_with_no_more_than_they_promised(ranked, tried):
    shared = FitnessSharing().shared(ranked, tried, SPACES)
    assert sorted(point for _, point in shared) == sorted(point for _, point in ranked)
    promised = {point: score for score, point in ranked}
    assert all(score <= promised[point] for score, point in shared)
    assert [score for score, _ in shared] == sorted((score for score, _ in shared), reverse=True)
    for one in {niche(point) for _, point in ranked}:
        members = [promised[point] for _, point in shared if niche(point) == one]
        assert members == sorted(members, reverse=True)


@given(RANKED, st.lists(POINTS, max_size=12))
def test_without_a_price_nothing_changes(ranked, tried):
    free = FitnessSharing(power=0.0, in_batch=1.0)
    assert free.shared(ranked, tried, SPACES) == ranked


def test_a_niche_that_was_tried_often_loses_to_one_that_was_not():
    crowded, other = (0, (0, 0)), (0, (1, 0))
    policy = FitnessSharing(trials=4.0, power=0.5)
    tried = [(0, (0, 1)), (0, (0, 2)), (0, (0, 1))] * 4
    ranked = [(1.0, crowded), (0.6, other)]
    assert policy.shared(ranked, [], SPACES) == ranked
    [first, second] = policy.shared(ranked, tried, SPACES)
    assert first == (0.6, other)
    assert second[1] == crowded and second[0] == pytest.approx((1.0 + 12 / 4) ** -0.5)


def test_a_batch_is_not_of_one_niche_alone():
    ranked = [(1.0, (0, (0, 0))), (0.99, (0, (0, 1))), (0.98, (0, (0, 2))), (0.9, (1, (0, 0)))]
    shared = FitnessSharing(in_batch=0.85).shared(ranked, [], SPACES)
    assert [niche(point) for _, point in shared][:2] == [niche((0, (0, 0))), niche((1, (0, 0)))]
    assert [score for score, _ in shared] == pytest.approx([1.0, 0.9, 0.99 * 0.85, 0.98 * 0.85**2])


def test_sketches_of_different_length_and_without_tiles_have_niches():
    class Nothing:
        index, knobs = 1, ()

    spaces = [Space(0), Nothing()]
    ranked = [(1.0, (1, ())), (0.5, (0, (2, 1)))]
    assert FitnessSharing().shared(ranked, [(1, ())], spaces)[-1][1] == (0, (2, 1))
    assert FitnessSharing().shared([], [], spaces) == []


def test_the_innermost_tile_of_each_choice_is_known():
    knob = TileKnob(factorizations(12, 3, 6))
    innermost = [knob.decision(choice)[-1] for choice in range(knob.size)]
    assert knob.innermost.tolist() == innermost
    assert max(innermost) <= 6 and np.issubdtype(knob.innermost.dtype, np.integer)
