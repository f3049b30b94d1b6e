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


def require_share(policy: object, name: str, example: float) -> None:
    """Refuse what is no share.

    Raises:
        ValueError: The parameter is outside of [0, 1]; the message names it and a good value.
    """
    value = getattr(policy, name)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"bad {name} {value}: expected a share from 0 to 1, e.g. {example}")
