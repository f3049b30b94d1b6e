"""Errors said in pytest's own way, and what mends failures of kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

from pytest_ansorbench.options.declarations import flag_of, option_of
from pytest_ansorbench.stats.failures import Cause
from pytest_ansorbench.storage import StorageError

T = TypeVar("T")

LATE: Final = (
    "ansor_bench was asked for while the test ran, when gates were counted and tests shared out "
    "already; name it among the test's arguments, or mark the test with "
    "@pytest.mark.usefixtures('ansor_bench')"
)
"""Why a test that nobody knew of cannot be judged."""

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
