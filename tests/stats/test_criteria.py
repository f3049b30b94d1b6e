"""The criteria of judging, and where they come from."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from pytest_ansorbench.options.settings import Settings
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.looks import USUAL


def test_recorded_settings_give_the_criteria_back() -> None:
    criteria = Criteria(Goal(0.9, 0.9), 0.02, 0.9, 0.03, 0.05)
    recorded = Settings.of({"experiment.repeats": 5}).to_json()
    assert Criteria.from_settings(recorded) == Criteria()
    recorded = Settings(criteria=criteria).to_json()
    assert Criteria.from_settings(recorded) == dataclasses.replace(criteria, looks=USUAL)
    assert Criteria.from_settings(Settings().to_json()) == Settings().criteria


def test_what_an_older_result_did_not_record_is_todays_default() -> None:
    assert Criteria.from_settings({"tolerance": 0, "confidence": 0.5}) == Criteria(
        tolerance=0.0, confidence=0.5
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"tolerance": "1%"},
        {"tolerance": 1.0},
        {"tolerance": -0.01},
        {"confidence": 95},
        {"confidence": 0.0},
        {"noise": -0.1},
        {"noise": True},
        {"noise": math.nan},
        {"noise": 10**400},
        {"progress": []},
        {"false_alarms": 0.0},
        {"goal": "best"},
    ],
)
def test_what_does_not_fit_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        Criteria.from_settings(settings)
