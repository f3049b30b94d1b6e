"""The command line that runs a recorded session again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pytest_ansorbench.options.declarations import OPTIONS, Option
from pytest_ansorbench.options.settings import Settings

_OF_THE_SESSION: Final = ("files.", "baseline.", "table.", "kernels.", "resume", "replay")
"""Fields that say where results go and how they look, or that another session began."""


def command_line(settings: Mapping[str, Any]) -> str:
    """The command that runs a session again with its settings.

    Args:
        settings: As a result records them. Keys that no option has are left out, as those of
            older versions.

    Returns:
        A line for a POSIX shell, with the options whose values are not the defaults.
    """
    words = ["pytest", "--ansor-bench"]
    defaults = Settings().to_json()
    for option in OPTIONS:
        if option.field.startswith(_OF_THE_SESSION) or option.recorded not in settings:
            continue
        value = settings[option.recorded]
        if value != defaults[option.recorded]:
            words += _words(option, value)
    return shlex.join(words)


def _words(option: Option, value: Any) -> Iterator[str]:
    if option.metavar is None:
        if value:
            yield option.flag
        return
    values = value if option.repeatable and isinstance(value, list) else [value]
    for one in values:
        yield option.flag
        if isinstance(one, list):
            yield ",".join(map(str, one))
        else:
            yield "none" if one is None else str(one)
