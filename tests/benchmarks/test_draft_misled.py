"""Wrong experience on recorded landscapes: `benchmarks/draft_misled.py`."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ansorbench.strategies import Experience


@pytest.fixture
def script(import_script):
    return import_script("draft_misled")


def test_wrong_experience_knows_the_same_kinds_and_says_something_else(script, import_script):
    found = import_script("draft_surrogate").policies(script.SEARCHED)
    right = Experience().known()
    for name in ("inverted", "shuffled"):
        wrong = found[f"draft+{name}"].experience.known()
        assert list(wrong) == list(right)
        for kind, trials in wrong.items():
            np.testing.assert_array_equal(trials.features, right[kind].features)
            assert 0.0 <= trials.throughput.min() <= trials.throughput.max() <= 1.0
        kind = max(right, key=lambda one: len(right[one].throughput))
        agreement = np.corrcoef(wrong[kind].throughput, right[kind].throughput)[0, 1]
        assert agreement < 0.2
    foreign = found["draft+foreign"].experience.known()
    assert set(foreign) <= set(right)
    assert 0 < sum(len(one.features) for one in foreign.values())


def test_the_credulous_never_ask_whether_others_were_right(import_script):
    found = import_script("draft_surrogate").policies(["credulous+inverted", "draft+inverted"])
    promises = [(1.0, 1.0), (0.5, 2.0), (0.25, 4.0)] * 10
    weights = [one.prior.weight(promises) for one in found.values()]
    assert weights == [1.0, 0.0]


def test_what_ends_below_the_bar_is_told_but_not_of_the_credulous(script):
    rows = [
        ["draft+transfer", 0.5, 1.02],
        ["draft+shuffled", 1.1, 0.96],
        ["credulous+shuffled", 0.9, 0.5],
    ]
    assert script.missed("matmul", rows) == ["draft+shuffled on matmul"]
