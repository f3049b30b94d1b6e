"""A report as JSON: its sections, with every figure in full precision."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

from pytest_ansorbench.report.cells import Cell, Ratio, finite
from pytest_ansorbench.report.sections import Bars, Block, Chart, Code, Forest, Lines, Report, Table


@dataclass(frozen=True, slots=True)
class Json:
    """Renders a report as an object with the list `sections`.

    A section has `key`, `subject` (the id of its case, empty if it is about all) and `blocks`. A
    block is one of

    - `{"kind": "lines", "tone", "sentences"}`: each sentence a string;
    - `{"kind": "table", "columns", "groups"}`: rows as lists of cells;
    - `{"kind": "chart", "x", "y", "series", "levels"}`: places and values as lists;
    - `{"kind": "forest", "ratio", "limit", "rows"}`: each row a label and a cell;
    - `{"kind": "bars", "length", "parts", "stacks"}`;
    - `{"kind": "code", "title", "language", "text"}`.

    A cell is an object: `kind`, `text` as a terminal shows it, and its figures, `value` first,
    e.g. `{"kind": "Ratio", "text": "0.62 [0.51, 0.88]", "value": 0.62, "low": 0.51, "high": 0.88,
    "bound": "value"}`. Infinity is `"inf"`.
    """

    def render(self, report: Report) -> str:
        if not report.sections:
            return ""
        sections = [
            {
                "key": section.key,
                "subject": section.subject,
                "blocks": [*map(_block, section.blocks)],
            }
            for section in report.sections
        ]
        return json.dumps({"sections": sections}, indent=1)


def _block(block: Block) -> dict[str, Any]:
    match block:
        case Lines(sentences, _, tone):
            return {"kind": "lines", "tone": tone, "sentences": [*map(str, sentences)]}
        case Table(columns, groups):
            return {
                "kind": "table",
                "columns": [
                    {"key": column.key, "heading": column.heading, "unit": column.unit}
                    for column in columns
                ],
                "groups": [
                    {
                        "role": group.role,
                        "rows": [[_cell(cell) for cell in row] for row in group.rows],
                    }
                    for group in groups
                ],
            }
        case Chart(x, y, series, _, levels):
            axes = {"x": _data(x), "y": _data(y)}
            return {"kind": "chart", **axes, "series": _data(series), "levels": _data(levels)}
        case Forest(ratio, rows, limit):
            return {
                "kind": "forest",
                "ratio": _data(ratio),
                "limit": limit,
                "rows": [
                    {"label": row.label, "role": row.role, **_cell(Ratio(row.estimate))}
                    for row in rows
                ],
            }
        case Bars(length, parts, stacks):
            axis = {"length": _data(length)}
            return {"kind": "bars", **axis, "parts": [*parts], "stacks": _data(stacks)}
        case Code(title, text, language):
            return {"kind": "code", "title": title, "language": language, "text": text}


def _data(part: Any) -> Any:
    """A part of a chart, by the names of its fields."""
    match part:
        case str() | int():
            return part
        case float():
            return finite(part)
        case tuple():
            return [*map(_data, part)]
        case _:
            return {field.name: _data(getattr(part, field.name)) for field in fields(part)}


def _cell(cell: Cell) -> dict[str, Any]:
    values = {name or "value": value for name, value in cell.fields().items()}
    return {"kind": type(cell).__name__, "text": str(cell), **values}
