"""Shipped cases of any shape by what defines them: the name of a family, and its fields.

A definition is JSON and names no module: what a file says of a case is looked up in a table of
families, and checked as the constructor of the family checks it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, Final

from pytest_ansorbench.workloads.case import Case
from pytest_ansorbench.workloads.catalogue import CASES, UnknownCase, get

FAMILIES: Final[Mapping[str, type[Any]]] = MappingProxyType(
    {type(case).__name__: type(case) for case in CASES}
)
"""Every class of shipped cases, by its name."""


class BadDefinition(ValueError):
    """A definition that no shipped case has; the message says what is wrong with it."""


def definition_of(case: object) -> dict[str, Any] | None:
    """The definition of a case of a shipped family, e.g. of a product of any size; else None."""
    kind = type(case)
    if FAMILIES.get(kind.__name__) is not kind:
        return None
    values = {one.name: getattr(case, one.name) for one in fields(kind)}
    return {
        "family": kind.__name__,
        "fields": {
            name: [*value] if isinstance(value, tuple) else value for name, value in values.items()
        },
    }


def shipped(name: str, definition: Mapping[str, Any] | None) -> Case | None:
    """The shipped case that a file means, of whatever shape; None if it means another.

    Args:
        name: Its id.
        definition: What the file says of it; None in older files, which mean one by its id.
    """
    try:
        case = get(name) if definition is None else made(definition)
    except (BadDefinition, UnknownCase):
        return None
    return case if case.id == name else None


def made(definition: Mapping[str, Any]) -> Case:
    """The case that a definition is of.

    Raises:
        BadDefinition: There is no such family here, or its fields are others.
    """
    family, given = definition.get("family"), definition.get("fields")
    kind = FAMILIES.get(family) if isinstance(family, str) else None
    if kind is None:
        raise BadDefinition(f"bad family {family!r}: expected one of {', '.join(sorted(FAMILIES))}")
    if not isinstance(given, Mapping) or not all(map(_is_plain, given.values())):
        raise BadDefinition(f"bad fields {given!r} of {family}: expected numbers and texts by name")
    values = {name: tuple(one) if isinstance(one, list) else one for name, one in given.items()}
    try:
        case: Case = kind(**values)
        case.id  # noqa: B018 (what is no shape has none)
    except (TypeError, ValueError) as error:
        raise BadDefinition(f"bad fields {dict(given)} of {family}: {error}") from None
    return case


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return all(type(one) in (int, str) for one in value)
    return value is None or type(value) in (int, str, bool)
