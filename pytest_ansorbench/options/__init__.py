"""Options, their ini twins and marker keywords, resolved into one frozen `Settings`."""

from pytest_ansorbench.options.command import command_line
from pytest_ansorbench.options.declarations import LIMIT_OPTIONS, OPTIONS, flag_of
from pytest_ansorbench.options.resolve import (
    SettingError,
    add_options,
    budget_refusal,
    is_given,
    resolve,
)
from pytest_ansorbench.options.settings import Settings

__all__ = [
    "LIMIT_OPTIONS",
    "OPTIONS",
    "SettingError",
    "Settings",
    "add_options",
    "budget_refusal",
    "command_line",
    "flag_of",
    "is_given",
    "resolve",
]
