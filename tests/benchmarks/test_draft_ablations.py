"""Wrong experience, and what never asks about it: `benchmarks/draft_ablations.py`."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ansorbench.strategies import Experience

NAMES = ["draft+inverted", "draft+partial", "credulous+inverted"]


@pytest.fixture
def policies(import_script):
    found = import_script("draft_ablations").pytest_ansorbench_strategies(None)
    return {one.name: one.proposer for one in found if one.name in NAMES}


def test_inverted_experience_ranks_the_same_programs_the_other_way_round(policies):
    right, wrong = Experience().known(), policies["draft+inverted"].experience.known()
    assert list(wrong) == list(right)
    for kind, trials in wrong.items():
        np.testing.assert_array_equal(trials.features, right[kind].features)
        order = np.argsort(right[kind].throughput)
        assert np.all(np.diff(trials.throughput[order]) <= 0.0)
        assert 0.0 < trials.throughput.min() <= trials.throughput.max() <= 1.0
    assert any(np.ptp(trials.throughput) > 0.9 for trials in wrong.values())


def test_partial_experience_favours_the_second_sketch(policies):
    right, partial = Experience().known(), policies["draft+partial"].experience.known()
    for kind, trials in partial.items():
        factor = 1.0 if kind.endswith("-1") else 0.125
        np.testing.assert_allclose(trials.throughput, factor * right[kind].throughput)


def test_the_credulous_never_ask_whether_others_were_right(policies):
    promises = [(1.0, 1.0), (0.5, 2.0), (0.25, 4.0)] * 10
    assert policies["draft+inverted"].prior.weight(promises) == 0.0
    assert policies["credulous+inverted"].prior.weight(promises) == 1.0
