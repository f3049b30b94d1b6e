"""Refusals: of a strategy, of an answer of its policies, of a policy's parameter."""

from __future__ import annotations

from collections.abc import Callable
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


def require_at_least(policy: object, name: str, least: int, example: int) -> None:
    value = getattr(policy, name)
    if value < least:
        raise ValueError(f"bad {name} {value}: expected at least {least}, e.g. {example}")


def require_positive(policy: object, name: str, example: float) -> None:
    value = getattr(policy, name)
    if not value > 0.0:
        raise ValueError(f"bad {name} {value}: expected a number above 0, e.g. {example}")


def require_share(policy: object, name: str, example: float) -> None:
    value = getattr(policy, name)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"bad {name} {value}: expected a share from 0 to 1, e.g. {example}")


def require_method(policy: object, name: str, method: str, example: str) -> None:
    """Refuse a policy that lacks its protocol's method, or a class in place of its instance."""
    value = getattr(policy, name)
    if isinstance(value, type) or not callable(getattr(value, method, None)):
        raise ValueError(
            f"bad {name} {value!r}: expected an object with a method {method}, e.g. {example}"
        )
