"""What the fields of an operator may be, and how a bad one is reported."""

from __future__ import annotations


class BadShape(ValueError):
    """An operator cannot have this shape.

    Attributes:
        field: The offending field.
        value: What it was given.
    """

    def __init__(self, field: str, value: object, expected: str, example: object) -> None:
        super().__init__(f"bad {field} {value!r}: expected {expected}, e.g. {example}")
        self.field = field
        self.value = value


def require_positive(**fields: int) -> None:
    """Check that every field is an int of at least 1."""
    for name, value in fields.items():
        if not _is_int(value) or value < 1:
            raise BadShape(name, value, "a positive int", 1)


def require_not_negative(**fields: int) -> None:
    """Check that every field is an int of at least 0."""
    for name, value in fields.items():
        if not _is_int(value) or value < 0:
            raise BadShape(name, value, "an int of at least 0", 1)


def require_divisor(field: str, value: int, **multiples: int) -> None:
    """Check that a positive `value` divides each of `multiples`."""
    if all(multiple % value == 0 for multiple in multiples.values()):
        return
    expected = "a divisor of " + " and ".join(f"{name} {m}" for name, m in multiples.items())
    below = range(min(value, *multiples.values()), 0, -1)
    example = next(d for d in below if all(multiple % d == 0 for multiple in multiples.values()))
    raise BadShape(field, value, expected, example)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
