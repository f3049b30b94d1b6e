"""Command line, marker and ini file, brought together into `Settings`.

The command line beats the marker, the marker beats the ini file, the ini file beats the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest

from pytest_ansorbench.budget import BudgetError
from pytest_ansorbench.measure.settings import CachesError
from pytest_ansorbench.options.declarations import OPTIONS, Option, option_of
from pytest_ansorbench.options.refusals import in_options
from pytest_ansorbench.options.settings import Settings

_BY_KEYWORD: Final = {option.keyword: option for option in OPTIONS if option.per_test}


class SettingError(ValueError):
    """A value that an option does not take; the message names it and shows a good one."""


def resolve(config: pytest.Config, marker: Mapping[str, Any] | None = None) -> Settings:
    """Settings of the session, or of one test if its marker's keywords are given.

    Raises:
        SettingError: A value is not accepted, a marker keyword is unknown, or the budget is
            smaller than a round, or two values contradict each other.
    """
    marker = marker or {}
    for keyword in marker:
        if keyword not in _BY_KEYWORD:
            raise SettingError(
                f"bad marker keyword {keyword!r}: expected some of {', '.join(_BY_KEYWORD)}, "
                "e.g. ansor_bench(trials=1000)"
            )
    values: dict[str, Any] = {}
    for option in OPTIONS:
        source, value = _given(config, marker, option)
        if value is not None:
            values[option.field] = _parsed(option, source, value)
    try:
        settings = Settings.of(values)
        settings.budget.check(tasks=1)
    except (BudgetError, CachesError) as error:
        raise SettingError(in_options(error)) from None
    return settings


def is_given(config: pytest.Config, marker: Mapping[str, Any], field: str) -> bool:
    """Whether a field is set on the command line, in the marker or in the ini file."""
    return _given(config, marker, option_of(field))[1] is not None


def is_on_command_line(config: pytest.Config, field: str) -> bool:
    """Whether a field is set on the command line, to `none` included."""
    return config.getoption(option_of(field).ini) is not None


def _given(config: pytest.Config, marker: Mapping[str, Any], option: Option) -> tuple[str, object]:
    """Where the value in force comes from, and that value; None if it is not set."""
    value = config.getoption(option.ini)
    if value is not None:
        return option.flag, value
    if option.per_test and marker.get(option.keyword) is not None:
        return f"marker keyword {option.keyword}", marker[option.keyword]
    value = config.getini(option.ini)
    if option.repeatable and isinstance(value, str):
        lines = [*filter(None, map(str.strip, value.split("\n")))]
        value = lines if len(lines) > 1 else "".join(lines)
    return f"ini option {option.ini}", value if value != "" else None


def _parsed(option: Option, source: str, value: object) -> Any:
    try:
        return option.parse(value)
    except ValueError as error:
        message = str(error)
        if not message.startswith("bad "):
            message = f"bad {source} {value!r}: {message}"
        raise SettingError(message) from None
