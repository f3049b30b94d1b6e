"""How far two orders agree."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ansorbench.stats.ranks import rank_correlation


def test_only_the_order_counts():
    values = np.array([0.1, 5.0, 2.0, 9.0])
    assert rank_correlation(values, np.exp(values)) == pytest.approx(1.0)
    assert rank_correlation(values, -values) == pytest.approx(-1.0)


def test_ties_share_their_rank():
    # Ranks 1.5, 1.5, 3 and 1, 2, 3: covariance 1.5, sums of squares 1.5 and 2.
    found = rank_correlation(np.array([1.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]))
    assert found == pytest.approx(1.5 / np.sqrt(1.5 * 2.0))


@pytest.mark.parametrize("values", [[], [1.0], [2.0, 2.0, 2.0]])
def test_there_is_none_of_values_that_do_not_vary(values):
    others = np.arange(len(values), dtype=float)
    assert rank_correlation(np.array(values), others) is None
