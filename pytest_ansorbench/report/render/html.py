"""A report as one HTML file that needs no network: a template, figures drawn into it as SVG."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import count, groupby
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.report.cells import Cell, GateMark
from pytest_ansorbench.report.render.charts import chart_blocks
from pytest_ansorbench.report.render.figures import Look, draw, save
from pytest_ansorbench.report.render.text import column_title, printable
from pytest_ansorbench.report.sections import (
    Bars,
    Block,
    Chart,
    Code,
    Column,
    Drawing,
    Forest,
    Lines,
    Report,
    Section,
    Sentence,
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
    """

    title: str = "ansor bench"

    def render(self, report: Report) -> str:
        if not report.sections:
            return ""
        page = _Page()
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
    """What a template is given, piece by piece; figures are numbered through."""

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
                words = [*map(_words, sentences)]
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
            case _:
                return self.figure(block)

    def figure(self, chart: Drawing) -> dict[str, Any]:
        from markupsafe import Markup

        number = next(self.numbers)
        tables = [self.block(block) for block in chart_blocks(chart)]
        return {
            "kind": "figure",
            "number": number,
            # Made by matplotlib, which escapes every text in it.
            "svg": Markup(svg(chart, f"f{number}-")),
            "alternative": _alternative(chart),
            "tables": tables,
        }


def _words(sentence: Sentence) -> list[dict[str, str]]:
    """The parts of a sentence, each with the class that its style goes by."""
    if isinstance(sentence, str):
        return [{"text": printable(sentence), "style": ""}]
    return [
        {"text": printable(sentence.before), "style": ""},
        {"text": sentence.outcome, "style": sentence.outcome},
        {"text": printable(sentence.after), "style": ""},
    ]


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
    value = cell.fields()[""]
    order = value if isinstance(value, int | float) and not isinstance(value, bool) else ""
    return {
        "text": printable(str(cell)),
        "style": cell.outcome if isinstance(cell, GateMark) else "",
        "kind": column.kind,
        "order": "Infinity" if value == "inf" else order,
    }


def _alternative(chart: Drawing) -> str:
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
            text = f"{length.heading}: {len(stacks)} bars of {', '.join(parts)}"
    return printable(text)


_PAGE: Final = Look("#0a0b0c", tuple(f"#0{place}0{place}ff" for place in range(8)), width_in=7.2)
"""Colours that stand for those of the page, which differ in the dark, until a figure is drawn."""


def svg(chart: Drawing, prefix: str) -> str:
    """An `svg` element, in the page's variables `--c0` to `--c7` and `currentColor`.

    `prefix` begins every id in it, so that several can stand in one page.
    """
    out = io.StringIO()
    save(draw(chart, _PAGE), out, _PAGE, "svg")
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bd="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), text)
    text = re.sub(r'\bid="', f'id="{prefix}', text)
    text = re.sub(r'(href="#|url\(#)', rf"\1{prefix}", text)
    text = text.replace(_PAGE.ink, "currentColor")
    for place, colour in enumerate(_PAGE.colours):
        text = text.replace(colour, f"var(--c{place})")
    return text.rstrip("\n")


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pytest_ansorbench.report.render", "."),
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

    text = files("pytest_ansorbench.report.render").joinpath(name).read_text("utf-8")
    return Markup(text)
