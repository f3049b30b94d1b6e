"""Refusals: of a strategy, of an answer of its policies, of a policy's parameter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def require_at_least(policy: object, least: float, *names: str) -> None:
    _require(policy, names, lambda value: value >= least, f"at least {least}")


def require_positive(policy: object, *names: str) -> None:
    _require(policy, names, lambda value: value > 0.0, "a number above 0")


def require_share(policy: object, *names: str) -> None:
    _require(policy, names, lambda value: 0.0 <= value <= 1.0, "a share from 0 to 1")


def require_choice(policy: object, name: str, choices: Sequence[str]) -> None:
    if (value := getattr(policy, name)) not in choices:
        raise ValueError(f"bad {name} {value!r}: expected {' or '.join(choices)}")


def require_method(policy: object, name: str, *methods: str, example: str) -> None:
    """Refuse a policy that lacks its protocol's methods, or a class in place of its instance."""
    value = getattr(policy, name)
    for method in methods:
        if isinstance(value, type) or not callable(getattr(value, method, None)):
            raise ValueError(
                f"bad {name} {value!r}: expected an object with a method {method}, e.g. {example}"
            )


def require_kind_or_none(policy: object, **kinds: type) -> None:
    """Refuse a parameter that is neither of its kind nor None."""
    for name, kind in kinds.items():
        if not isinstance(value := getattr(policy, name), kind | None):
            raise ValueError(f"bad {name} {value!r}: expected {kind.__name__}() or None")


def _require(
    policy: object, names: Sequence[str], holds: Callable[[float], bool], expected: str
) -> None:
    """Refuse a parameter, with its default as an example of a good one."""
    for name in names:
        value, example = getattr(policy, name), getattr(type(policy), name)
        if not holds(value):
            raise ValueError(f"bad {name} {value}: expected {expected}, e.g. {example}")
