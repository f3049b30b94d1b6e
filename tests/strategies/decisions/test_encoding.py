"""Features of several sketches in one table."""

from __future__ import annotations

import numpy as np

from pytest_ansorbench.strategies.decisions.encoding import Encoding, kinds_of
from pytest_ansorbench.workloads import BatchMatmul, Softmax
from tests.strategies.setups import spaces_of

SMALL = BatchMatmul(batch=1, m=32, n=64, k=32)
LARGE = BatchMatmul(batch=1, m=64, n=64, k=64)


def test_sketches_of_an_operator_are_of_the_same_kinds_in_all_shapes(target):
    small, large, other = (
        kinds_of(spaces_of(target, case)[0]) for case in (SMALL, LARGE, Softmax(m=32, n=32))
    )
    assert small == large
    assert len(set(small)) == len(small) > 1
    assert not set(small) & set(other)


def test_features_of_another_shape_take_the_columns_of_their_kind(target):
    small, large = (Encoding(spaces_of(target, case)[0]) for case in (SMALL, LARGE))
    spaces, _, _ = spaces_of(target, SMALL)
    vectors = spaces[1].draw(3, np.random.default_rng(0))
    placed = large.placed(1, spaces[1].features(vectors))
    assert large.columns == small.columns
    points = [(1, tuple(vector)) for vector in vectors.tolist()]
    np.testing.assert_array_equal(placed, small.rows(points))
