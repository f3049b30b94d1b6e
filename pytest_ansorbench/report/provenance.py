"""What a result rests on: settings, machines, commit, and the command that reproduces it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pytest_ansorbench.records import Result
from pytest_ansorbench.report.cells import Cell, Setting
from pytest_ansorbench.report.sections import Code, Column, Lines, Section, Table

_COLUMNS: Final = (Column("name", "name", kind="words"), Column("value", "value", kind="words"))


def provenance(result: Result, command: str) -> Section:
    """Tell what a result rests on, the command that reproduces it, if one does, first."""
    blocks: list[Lines | Table] = [*_table("settings", result.settings)]
    for fingerprint, machine in result.machines.items():
        blocks += _table(f"machine {fingerprint}", machine)
    blocks += _table("commit", result.commit)
    if (shards := result.shards) is not None:
        missing = [shard.index for shard in shards.missing]
        parts = {"count": shards.count, "there": [*shards.there], "missing": missing}
        blocks += _table("shards", parts)
    how = (Code("to reproduce", command, "sh"),) if command else ()
    return Section("provenance", (*how, *blocks))


def _table(heading: str, values: Mapping[str, Any]) -> tuple[Lines, Table]:
    return Lines((heading,)), Table.of(_COLUMNS, _rows(values, ()))


def _rows(values: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[Cell, Cell]]:
    """The values, those of nested mappings by the names on the way to them."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _rows(value, (*path, name))
        else:
            yield Setting((*path, name)), Setting(value)
