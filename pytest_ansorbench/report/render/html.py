"""A report as one HTML file that needs no network: a template, figures drawn into it as SVG."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from functools import cache
from itertools import count, groupby
from typing import TYPE_CHECKING, Final

from pytest_ansorbench.report.cells import Cell, Number
from pytest_ansorbench.report.render.charts import chart_blocks
from pytest_ansorbench.report.render.figures import Look, draw, save
from pytest_ansorbench.report.render.text import column_title, printable
from pytest_ansorbench.report.sections import Bars, Chart, Drawing, Forest, Report, Section

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
    "kernels": "Kernels",
    "tournament": "Standings",
    "pairs": "Pairs",
    "distributions": "Run-time distributions",
    "profile": "Performance profiles of final throughput",
    "provenance": "What this rests on",
}


@dataclass(frozen=True, slots=True)
class Html:
    """Renders a page that needs no network: styles, script and figures are in it.

    Tables sort and filter; each figure has its numbers beside it as a table. It takes Jinja and
    matplotlib, the extra `report`.
    """

    def render(self, report: Report) -> str:
        if not report.sections:
            return ""
        from markupsafe import Markup

        numbers = count(1)

        def figure(chart: Drawing) -> Markup:
            # Made by matplotlib, which escapes every text in it.
            return Markup(svg(chart, f"f{next(numbers)}-"))

        # Neighbouring sections on one subject: a case, or everything.
        parts = [
            (subject, [*sections])
            for subject, sections in groupby(report.sections, key=lambda one: one.subject)
        ]
        return _template().render(title="ansor bench", parts=parts, figure=figure).rstrip("\n")


def _order(cell: Cell) -> object:
    """What a table sorts the row of a cell by; empty for its text."""
    value = cell.fields()[""]
    if value == "inf":
        return "Infinity"
    return value if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _section_title(section: Section) -> str:
    return _TITLES.get(section.key, printable(section.key))


def _code(text: str) -> str:
    return "\n".join(map(printable, text.splitlines()))


def _alternative(chart: Drawing) -> str:
    """A figure in words."""
    match chart:
        case Chart(x, y, series):
            ends = [
                f"{one.label} {f'ends at {Number.of(one.y[-1])}' if one.y else 'has no point'}"
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
    environment.filters |= {
        "alternative": _alternative,
        "code": _code,
        "column_title": column_title,
        "kind": lambda block: type(block).__name__,
        "order": _order,
        "plain": lambda words: printable(str(words)),
        "tables": chart_blocks,
        "title": _section_title,
    }
    return environment.get_template("page.html.jinja")


def _asset(name: str) -> Markup:
    """One of our own files, to stand in the page as it is."""
    from importlib.resources import files

    from markupsafe import Markup

    text = files("pytest_ansorbench.report.render").joinpath(name).read_text("utf-8")
    return Markup(text)
