"""Landscapes for tests, in a line each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pytest_ansorbench.landscapes.recording import Effort, record
from pytest_ansorbench.landscapes.records import Landscape
from pytest_ansorbench.workloads import BatchMatmul
from tests.fast_engine import FastEngine
from tests.pages import REPOSITORY

LANDSCAPES = REPOSITORY / "docs" / "results" / "landscapes"
"""Those that ship."""
CASE = BatchMatmul(batch=1, m=16, n=16, k=16)
EFFORT = Effort(points=90, scouts=4)


def made_up(target) -> FastEngine:
    """An engine whose latencies and machine are made up."""
    engine = FastEngine(target, compiles=False)
    engine.machine = {**engine.machine, "system": "Linux"}
    return engine


def recorded(engine, folder, *, case=CASE, effort=EFFORT, tell=lambda advance: None) -> Path:
    return record(case, engine, effort, folder, storage=folder, root=folder, tell=tell)


def timed(landscape: Landscape, latency_s) -> Landscape:
    """The landscape with another latency of each point, by its place; None for one that fails."""

    def changed(place, one):
        seconds = latency_s(place)
        slices = () if seconds is None else (seconds,) * 3
        invalidity = "runtime" if seconds is None else "correct"
        return replace(
            one,
            times=replace(one.times, runtimes=slices, benchmark_time=0.5),
            invalidity=invalidity,
            correctness=float(seconds is not None),
            error="boom" if seconds is None else "",
        )

    points = tuple(changed(*pair) for pair in enumerate(landscape.results))
    return Landscape.of(landscape.subject, points, 2.0)
