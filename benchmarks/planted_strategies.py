"""Strategies with a planted fault, and twins without one; a pytest plugin for `planted.py`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_ansorbench.strategies import Candidate, Registry, Setup, Strategy, stock_rules
from pytest_ansorbench.strategies.proposer import Proposer, ProposerPolicy

if TYPE_CHECKING:
    from tvm.s_tir.meta_schedule.space_generator import SpaceGenerator
    from tvm.target import Target


@dataclass(frozen=True)
class Sleeping:
    """Another proposer that sleeps before each round, on the clock.

    Attributes:
        policy: The other one.
        sleep_s: How long, in seconds.
    """

    policy: ProposerPolicy
    sleep_s: float = 5.0

    def start(self, setup: Setup) -> Proposer:
        """The other's work, with naps."""
        return _Sleeping(self.policy.start(setup), self.sleep_s)


class _Sleeping:
    def __init__(self, awake: Proposer, sleep_s: float) -> None:
        self._awake, self._sleep_s = awake, sleep_s
        self.learn, self.recall, self.decisions = awake.learn, awake.recall, awake.decisions

    def propose(self, trials: int) -> Sequence[Candidate] | None:
        time.sleep(self._sleep_s)
        return self._awake.propose(trials)


@dataclass(frozen=True)
class Serial:
    """A design space without parallel loops."""

    def start(self, target: Target) -> SpaceGenerator:
        """The target's own rules, the one that adds parallel loops told to add none."""
        from tvm.s_tir.meta_schedule.schedule_rule import ParallelizeVectorizeUnroll
        from tvm.s_tir.meta_schedule.space_generator import PostOrderApply

        serial = ParallelizeVectorizeUnroll(
            max_jobs_per_core=-1, max_vectorize_extent=64, unroll_max_steps=[0, 16, 64, 512]
        )
        rules = [
            serial if isinstance(rule, ParallelizeVectorizeUnroll) else rule
            for rule in stock_rules(target)
        ]
        return PostOrderApply(sch_rules=rules)


def pytest_ansorbench_strategies() -> list[Strategy]:
    """Offer them."""
    registry = Registry()
    default, optimized = registry.get("default"), registry.get("optimized")
    return [
        replace(default, name="twin", description="the default under another name"),
        replace(default, name="sleeping", proposer=Sleeping(default.proposer)),
        replace(default, name="serial", space=Serial(), description="without parallel loops"),
        replace(optimized, name="optimized-sleeping", proposer=Sleeping(optimized.proposer)),
    ]
