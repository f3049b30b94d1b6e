"""The command that runs a recorded session again."""

from __future__ import annotations

import shlex

from pytest_ansorbench.budget import Trials
from pytest_ansorbench.measure.toolchain import Toolchain
from pytest_ansorbench.options.settings import Settings, command_line


def words(**values: object) -> list[str]:
    """The options of a session with these fields, a dot in a name written as two underscores."""
    settings = Settings.of({name.replace("__", "."): value for name, value in values.items()})
    return shlex.split(command_line(settings.to_json()))[2:]


def test_defaults_are_left_out() -> None:
    assert command_line(Settings().to_json()) == "pytest --ansor-bench"


def test_values_are_written_as_they_are_given() -> None:
    assert words(strategies=("default", "draft"), control=True, cases=("a b",)) == [
        *("--ansor-strategy", "default,draft", "--ansor-case", "a b", "--ansor-control"),
    ]


def test_limits_and_goals_are_options_too() -> None:
    assert words(limits__search_ratio_early=0.75) == ["--ansor-max-early-search-ratio", "0.75"]


def test_where_results_went_is_nobodys_business() -> None:
    assert words(files__save="main", baseline__compare="0001", resume="0002") == []


def test_an_interpreter_is_left_to_whoever_runs_it_again() -> None:
    old = Toolchain.parse_interpreter("old=.venv-old/bin/python")
    assert words(toolchains=(old,)) == ["--ansor-toolchain", "old=PYTHON"]


def test_keys_of_other_versions_are_left_out() -> None:
    assert (
        command_line({"trials": 64, "telepathy": True}) == "pytest --ansor-bench --ansor-trials 64"
    )


def test_a_run_time_is_written_with_the_trials_that_it_goes_with() -> None:
    assert words(budget__run_time_s=60.0) == ["--ansor-run-time", "60.0"]
    assert words(budget__run_time_s=60.0, budget__trials=Trials(128)) == [
        *("--ansor-trials", "128", "--ansor-run-time", "60.0"),
    ]
