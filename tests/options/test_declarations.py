"""Every setting has its option, declared once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from pytest_ansorbench.options import LIMIT_OPTIONS, OPTIONS, Settings, flag_of
from pytest_ansorbench.options.declarations import limit_options
from pytest_ansorbench.options.help import default_text, help_text
from pytest_ansorbench.options.settings import value_at
from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.limits import Limits

#: Records that one option sets as a whole.
WHOLE = {
    "budget.trials",
    "criteria.goal",
    "experiment.final_turns",
    "experiment.final_sets",
    "kernels.rounds",
}


def fields(record: object, prefix: str = "") -> Iterator[str]:
    """Paths of all fields that hold values."""
    for field in dataclasses.fields(record):  # type: ignore[arg-type]
        value, path = getattr(record, field.name), f"{prefix}{field.name}"
        if isinstance(value, Limits):
            yield from (f"{path}.{key}" for key, figure in FIGURES.items() if figure.limit)
        elif dataclasses.is_dataclass(value) and path not in WHOLE:
            yield from fields(value, f"{path}.")
        else:
            yield path


def test_every_field_has_one_option_and_every_option_its_field():
    derived = {"criteria.looks"}  # from the number of repeats
    given = set(fields(Settings())) - derived
    assert sorted(option.field for option in OPTIONS) == sorted(given)
    for names in ("flag", "ini", "keyword", "recorded"):
        assert len({getattr(option, names) for option in OPTIONS}) == len(OPTIONS), names


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.word)
def test_a_default_is_told_as_it_can_be_typed(option):
    default = value_at(Settings(), option.field)
    if option.default == "{}":
        assert option.parse(default_text(option)) == default
        assert help_text(option).endswith(f" (default: {default_text(option)})")
    elif option.default.startswith("{}"):
        assert option.parse(default_text(option).partition(",")[0]) == default
    else:
        assert default in (None, False, ())
        assert default_text(option) == option.default


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.word)
def test_no_default_is_typed_into_a_help_text(option):
    assert "default" not in option.help
    assert not option.default.strip("{}, ").isdecimal()


def test_flags_are_found_by_field():
    assert flag_of("engine.build_timeout_s") == "--ansor-build-timeout"
    assert flag_of("limits.search_ratio") == "--ansor-max-search-ratio"


def test_a_figure_with_a_limit_has_its_option():
    assert [option.field for option in LIMIT_OPTIONS] == [
        f"limits.{key}" for key, figure in FIGURES.items() if figure.limit
    ]
    limit = dataclasses.replace(FIGURES["search_ratio"].limit, word="max-search-ratio-trials")
    [option] = limit_options([dataclasses.replace(FIGURES["search_ratio_trials"], limit=limit)])
    assert option.flag == "--ansor-max-search-ratio-trials"
    assert (option.ini, option.recorded) == (
        "ansor_max_search_ratio_trials",
        "max_search_ratio_trials",
    )
    assert option.per_test
    assert help_text(option) == (
        "gate: fail if the search ratio S_trials is above this; none takes a marker's gate away "
        "(default: no gate)"
    )
