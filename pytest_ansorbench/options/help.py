"""Help texts of options, with defaults filled in from the records that have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_ansorbench.options.declarations import Option
from pytest_ansorbench.options.settings import Settings, value_at


def default_text(option: Option) -> str:
    """The default as a user would type it, or in words; empty if there is nothing to say of it."""
    return option.default.format(_typed(value_at(Settings(), option.field)))


def help_text(option: Option) -> str:
    """The help text of an option, with its default."""
    default = default_text(option)
    return f"{option.help} (default: {default})" if default else option.help


def _typed(value: Any) -> str:
    if isinstance(value, Path):
        return value.as_posix()
    if isinstance(value, float):
        return f"{value:g}"
    return ",".join(map(_typed, value)) if isinstance(value, tuple) else str(value)
