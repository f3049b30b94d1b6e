"""How `benchmarks/rank_accuracy.py` judges a model."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def script(import_script):
    """The command."""
    return import_script("rank_accuracy")


def test_the_right_order_is_the_best_there_is(script):
    gflops = np.random.default_rng(0).random(100)
    assert script.accuracy(np.exp(gflops), gflops) == pytest.approx((1.0, 1.0))
    assert script.accuracy(-gflops, gflops) == pytest.approx((-1.0, 0.0))


def test_models_are_judged_by_programs_that_they_have_not_seen(script, landscape, monkeypatch):
    recorded = script.Recorded.of(landscape, 15)
    assert len({one.fingerprint for one in recorded.programs}) == len(recorded.points) == 15
    assert recorded.gflops.shape == (15,) and recorded.gflops.min() > 0.0
    names = ("trees, rank", "MetaSchedule's trees")
    few = [row for row in script.ROWS if row[0] in names and row[1] in ("relations", "all stores")]
    assert len(few) == 2
    monkeypatch.setattr(script, "ROWS", few)
    monkeypatch.setattr(script, "TRAINED_ON", (10,))
    # Fewer than are to be judged by, as some landscapes have.
    monkeypatch.setattr(script, "JUDGED_BY", 50)
    scores = script.scored(recorded, "relations", few[0][2], 10)
    assert scores.shape == (5,)
    found = script.figures(recorded)
    assert np.shape(found) == (len(few), 1, 2) and np.isfinite(found).all()
    assert found == script.figures(recorded)
    assert script.table([found]).count("\n") == len(few) + 1
