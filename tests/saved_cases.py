"""Cases that only have saved runs: what a replay is asked for."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_ansorbench.records import CaseResult, Result
from tests.synthetic import make_case_result, make_result, make_run


@dataclass(frozen=True)
class Saved:
    """A case by name."""

    id: str
    flops: int = 10**9

    def tasks(self):
        raise AssertionError("a replay needs no task")

    def __str__(self) -> str:
        return self.id


SAVED = [Saved("a"), Saved("b"), Saved("c")]
MORE = [*SAVED, Saved("d")]


def result_of(cases: Sequence[Saved], seconds_per_trial: float = 0.5) -> Result:
    """Five seeds of a reference that takes a second a trial, and of a challenger."""
    return make_result(*(_recorded(case.id, seconds_per_trial) for case in cases))


@functools.cache
def _recorded(name: str, seconds_per_trial: float) -> CaseResult:
    paces = {"default": 1.0, "fast": seconds_per_trial}
    arms = {
        arm: [make_run(name, arm, seed, seconds_per_trial=pace, final=1.0) for seed in range(5)]
        for arm, pace in paces.items()
    }
    return make_case_result(name, arms.pop("default"), arms)
