"""Labels: the rule that gains most in hindsight, near ties by weight."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pytest_ansorbench.training.rule_fit import expected_gains, label
from tests.training.samples import WEIGHTS, make_samples

GAINS = arrays(np.float64, (5, 4), elements=st.floats(0.0, 1.0))


@pytest.mark.parametrize("tie", [0.0, 0.1])
@given(GAINS)
def test_the_label_is_the_largest_gain_but_for_near_ties(tie, gains):
    chosen = gains[np.arange(5), label(gains, WEIGHTS, tie)]
    assert np.all(chosen >= (1.0 - tie) * gains.max(axis=1))


@pytest.mark.parametrize(
    ("gains", "expected"),
    [
        ([0.0, 0.0, 0.0, 0.0], 0),  # nothing gains: the largest weight
        ([0.1, 0.0, 0.3, 0.0], 2),
        ([0.28, 0.0, 0.3, 0.0], 0),  # near enough for the weight to decide
        ([0.0, 0.0, 0.29, 0.3], 2),
    ],
)
def test_near_ties_go_by_the_stock_weights(gains, expected):
    assert label(np.array([gains]), WEIGHTS, tie=0.1) == [expected]


def test_a_loss_and_a_failure_count_as_no_gain():
    samples = make_samples(programs=1, draws=2)
    mutants = np.array([[[0.9, 0.1], [np.nan, 0.5], [0.2, 0.2], [np.nan, np.nan]]], np.float32)
    samples = dataclasses.replace(
        samples, scores=np.array([0.4], np.float32), mutant_scores=mutants
    )
    assert expected_gains(samples)[0] == pytest.approx([0.5, 0.1, 0.0, 0.0], abs=1e-6)
