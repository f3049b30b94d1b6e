"""`benchmarks/draft_guess.py` on recorded landscapes."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ansorbench.landscapes.files import read_landscape
from tests.landscapes.recorded import LANDSCAPES


@pytest.fixture
def script(import_script):
    return import_script("draft_guess")


def shipped(family):
    [path] = LANDSCAPES.glob(f"{family}-*.json.gz")
    return read_landscape(path)


def test_a_guess_finds_better_programs_than_chance(script):
    case, correlation, at_random, by_guess = script.guessed(shipped("matmul"))
    assert case.startswith("matmul")
    assert 0.3 < correlation < 1.0
    assert at_random < by_guess <= 1.0


def test_an_operator_without_tiles_has_none(script):
    assert script.guessed(shipped("softmax")) is None


def test_ties_are_left_in_order(script):
    pool = np.arange(20)[::-1]
    guesses = np.where(np.arange(20) % 2 == 0, 1.0, 0.5)
    assert script.liked(pool, guesses).tolist() == [18, 16, 14, 12, 10, 8, 6, 4]
