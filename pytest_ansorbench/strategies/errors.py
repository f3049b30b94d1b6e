"""Errors that speak of strategies, and what else is known of an error in a strategy's own code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class StrategyError(ValueError):
    """A strategy that cannot be used; the message is one sentence that says why."""


class BadAnswer(StrategyError):
    """A method of a policy returned something that its protocol does not allow.

    Attributes:
        method: The method, so that a report can point at its definition.
    """

    def __init__(self, method: Callable[..., Any], message: str) -> None:
        super().__init__(message)
        self.method = method


@contextmanager
def noting(circumstance: str) -> Iterator[None]:
    """Add a note (PEP 678) to any error that leaves the block.

    Args:
        circumstance: What the block does, e.g. `while asking strategy 'mine' for candidates`.
    """
    try:
        yield
    except Exception as error:
        # Before Python 3.11 exceptions have no `add_note`.
        vars(error).setdefault("__notes__", []).append(circumstance)
        raise
