"""Settings and their declarations fit together."""

from __future__ import annotations

import dataclasses
import json

import pytest

from pytest_ansorbench.budget import Trials
from pytest_ansorbench.options import OPTIONS, Settings


def test_every_setting_has_one_option_and_every_option_its_setting():
    fields = [field.name for field in dataclasses.fields(Settings)]
    assert sorted(option.setting for option in OPTIONS) == sorted(fields)
    assert len({option.flag for option in OPTIONS}) == len(OPTIONS)


@pytest.mark.parametrize(
    ("trials", "per_round"), [(1, 1), (7, 1), (16, 2), (128, 16), (512, 64), (1000, 64)]
)
def test_a_round_is_64_or_an_eighth_of_a_smaller_budget(trials, per_round):
    assert Settings(trials=Trials(trials)).budget.a_round(1) == per_round
    assert Settings(trials=Trials(trials), round_trials=5).budget.a_round(1) == 5


def test_settings_are_json():
    settings = json.loads(json.dumps(Settings().to_json()))
    assert settings["storage"] == ".ansor_bench"
    assert settings["strategies"] == ["default", "optimized"]
