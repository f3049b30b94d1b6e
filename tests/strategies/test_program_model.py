"""The program model: its scale, its file."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.strategies import (
    POOLED,
    BadModel,
    load_program_model,
    log2_throughput,
)
from pytest_ansorbench.strategies.program_model import SHIPPED, WORST
from pytest_ansorbench.strategies.rule_model import SHIPPED as RULES


@given(st.lists(st.floats(1e-6, 10.0) | st.just(math.inf), min_size=1, max_size=20))
def test_labels_are_logarithms_of_shares_of_the_best(latencies_s):
    labels = log2_throughput(np.array(latencies_s))
    assert (labels >= WORST).all() and (labels <= 0.0).all()
    if math.isfinite(min(latencies_s)):
        assert labels[np.argmin(latencies_s)] == 0.0
        halved = log2_throughput(np.array(latencies_s) / 2.0)
        np.testing.assert_allclose(labels, halved, atol=1e-9)
    else:
        assert (labels == WORST).all()


def test_twice_the_latency_is_one_less():
    labels = log2_throughput(np.array([1e-3, 2e-3, 4e-3, 1.0, math.inf]))
    assert labels.tolist() == [0.0, -1.0, -2.0, WORST, WORST]


def test_the_shipped_model_predicts_and_survives_its_file(tmp_path):
    model = load_program_model()
    rows = np.random.default_rng(0).random((5, POOLED)).astype(np.float32)
    model.save(tmp_path / "copy.ubj")
    np.testing.assert_array_equal(
        model.predict(rows), load_program_model(tmp_path / "copy.ubj").predict(rows)
    )
    assert SHIPPED.stat().st_size < 3e6


def test_a_model_of_another_kind_is_refused():
    message = f"bad program model {RULES}: expected one that predicts the log2 of throughput"
    with pytest.raises(BadModel, match=re.escape(message)):
        load_program_model(RULES)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BadModel, match="expected a file that ansor-bench train-draft wrote"):
        load_program_model(tmp_path / "missing.ubj")
