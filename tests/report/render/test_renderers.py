"""Every renderer there is keeps the contract."""

from __future__ import annotations

import json
from html.parser import HTMLParser

from pytest_ansorbench.report.render.comment import MARK
from pytest_ansorbench.report.render.formats import RENDERERS
from tests.report.render.contract import HOSTILE, RendererContract
from tests.report.rendered import latex_cells, markdown_cells, simple_cells


class TestTerminal(RendererContract):
    """The one that is shown after a session."""

    renderer = RENDERERS["terminal"]

    def cells(self, text: str) -> list[list[str]]:
        return simple_cells(text)


class TestMarkdown(RendererContract):
    """The one for pull requests."""

    renderer = RENDERERS["markdown"]

    def cells(self, text: str) -> list[list[str]]:
        return markdown_cells(text)


class TestComment(RendererContract):
    """The one for comments on pull requests, which is found again by its first line."""

    renderer = RENDERERS["comment"]

    def cells(self, text: str) -> list[list[str]]:
        return markdown_cells(text.removeprefix(f"{MARK}\n\n"))


class TestLatex(RendererContract):
    """The one for papers."""

    renderer = RENDERERS["latex"]

    def cells(self, text: str) -> list[list[str]]:
        return latex_cells(text)


class TestJson(RendererContract):
    """The one for programs, which finds the text of each cell beside its figures."""

    renderer = RENDERERS["json"]

    def cells(self, text: str) -> list[list[str]]:
        [section] = json.loads(text)["sections"]
        [table] = section["blocks"]
        headings = [f"{one['heading']} {one['unit']}".strip() for one in table["columns"]]
        rows = [row for group in table["groups"] for row in group["rows"]]
        return [headings, *([cell["text"] for cell in row] for row in rows)]

    def check_like(self, text: str, harmless: str) -> None:
        """Lines are no part of JSON, but it says the same things."""
        assert json.loads(text).keys() == json.loads(harmless).keys()
        assert all(line.isprintable() for line in text.split("\n"))


class Cells(HTMLParser):
    """The cells of all tables, row by row."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.open = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")
            self.open = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("th", "td"):
            self.open = False

    def handle_data(self, data: str) -> None:
        if self.open:
            self.rows[-1][-1] += data


class TestHtml(RendererContract):
    """The one for browsers."""

    renderer = RENDERERS["html"]

    def cells(self, text: str) -> list[list[str]]:
        parser = Cells()
        parser.feed(text)
        return [[cell.strip() for cell in row] for row in parser.rows]

    def test_no_label_breaks_out_of_its_chart(self) -> None:
        """All in one, and fewer than the others have: each chart is a figure to be drawn."""
        labels = (*HOSTILE, "<script>", "$x$", "_x")
        harmless = [f"label {number}" for number in range(len(labels))]
        self.check_like(self.chart(*labels), self.chart(*harmless))


class TestCsv:
    """The one for spreadsheets and data frames: tables alone, their figures in full."""

    renderer = RENDERERS["csv"]


def test_each_has_its_tests_here() -> None:
    tested = {
        cls.renderer
        for cls in (TestTerminal, TestMarkdown, TestComment, TestLatex, TestJson, TestHtml, TestCsv)
    }
    assert tested == set(RENDERERS.values())
