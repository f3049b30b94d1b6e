"""Settings are composed of the records that their parts need."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_ansorbench.budget import UNLIMITED_TRIALS, Budget, Trials
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.measure.toolchain import Toolchain
from pytest_ansorbench.options.settings import Settings, value_at
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.limits import Allowance, Limits
from pytest_ansorbench.stats.looks import USUAL

#: As result files record them, in this order; readers of older results rely on the names.
RECORDED = {
    "strategies": ["default", "optimized"],
    "cases": [],
    "shard": None,
    "shard_by": None,
    "trials": 128,
    "run_time_s": None,
    "round_trials": None,
    "scheduler": "gradient",
    "repeats": "5+10",
    "time_limit_s": None,
    "seed": 0,
    "noise_check_s": 2.0,
    "roofline": False,
    "reference_kernels": [],
    "target": None,
    "rpc": None,
    "rpc_server": None,
    "linker": None,
    "rpc_wait_s": 60.0,
    "cluster": None,
    "cluster_wait_s": 60.0,
    "build_workers": None,
    "build_timeout_s": 30.0,
    "run_timeout_s": 30.0,
    "memory_limit_mb": 4096,
    "check": "winners",
    "caches": None,
    "flush_cache_mb": 0,
    "cores": None,
    "final_precision": 0.005,
    "final_turns": "15:60",
    "final_sets": "4:8",
    "final_samples": None,
    "goal": "way:60%",
    "tolerance": 0.01,
    "progress": "confirmed",
    "confidence": 0.95,
    "noise": 0.01,
    "false_alarms": 0.01,
    "max_early_search_ratio": None,
    "min_throughput_ratio": None,
    "min_over_torch": None,
    "min_over_torch_compile": None,
    "min_over_onnxruntime": None,
    "min_over_openvino": None,
    "min_over_numpy": None,
    "max_suite_search_ratio": None,
    "max_suite_early_search_ratio": None,
    "min_suite_throughput_ratio": None,
    "control": False,
    "strict": False,
    "columns": None,
    "sort": None,
    "group_by": None,
    "time_unit": "auto",
    "benchmark": False,
    "json": None,
    "report": [],
    "save": None,
    "autosave": False,
    "storage": ".ansor_bench",
    "learn": None,
    "compare": None,
    "compare_fail": [],
    "any_machine": False,
    "resume": None,
    "replay": [],
    "reference": None,
    "toolchains": [],
    "kernels": None,
    "against": None,
    "variants": [],
    "kernel_sets": "auto",
    "debug": False,
}


@pytest.mark.parametrize(
    ("trials", "per_round"), [(1, 1), (7, 1), (16, 2), (128, 16), (512, 64), (1000, 64)]
)
def test_a_round_is_64_or_an_eighth_of_a_smaller_budget(trials, per_round):
    settings = Settings.of({"budget.trials": Trials(trials)})
    assert settings.budget.a_round(1) == per_round
    settings = Settings.of({"budget.trials": Trials(trials), "budget.round_trials": 5})
    assert settings.budget.a_round(1) == 5


@pytest.mark.parametrize(
    ("given", "trials"), [({}, UNLIMITED_TRIALS), ({"budget.trials": Trials(128)}, 128)]
)
def test_trials_end_a_run_with_a_run_time_only_if_they_are_given(given, trials):
    budget = Settings.of({"budget.run_time_s": 60.0, **given}).budget
    assert budget == Budget(Trials(trials), run_time_s=60.0)


def test_without_values_all_records_have_their_own_defaults():
    settings = Settings.of({})
    assert settings == Settings()
    assert settings.budget == Budget()
    assert settings.engine == EngineSettings()
    assert settings.criteria == Criteria(looks=USUAL)
    assert settings.limits == Limits()


def test_values_reach_the_records_that_have_them():
    settings = Settings.of(
        {
            "strategies": ("a", "b"),
            "engine.build_timeout_s": 5.0,
            "criteria.noise": 0.02,
            "criteria.goal": Goal(0.5, 0.5),
            "limits.throughput_ratio": 0.98,
            "limits.search_ratio_early": 0.75,
        }
    )
    assert settings.strategies == ("a", "b")
    assert settings.engine == EngineSettings(build_timeout_s=5.0)
    assert settings.criteria == Criteria(goal=Goal(0.5, 0.5), noise=0.02, looks=USUAL)
    assert settings.limits == {"search_ratio_early": 0.75, "throughput_ratio": 0.98}
    assert value_at(settings, "engine.build_timeout_s") == 5.0
    assert value_at(settings, "limits.search_ratio_early") == 0.75
    assert value_at(Settings(), "limits.search_ratio_early") is None


@pytest.mark.parametrize(
    ("values", "effort"),
    [
        ({}, SideBySide()),
        ({"experiment.final_precision": 0.0}, SideBySide(precision=0.0)),
        ({"experiment.final_turns": Span(2, 4)}, SideBySide(turns=Span(2, 4))),
        ({"experiment.final_sets": Span(1, 1)}, SideBySide(sets=Span(1, 1))),
        ({"experiment.final_samples": 7}, SideBySide.of_samples(7)),
    ],
)
def test_winners_are_measured_as_the_settings_say(values, effort):
    assert Settings.of(values).experiment.final == effort


def test_recorded_settings_are_flat_and_keep_their_names_and_order():
    recorded = json.loads(json.dumps(Settings().to_json()))
    assert list(recorded.items()) == list(RECORDED.items())


def test_recorded_values_are_as_users_type_them():
    recorded = Settings.of(
        {
            "budget.trials": Trials(16, per_task=True),
            "criteria.goal": Goal(0.9, 0.9),
            "limits.search_ratio_early": 0.75,
            "baseline.compare_fail": (Allowance("search_ratio_early", 0.05),),
            "engine.cores": (0, 1),
            "experiment.final_turns": Span(2, 4),
            "replay": (Path("a/b.json"),),
            # A path would name a machine or its user.
            "toolchains": (Toolchain("old", python="/home/me/python"),),
        }
    ).to_json()
    assert recorded["trials"] == "16/task"
    assert recorded["goal"] == "90%"
    assert recorded["max_early_search_ratio"] == 0.75
    assert recorded["compare_fail"] == ["search_ratio_early:5%"]
    assert recorded["cores"] == [0, 1]
    assert recorded["final_turns"] == "2:4"
    assert recorded["replay"] == ["a/b.json"]
    assert recorded["toolchains"] == ["old"]


def test_of_two_allowances_of_a_figure_the_last_counts():
    words = ("search_time:5%", "throughput:3%", "search_time:9%")
    settings = Settings.of({"baseline.compare_fail": tuple(map(Allowance.parse, words))})
    assert sorted(map(str, settings.baseline.allowances)) == ["search_time:9%", "throughput:3%"]
