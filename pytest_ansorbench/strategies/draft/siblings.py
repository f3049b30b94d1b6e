"""What the searches of a network's tasks learn from each other."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.checks import require_at_least
from pytest_ansorbench.strategies.draft.prior import Trials

_KEY: Final = "draft"


@dataclass(frozen=True)
class Siblings:
    """Which of a network's other tasks a task learns from.

    The convolutions of a network have the same loops in other sizes, so their sketches have the
    same features, and what was fast on one is a good guess for the next.

    Attributes:
        least: Trials that a sibling has to have: its throughput is told relative to its best,
            which is known after some.
    """

    least: int = 8

    def __post_init__(self) -> None:
        require_at_least(self, "least", 1, example=8)


class Member:
    """What one task has measured, by kinds of sketches."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.trials = 0
        self.best_gflops = 0.0
        self._of_kinds: dict[str, list[Trials]] = {}

    def tell(self, kind: str, features: NDArray[np.float32], gflops: Sequence[float]) -> None:
        """Note trials of one sketch.

        Args:
            kind: The sketch's, see `Encoding.kinds`.
            features: Shape (trials, columns of the kind).
            gflops: Throughput of each, 0 for a failed trial.
        """
        self.trials += len(features)
        self.best_gflops = max(self.best_gflops, *gflops)
        measured = Trials(features, np.asarray(gflops, dtype=np.float64))
        self._of_kinds.setdefault(kind, []).append(measured)

    def of_kind(self, kind: str) -> Sequence[Trials]:
        """Its trials of such sketches."""
        return self._of_kinds.get(kind, ())


class Family:
    """The tasks of a run, each with what it has measured."""

    def __init__(self) -> None:
        """Begin with no task."""
        self._members: list[Member] = []

    @classmethod
    def of_run(cls, shared: MutableMapping[str, Any]) -> Family:
        """The family of a run: a new one for its first task.

        Args:
            shared: What the run's tasks keep for each other, see `Setup.shared`.
        """
        family: Family = shared.setdefault(_KEY, cls())
        return family

    def join(self) -> Member:
        """A place for a task's measurements."""
        member = Member()
        self._members.append(member)
        return member

    def others(self, mine: Member, kinds: Sequence[str], least: int) -> Mapping[str, Trials]:
        """What the other tasks have measured of sketches of some kinds.

        Args:
            mine: The task that asks.
            kinds: The kinds of its sketches.
            least: Trials that another task has to have.

        Returns:
            By kind, trials of all other tasks together, with throughput over the best of each
            task; kinds without any are left out.
        """
        known = [
            member
            for member in self._members
            if member is not mine and member.trials >= least and member.best_gflops > 0.0
        ]
        found = {}
        for kind in kinds:
            parts = [
                (part.features, part.throughput / member.best_gflops)
                for member in known
                for part in member.of_kind(kind)
            ]
            if parts:
                found[kind] = Trials(*map(np.concatenate, zip(*parts, strict=True)))
        return found
