"""The report on a session that runs: what it says of cases that are over, run and wait."""

from __future__ import annotations

import math

from pytest_ansorbench.bench.progress import RunProgress
from pytest_ansorbench.bench.watching import WatchedCase, WatchedSession
from pytest_ansorbench.report.render.terminal import Terminal
from pytest_ansorbench.report.watch_tables import overview_report

RUN = RunProgress("default", 64, 0.5, 12.5, 33.0)
OVER = WatchedCase("matmul", 5, 5, (), (RUN,), is_over=True, left_s=0.0)
UNDER_WAY = WatchedCase("conv2d", 0, 5, (), (RUN,), is_over=False, left_s=250.0)
MACHINES = {"abc": {"cpu": "made up"}}


def overview(
    *cases: WatchedCase, waiting: tuple[str, ...] = (), left_s: float = 0.0
) -> WatchedSession:
    return WatchedSession("2026-01-01T00:00:00+00:00", cases, waiting, MACHINES, False, left_s)


def text(given: WatchedSession) -> str:
    return Terminal().render(overview_report(given))


def test_the_first_line_sums_up() -> None:
    shown = text(overview(OVER, UNDER_WAY, waiting=("conv1d", "softmax"), left_s=900.0))
    assert "begun 2026-01-01T00:00:00+00:00: 1/4 cases are over; about 900.0 s" in shown
    assert "2 cases to come: conv1d, softmax" in shown
    assert "measured on made up (abc)" in shown


def test_each_arm_has_a_row() -> None:
    lines = text(overview(OVER, UNDER_WAY)).splitlines()
    [row] = [line.split() for line in lines if line.startswith("conv2d")]
    assert row == ["conv2d", "0/5", "-", "-", "default", "50%", "64", "12.5", "33.0", "250.0"]


def test_what_is_not_known_is_not_made_up() -> None:
    begun = WatchedCase("conv2d", 0, 5, (), (), is_over=False, left_s=math.inf)
    shown = text(overview(begun, left_s=math.inf))
    assert "how long the rest takes is not known yet" in shown
    assert "inf" not in shown


def test_the_end_is_told() -> None:
    over = WatchedSession("2026", (OVER,), (), MACHINES, is_over=True, left_s=0.0)
    assert "1/1 cases are over; the session has ended" in text(over)
