"""Made-up sessions for tournaments: arms by the latencies and seconds of their trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_ansorbench.records import CaseResult, Result, Run
from pytest_ansorbench.stats.contests import Contest, contests_of
from tests.synthetic import CRITERIA, make_result, make_run

STEPS = (8.0, 4.0, 2.0, 1.0)
SEEDS = range(3)


def runs_of(
    case: str, arm: str, latencies: Sequence[float | None] = STEPS, seconds: float = 1.0
) -> list[Run]:
    """A run for each seed, each a little slower to search than the one before."""
    found = [latency for latency in latencies if latency is not None]
    return [
        make_run(case, arm, seed, latencies, seconds * (1.0 + seed / 16), min(found, default=None))
        for seed in SEEDS
    ]


def case_of(*arms: Sequence[Run], version: str = "1") -> CaseResult:
    names = tuple(runs[0].strategy for runs in arms)
    runs = tuple(run for of_arm in arms for run in of_arm)
    return CaseResult(runs[0].case, names, runs, (), version)


def session(*cases: CaseResult, created: str = "2024-01-02T03:04:05+00:00") -> Result:
    return replace(make_result(*cases), created=created)


def contests(*results: Result) -> tuple[Contest, ...]:
    return contests_of(results, CRITERIA)


def tournament(
    arms: Mapping[str, float], cases: Sequence[str] = ("conv", "matmul", "softmax")
) -> Result:
    """A session of some cases, with arms by the seconds that a trial of theirs takes."""
    return session(
        *(
            case_of(*(runs_of(case, arm, seconds=seconds) for arm, seconds in arms.items()))
            for case in cases
        )
    )
