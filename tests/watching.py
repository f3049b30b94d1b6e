"""Looks at a search from where a strategy's policies stand, through what they are given."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_ansorbench.strategies import Proposer, Setup
from pytest_ansorbench.strategies.strategy import ProposerPolicy


@dataclass
class Watched:
    """A proposer policy that remembers what it was started with, and what came of it.

    Attributes:
        inner: The policy that does the work.
        setups: One per task of each run, in order.
        proposers: The proposers that were started, in the same order.
    """

    inner: ProposerPolicy
    setups: list[Setup] = field(default_factory=list)
    proposers: list[Proposer] = field(default_factory=list)

    def start(self, setup: Setup) -> Proposer:
        self.setups.append(setup)
        self.proposers.append(self.inner.start(setup))
        return self.proposers[-1]
