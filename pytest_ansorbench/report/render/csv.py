"""The tables of a report as comma-separated values, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass
from typing import Any, Final

from pytest_ansorbench.report.cells import Cell, Setting, Text
from pytest_ansorbench.report.render.text import printable
from pytest_ansorbench.report.sections import Column, Report, Table

_UNITS: Final = {"GFLOP/s": "gflops", "MFLOP": "mflop"}
_FORMULA: Final = re.compile("\\s*[-=+@\uff0d\uff1d\uff0b\uff20]")
"""How a cell begins that a spreadsheet would compute
(https://owasp.org/www-community/attacks/CSV_Injection)."""


@dataclass(frozen=True, slots=True)
class Csv:
    """Renders the tables of a report (RFC 4180), with a blank line between two.

    Columns are called by their keys, with the unit behind. Figures are in full precision. What
    qualifies a figure has columns of its own: `search_ratio`, `search_ratio_low`,
    `search_ratio_high`, `search_ratio_bound`. Infinity is `inf`; a gap is empty. What is of one
    case has its id in the first column. Sentences and charts are left out.
    """

    def render(self, report: Report) -> str:
        return "\n\n".join(
            _table(block, section.subject)
            for section in report.sections
            for block in section.blocks
            if isinstance(block, Table)
        )


def _table(table: Table, case: str) -> str:
    parts = [_column(column, table.column(column.key)) for column in table.columns]
    if case:
        parts.insert(0, {"case": [_harmless(case)] * len(table.rows)})
    names = [name for part in parts for name in part]
    rows = zip(*(values for part in parts for values in part.values()), strict=True)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return out.getvalue().rstrip("\n")


def _column(column: Column, cells: tuple[Cell, ...]) -> dict[str, list[str]]:
    """What a column becomes: texts by name."""
    fields = [cell.fields() for cell in cells]
    unit = _UNITS.get(column.unit, re.sub(r"\W+", "_", column.unit))
    key = _harmless(column.key)
    return {
        "_".join(filter(None, (key, name, "" if name else unit))): [
            _text(one.get(name), cell) for one, cell in zip(fields, cells, strict=True)
        ]
        for name in dict.fromkeys(name for one in fields for name in one)
    }


def _text(value: Any, cell: Cell) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return json.dumps(value)
    return _harmless(value) if isinstance(cell, Text | Setting) else value


def _harmless(text: str) -> str:
    """Words from a file, which a spreadsheet must not compute."""
    text = printable(text)
    return f"'{text}" if _FORMULA.match(text) else text
