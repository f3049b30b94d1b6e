"""What the fields of an operator may be, and how a bad one is reported."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any, ClassVar


class BadShape(ValueError):
    """An operator cannot have this shape; the message names the field and what it was given."""

    def __init__(self, field: str, value: object, expected: str, example: object) -> None:
        super().__init__(f"bad {field} {value!r}: expected {expected}, e.g. {example}")


class Shaped:
    """A dataclass whose whole numbers are all at least 1; `padding` may be 0."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if not re.search(r"\bint\b", str(field.type)):
                continue
            value = getattr(self, field.name)
            least = 0 if field.name == "padding" else 1
            for number in value if isinstance(value, tuple) else (value,):
                if not isinstance(number, int) or isinstance(number, bool) or number < least:
                    expected = "a positive int" if least else "an int of at least 0"
                    raise BadShape(field.name, number, expected, 1)


def require_one_of(field: str, value: object, choices: Sequence[str]) -> None:
    """Check that a field is one of the strings that it may be."""
    if not isinstance(value, str) or value not in choices:
        raise BadShape(field, value, f"one of {', '.join(choices)}", choices[0])


def require_divisor(field: str, value: int, **multiples: int) -> None:
    """Check that a positive `value` divides each of `multiples`."""
    if all(multiple % value == 0 for multiple in multiples.values()):
        return
    expected = "a divisor of " + " and ".join(f"{name} {m}" for name, m in multiples.items())
    below = range(min(value, *multiples.values()), 0, -1)
    example = next(d for d in below if all(multiple % d == 0 for multiple in multiples.values()))
    raise BadShape(field, value, expected, example)


def require_multiple(of: int, **fields: int) -> None:
    """Check that every field is a multiple of a number."""
    for name, value in fields.items():
        if value % of:
            raise BadShape(name, value, f"a multiple of {of}", max(value - value % of, of))


def require_bool(**fields: object) -> None:
    """Check that every field is a bool."""
    for name, value in fields.items():
        if not isinstance(value, bool):
            raise BadShape(name, value, "a bool", True)
