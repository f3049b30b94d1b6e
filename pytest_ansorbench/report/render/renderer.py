"""The protocol of a renderer: any object that turns a report into text."""

from __future__ import annotations

from typing import Protocol

from pytest_ansorbench.report.sections import Report


class Renderer(Protocol):
    """Turns a report into text: another format is another class with this method.

    A renderer reads `report.cells` and `report.sections` and nothing else of this package. It
    writes every kind of cell (for formats of plain text `render.numbers.cell_text` does), every
    kind of block, and whatever sections a report has, in their order. A `Text` cell may hold
    anything: a renderer escapes it, so that it can neither end its cell nor command a terminal.
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
