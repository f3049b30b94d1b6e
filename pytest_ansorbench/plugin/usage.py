"""From an error with a clear message to pytest's own way of saying it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

T = TypeVar("T")


def usage(call: Callable[..., T], *args: Any) -> T:
    """Call a function, with a bad setting or strategy turned into pytest's usage error."""
    try:
        return call(*args)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


def failure(message: str) -> BaseException:
    """A test's failure that is shown as its message alone; raise it `from None`."""
    return pytest.fail.Exception(message, pytrace=False)
