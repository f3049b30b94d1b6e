"""Proposers for tests: real schedules with planted faults, and ones that stop or repeat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_ansorbench.strategies import (
    Candidate,
    FixedMeasurement,
    NoModel,
    Observation,
    Setup,
    Strategy,
)
from tests.faults import module

QUICK = FixedMeasurement(number=1, repeat=2, min_repeat_ms=1)


@dataclass(frozen=True)
class Script:
    """Proposes, round by round, the kernels it is told to; None ends the run.

    The kernels are those of `tests.faults`, so the case has to be `Doubling`.
    """

    rounds: tuple[tuple[str, ...] | None, ...]

    def start(self, setup: Setup) -> _Script:
        return _Script(setup, iter(self.rounds))


@dataclass
class _Script:
    setup: Setup
    rounds: Any
    seen: list[Observation] = field(default_factory=list)

    def propose(self, trials: int):
        from tvm.s_tir import Schedule

        kinds = next(self.rounds)
        if kinds is None:
            return None
        return [Candidate.from_schedule(Schedule(module(kind)), {"kind": kind}) for kind in kinds]

    def recall(self, candidates: Sequence[Candidate]) -> None:
        # A script has as many rounds behind it as there are batches of its candidates.
        left = len(candidates)
        while left > 0:
            left -= len(next(self.rounds))

    def learn(self, batch: Sequence[Observation]) -> None:
        self.seen += batch

    def decisions(self) -> Mapping[str, Any]:
        return {"learnt": len(self.seen), "valid": sum(seen.gflops > 0 for seen in self.seen)}


def scripted(*rounds: tuple[str, ...] | None, name: str = "scripted") -> Strategy:
    """A strategy that proposes these kernels, measured as briefly as can be."""
    return Strategy(name, proposer=Script(rounds), cost_model=NoModel(), measurement=QUICK)
