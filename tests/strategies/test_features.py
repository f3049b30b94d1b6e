"""Features of a fixed length, extracted once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.strategies.features import PER_STORE, POOLED, pool

SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=3)


@given(SIZES, st.integers(0, 1_000), st.sampled_from([0.0, 40.0]))
def test_a_row_holds_mean_largest_and_main_store(sizes, seed, largest):
    rng = np.random.default_rng(seed)
    programs = [rng.uniform(0.0, largest, (size, PER_STORE)).astype(np.float32) for size in sizes]
    rows = pool(programs)
    assert rows.shape == (len(programs), POOLED)
    for row, stores in zip(rows, programs, strict=True):
        np.testing.assert_allclose(row[:PER_STORE], stores.mean(axis=0), rtol=1e-5)
        np.testing.assert_array_equal(row[PER_STORE : 2 * PER_STORE], stores.max(axis=0))
        main = row[2 * PER_STORE : -1]
        assert main[:16].sum() >= stores[:, :16].sum(axis=1).max() * (1 - 1e-5)
        assert any(np.array_equal(main, store) for store in stores)
        assert row[-1] == len(stores)


def test_a_program_without_stores_is_all_zeros():
    assert not pool([np.zeros((0, PER_STORE))]).any()
    assert pool([]).shape == (0, POOLED)
