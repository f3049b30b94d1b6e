"""Every renderer there is keeps the contract."""

from __future__ import annotations

from pytest_ansorbench.report import RENDERERS
from tests.report.render.contract import RendererContract
from tests.report.rendered import markdown_cells, simple_cells


class TestTerminal(RendererContract):
    """The one that is shown after a session."""

    renderer = RENDERERS["terminal"]

    def cells(self, text: str) -> list[list[str]]:
        return simple_cells(text)


class TestMarkdown(RendererContract):
    """The one of `--markdown`."""

    renderer = RENDERERS["markdown"]

    def cells(self, text: str) -> list[list[str]]:
        return markdown_cells(text)


def test_each_has_its_tests_here() -> None:
    tested = {cls.renderer for cls in (TestTerminal, TestMarkdown)}
    assert tested == set(RENDERERS.values())
