"""Every setting has its option, declared once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from pytest_ansorbench.measure.settings import DEFAULT_CACHES, FLUSH_CACHE_MB
from pytest_ansorbench.options.declarations import (
    LIMIT_OPTIONS,
    OPTIONS,
    limit_options,
    option_of,
)
from pytest_ansorbench.options.settings import Settings, value_at
from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.tuning.settings import settings_of

#: Records that one option sets as a whole.
WHOLE = {
    "budget.trials",
    "criteria.goal",
    "criteria.looks",
    "experiment.repeats",
    "experiment.final_turns",
    "experiment.final_sets",
    "kernels.sets",
}


def fields(record: object, prefix: str = "") -> Iterator[str]:
    """Paths of all fields that hold values."""
    for field in dataclasses.fields(record):  # type: ignore[arg-type]
        value, path = getattr(record, field.name), f"{prefix}{field.name}"
        if isinstance(value, Limits):
            limited = {key: one for key, one in FIGURES.items() if one.limit_word}
            suite = path == "suite_limits"
            yield from (
                f"{path}.{key}"
                for key, one in limited.items()
                if (one.over_cases if suite else one.per_case)
            )
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


def test_a_default_is_told_as_users_type_it_and_is_that_of_the_record():
    for option in OPTIONS:
        default = value_at(Settings(), option.field)
        if default in (None, False, ()):
            continue
        told = option.default if isinstance(default, tuple) else option.default.partition(",")[0]
        assert option.parse(told) == default, option.flag
        assert option.help_text.endswith(f" (default: {option.default})")


def test_defaults_that_depend_on_others_are_those_of_engine_and_tuning():
    assert option_of("engine.caches").default.startswith(f"{DEFAULT_CACHES}, or ")
    assert f", or {FLUSH_CACHE_MB} " in option_of("engine.flush_cache_mb").default
    tuning = settings_of({}).experiment.scheduler
    assert f", or {tuning} for ansor-bench tune" in option_of("experiment.scheduler").default


def test_no_default_is_typed_into_a_help_text():
    for option in OPTIONS:
        assert "default" not in option.help, option.flag


def test_a_figure_with_a_limit_has_its_option():
    assert [option.field for option in LIMIT_OPTIONS] == [
        f"limits.{key}" for key, one in FIGURES.items() if one.limit_word and one.per_case
    ]
    figure = dataclasses.replace(
        FIGURES["search_ratio_trials"], limit_word="max-search-ratio-trials", per_case=True
    )
    [option] = limit_options([figure])
    assert option.flag == "--ansor-max-search-ratio-trials"
    assert (option.ini, option.recorded) == (
        "ansor_max_search_ratio_trials",
        "max_search_ratio_trials",
    )
    assert option.per_test
    assert option.help_text == (
        "gate: fail if the search ratio S_trials is above this; none takes a marker's gate away "
        "(default: no gate)"
    )


@pytest.mark.parametrize(
    ("field", "least"),
    [
        ("budget.round_trials", 1),
        ("experiment.seed", 0),
        ("experiment.final_samples", 1),
        ("engine.build_workers", 1),
        ("engine.memory_limit_mb", 1),
        ("engine.flush_cache_mb", 0),
    ],
)
def test_whole_numbers_have_a_least(field, least):
    option = option_of(field)
    assert option.parse(str(least)) == least
    with pytest.raises(ValueError, match=f"expected a whole number of at least {least}, e.g. "):
        option.parse(str(least - 1))
