"""Many figures are drawn by several processes, and come out as one alone draws them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_ansorbench.report.render.html import drawings
from pytest_ansorbench.report.render.html.drawing import svg
from pytest_ansorbench.report.render.html.drawings import svgs
from pytest_ansorbench.report.sections import Axis, Chart, Level, Series

JOBS = [
    (
        Chart(
            Axis("trials"),
            Axis("best"),
            (Series("fast", (1.0, 2.0), (1.0, float(place + 1)), (0.5, 1.0), (1.5, 9.0)),),
            levels=(Level("target", 0.5),),
        ),
        f"f{place}-",
    )
    for place in range(5)
]


@pytest.fixture
def each_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three processes for five figures."""
    monkeypatch.setattr(drawings, "_WORTH_A_PROCESS", 1)
    monkeypatch.setattr(drawings.os, "cpu_count", lambda: 3)


@pytest.mark.usefixtures("each_its_own")
def test_figures_are_the_same_and_in_order() -> None:
    assert svgs(JOBS) == [svg(chart, prefix) for chart, prefix in JOBS]


@pytest.mark.usefixtures("each_its_own")
def test_what_a_process_cannot_draw_is_drawn_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert svgs(JOBS) == [svg(chart, prefix) for chart, prefix in JOBS]


def test_few_figures_are_not_worth_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert len(svgs(JOBS)) == 5
    assert svgs([]) == []
