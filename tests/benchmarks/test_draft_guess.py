"""`benchmarks/draft_guess.py` on recorded landscapes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import draft_guess

    yield draft_guess
    for name in ("draft_ablations", "draft_surrogate", "draft_guess"):
        sys.modules.pop(name)


def test_a_guess_finds_better_programs_than_chance(script):
    [path] = script.LANDSCAPES.glob("matmul*.json.gz")
    case, correlation, at_random, by_guess = script.guessed(path, 300)
    assert case.startswith("matmul")
    assert 0.3 < correlation < 1.0
    assert at_random < by_guess <= 1.0


def test_an_operator_without_tiles_has_none(script):
    [path] = script.LANDSCAPES.glob("softmax*.json.gz")
    assert script.guessed(path, 10) is None


def test_ties_are_left_in_order(script):
    pool = np.arange(20)[::-1]
    guesses = np.where(np.arange(20) % 2 == 0, 1.0, 0.5)
    assert script.liked(pool, guesses).tolist() == [18, 16, 14, 12, 10, 8, 6, 4]
