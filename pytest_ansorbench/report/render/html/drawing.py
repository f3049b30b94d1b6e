"""Figures as SVG that takes its colours from the page."""

from __future__ import annotations

import io
import re
from typing import Final

from pytest_ansorbench.report.render.figures import Look, draw, save
from pytest_ansorbench.report.sections import Bars, Chart, Forest

_PAGE: Final = Look("#0a0b0c", tuple(f"#0{place}0{place}ff" for place in range(8)), width_in=7.2)
"""Colours that stand for those of the page, which differ in the dark, until a figure is drawn."""


def svg(chart: Chart | Forest | Bars, prefix: str) -> str:
    """Draw a chart.

    Args:
        chart: The chart.
        prefix: Begins every id in it, so that several can stand in one page.

    Returns:
        An `svg` element. Colours are the page's variables `--c0` to `--c7` and `currentColor`.

    Raises:
        ImportError: matplotlib is missing.
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
