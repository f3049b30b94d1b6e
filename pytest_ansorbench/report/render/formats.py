"""Every format of a report, by its name, and the protocol that each keeps."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Protocol

from pytest_ansorbench.report.render.comment import Comment
from pytest_ansorbench.report.render.csv import Csv
from pytest_ansorbench.report.render.html import Html
from pytest_ansorbench.report.render.json import Json
from pytest_ansorbench.report.render.latex import Latex
from pytest_ansorbench.report.render.markdown import Markdown
from pytest_ansorbench.report.render.terminal import Terminal
from pytest_ansorbench.report.sections import Report


class Renderer(Protocol):
    """Turns a report into text: another format is another class with this method.

    A renderer reads `report.cells` and `report.sections` and nothing else of this package. It
    writes every kind of cell (`str(cell)` is its text), every kind of block, and whatever sections
    a report has, in their order. Sentences, labels and `Text` cells may hold anything: a renderer
    escapes them, so that they can neither end their place nor command a terminal.
    `tests/report/render/contract.py` holds a renderer to all this.
    """

    def render(self, report: Report) -> str:
        """Write a report.

        Args:
            report: The report, as `Report.of` puts it together.

        Returns:
            Text without a newline at the end; empty for a report without sections.
        """
        ...


RENDERERS: Final[Mapping[str, Renderer]] = MappingProxyType(
    {
        "terminal": Terminal(),
        "markdown": Markdown(),
        "html": Html(),
        "csv": Csv(),
        "json": Json(),
        "latex": Latex(),
        "comment": Comment(),
    }
)
"""Every format by its name."""

REQUIRED: Final = MappingProxyType({"html": ("jinja2", "matplotlib")})
"""Modules that a format takes and that the extra `report` brings."""
