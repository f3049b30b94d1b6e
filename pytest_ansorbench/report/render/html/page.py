"""The page: a template filled with what a report says, its figures drawn into it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import count, groupby
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.report.cells import Cell, GateMark
from pytest_ansorbench.report.render.blocks import column_title, sentence_text, written
from pytest_ansorbench.report.render.charts import chart_blocks
from pytest_ansorbench.report.render.fields import cell_fields
from pytest_ansorbench.report.render.numbers import cell_text
from pytest_ansorbench.report.render.text import printable
from pytest_ansorbench.report.sections import (
    Bars,
    Block,
    Chart,
    Code,
    Column,
    Forest,
    Lines,
    Report,
    Section,
    Table,
)

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

_TITLES: Final = {
    "verdicts": "Verdicts",
    "suite": "All cases",
    "cases": "Cases",
    "notes": "Notes",
    "details": "Details",
    "curves": "Curves",
    "pictures": "Seconds, sketches, failures",
    "schedules": "Winning schedules",
    "changes": "Changes",
    "history": "Over time",
    "provenance": "What this rests on",
}


@dataclass(frozen=True, slots=True)
class Html:
    """Renders a page that needs no network: styles, script and figures are in it.

    Tables sort and filter; each figure has its numbers beside it as a table. It takes Jinja and
    matplotlib, the extra `report`.

    Attributes:
        title: Of the page.
    """

    title: str = "ansor bench"

    def render(self, report: Report) -> str:
        """Write a report; see `Renderer`.

        Raises:
            ImportError: Jinja or matplotlib is missing.
        """
        if not report.sections:
            return ""
        page = _Page(iter(_figures(report)))
        parts = [
            _Part(subject, [page.section(section) for section in sections])
            for subject, sections in groupby(report.sections, key=lambda one: one.subject)
        ]
        return _template().render(title=printable(self.title), parts=parts).rstrip("\n")


@dataclass(frozen=True, slots=True)
class _Part:
    """Neighbouring sections on one subject: a case, or everything."""

    subject: str
    sections: list[dict[str, Any]]


@dataclass
class _Page:
    """What a template is given, piece by piece; figures are numbered through.

    Attributes:
        figures: As SVG, in order of the report.
        numbers: Of the figures.
    """

    figures: Iterator[str]
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def section(self, section: Section) -> dict[str, Any]:
        return {
            "key": printable(section.key),
            "title": _TITLES.get(section.key, printable(section.key)),
            "blocks": [self.block(block) for block in section.blocks],
        }

    def block(self, block: Block) -> dict[str, Any]:
        match block:
            case Lines(sentences, depth, tone):
                words = [[*map(_words, sentence)] for sentence in sentences]
                return {"kind": "lines", "sentences": words, "depth": depth, "tone": tone}
            case Table():
                return _table(block)
            case Code(title, text, language):
                lines = "\n".join(map(printable, text.splitlines()))
                return {
                    "kind": "code",
                    "title": printable(title),
                    "text": lines,
                    "language": language,
                }
            case Chart() | Forest() | Bars():
                return self.figure(block)

    def figure(self, chart: Chart | Forest | Bars) -> dict[str, Any]:
        from markupsafe import Markup

        number = next(self.numbers)
        tables = [self.block(block) for block in chart_blocks(chart)]
        return {
            "kind": "figure",
            "number": number,
            # Made by matplotlib, which escapes every text in it.
            "svg": Markup(next(self.figures)),
            "alternative": _alternative(chart),
            "tables": tables,
        }


def _figures(report: Report) -> list[str]:
    """All charts of a report as SVG, numbered as `_Page.figure` does."""
    from pytest_ansorbench.report.render.html.drawings import svgs

    charts = (
        block
        for section in report.sections
        for block in section.blocks
        if isinstance(block, Chart | Forest | Bars)
    )
    return svgs([(chart, f"f{number}-") for number, chart in enumerate(charts, 1)])


def _words(part: str | Cell) -> dict[str, str]:
    """A part of a sentence, with the class that its style goes by."""
    if isinstance(part, str):
        return {"text": part, "style": ""}
    style = part.outcome if isinstance(part, GateMark) else ""
    return {"text": printable(cell_text(part)), "style": style}


def _table(table: Table) -> dict[str, Any]:
    return {
        "kind": "table",
        "columns": [
            {"title": printable(column_title(column)), "kind": column.kind}
            for column in table.columns
        ],
        "groups": [
            {"role": group.role, "rows": [[*map(_cell, row, table.columns)] for row in group.rows]}
            for group in table.groups
        ],
    }


def _cell(cell: Cell, column: Column) -> dict[str, Any]:
    """A cell; `order` is what a table sorts its row by."""
    value = cell_fields(cell)[""]
    order = value if isinstance(value, int | float) and not isinstance(value, bool) else ""
    return {**_words(cell), "kind": column.kind, "order": "Infinity" if value == "inf" else order}


def _alternative(chart: Chart | Forest | Bars) -> str:
    """A figure in words."""
    match chart:
        case Chart(x, y, series):
            ends = [
                f"{one.label} ends at {one.y[-1]:.4g}" if one.y else f"{one.label} has no point"
                for one in series
            ]
            text = f"{y.heading} over {x.heading}: {'; '.join(ends)}"
        case Forest(ratio, rows):
            text = f"{ratio.heading}: {len(rows)} ratios with their intervals"
        case Bars(length, parts, stacks):
            names = ", ".join(sentence_text(part, written(str)) for part in parts)
            text = f"{length.heading}: {len(stacks)} bars of {names}"
    return printable(text)


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pytest_ansorbench.report.render.html", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.globals["asset"] = _asset
    return environment.get_template("page.html.jinja")


def _asset(name: str) -> Markup:
    """One of our own files, to stand in the page as it is."""
    from importlib.resources import files

    from markupsafe import Markup

    text = files("pytest_ansorbench.report.render.html").joinpath(name).read_text("utf-8")
    return Markup(text)
