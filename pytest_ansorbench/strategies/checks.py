"""Refusals that the parameters of several policies share."""

from __future__ import annotations


def require_at_least(policy: object, name: str, least: int, example: int) -> None:
    """Refuse a count that is too small.

    Raises:
        ValueError: The parameter is below `least`; the message names it and a good value.
    """
    value = getattr(policy, name)
    if value < least:
        raise ValueError(f"bad {name} {value}: expected at least {least}, e.g. {example}")


def require_positive(policy: object, name: str, example: float) -> None:
    """Refuse a number that is not above 0.

    Raises:
        ValueError: The parameter is 0 or less; the message names it and a good value.
    """
    value = getattr(policy, name)
    if not value > 0.0:
        raise ValueError(f"bad {name} {value}: expected a number above 0, e.g. {example}")


def require_share(policy: object, name: str, example: float) -> None:
    """Refuse a number that is no share.

    Raises:
        ValueError: The parameter is outside of [0, 1]; the message names it and a good value.
    """
    value = getattr(policy, name)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"bad {name} {value}: expected a share from 0 to 1, e.g. {example}")


def require_method(policy: object, name: str, method: str, example: str) -> None:
    """Refuse a policy that lacks its protocol's method, or a class in place of its instance.

    Raises:
        ValueError: The parameter has no such method; the message names it and a good value.
    """
    value = getattr(policy, name)
    if isinstance(value, type) or not callable(getattr(value, method, None)):
        raise ValueError(
            f"bad {name} {value!r}: expected an object with a method {method}, e.g. {example}"
        )
