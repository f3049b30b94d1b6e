"""Looks at a search from where a strategy's policies stand, through what they are given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Watched:
    """A policy that remembers what it was started with, and what came of it.

    Attributes:
        inner: The policy that does the work.
        setups: What it was started with, one per task of each run, in order.
        started: What it started, in the same order.
    """

    inner: Any
    setups: list[Any] = field(default_factory=list)
    started: list[Any] = field(default_factory=list)

    def start(self, setup: Any) -> Any:
        self.setups.append(setup)
        self.started.append(self.inner.start(setup))
        return self.started[-1]
