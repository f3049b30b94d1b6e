"""Errors of the layers below, said in pytest's own way and with the options that they are about.

Those layers know no options: they raise the facts, and the plugin names the cure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

from pytest_ansorbench.budget import BudgetError
from pytest_ansorbench.environment import MisfitError
from pytest_ansorbench.options.declarations import flag_of, option_of
from pytest_ansorbench.options.resolve import budget_refusal
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.stats.failures import Cause
from pytest_ansorbench.storage import MissingResultError, StorageError, UnwritableError

T = TypeVar("T")

LATE: Final = (
    "ansor_bench was asked for while the test ran, when gates were counted and tests shared out "
    "already; name it among the test's arguments, or mark the test with "
    "@pytest.mark.usefixtures('ansor_bench')"
)
"""Why a test that nobody knew of cannot be judged."""

_FIELDS: Final = {
    "target": "target",
    "cores": "engine.cores",
    "linker": "remote.linker",
    "variant": "kernels.variants",
}
"""Fields of the settings that the environment may have to refuse."""

_LIMITS: Final[Mapping[str, str]] = {
    "build-timeout": "engine.build_timeout_s",
    "run-timeout": "engine.run_timeout_s",
}
_SHORT_OF_MEMORY: Final = (
    *("llocation failed", "bad_alloc", "MemoryError"),
    *("Cannot allocate memory", "Resource temporarily unavailable"),
)
"""What LLVM, C++, Python and the operating system call it."""


def usage(call: Callable[..., T], *args: Any) -> T:
    """Call a function, with a bad setting or strategy turned into pytest's usage error."""
    try:
        return call(*args)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


def failure(message: str) -> BaseException:
    """A test's failure that is shown as its message alone; raise it `from None`."""
    return pytest.fail.Exception(message, pytrace=False)


def passed_over(notes: list[str]) -> Callable[[Path, StorageError], None]:
    """Notes of a file that a session goes past why it cannot be read."""
    return lambda path, error: notes.append(f"passed over: {error}")


def in_options(error: Exception) -> str:
    """An error's message, with the options that cause and mend it."""
    if isinstance(error, BudgetError):
        return budget_refusal(error)
    if isinstance(error, MisfitError):
        flag = flag_of(_FIELDS[error.setting])
        return f"bad {flag} {error.value!r}: {error.problem}"
    if isinstance(error, ResumeError):
        flag = flag_of("resume")
        return f"bad {flag}: {error}; give the same settings, or start anew without {flag}"
    if isinstance(error, MissingResultError):
        json, save = flag_of("files.json"), flag_of("files.save")
        return f"{error}; {json} and {save} write one"
    if isinstance(error, UnwritableError):
        return f"{error}; see {flag_of('files.storage')}"
    return str(error)


def cure(cause: Cause, settings: Mapping[str, Any]) -> str:
    """The option, with its recorded value, that failures of all kernels speak of; or nothing."""
    if "SIGILL" in cause.error:
        flag, value = flag_of("target"), settings.get("target")
        return f"the CPU lacks instructions of {flag} {value!r}" if value else ""
    short_of_memory = any(word in cause.error for word in _SHORT_OF_MEMORY)
    field = "engine.memory_limit_mb" if short_of_memory else _LIMITS.get(cause.status)
    if field is None:
        return ""
    option = option_of(field)
    value = settings.get(option.recorded)
    if value is None:
        return ""
    more = max(float(option.default), 2.0 * value)
    return f"{option.flag} is {value:g}: give more, e.g. {option.flag} {more:g}"
