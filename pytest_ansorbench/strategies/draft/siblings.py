"""What the searches of a network's tasks learn from each other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.decisions.encoding import Trials
from pytest_ansorbench.strategies.decisions.model import DecisionModel
from pytest_ansorbench.strategies.errors import require_at_least, require_positive

_KEY: Final = "draft"
_MOST_TRIALS: Final = 4096
"""Of a network that a model of its tasks is fitted to: after these each task knows itself best."""


@dataclass(frozen=True)
class Siblings:
    """What a task learns from a network's other tasks.

    The convolutions of a network have the same loops in other sizes, so their sketches have the
    same features, and what was fast on one is a good guess for the next.

    Attributes:
        least: Trials that a sibling has to have: its throughput is told relative to its best,
            which is known after some.
        regrowth: By what share the network's trials have to grow before a model of them is made
            anew. Each takes as long as ten programs, and a few more trials change little.
    """

    least: int = 4
    regrowth: float = 0.25

    def __post_init__(self) -> None:
        require_at_least(self, 1, "least")
        require_positive(self, "regrowth")

    def modelled(self, trials: int) -> int:
        """How many of a network's trials, the first ones, its current model is fitted to.

        It follows from the number of trials alone, so that a resumed run makes the same model.
        """
        trials = min(trials, _MOST_TRIALS)
        if trials < self.least:
            return 0
        first = self.least
        while (larger := math.ceil(first * (1.0 + self.regrowth))) <= trials:
            first = larger
        return first


@dataclass(frozen=True, eq=False)
class Pooled:
    """A model of what several tasks have measured, and perhaps earlier runs."""

    trials: int = 0
    model: DecisionModel | None = None  # None if these are too few


@dataclass(frozen=True, eq=False)
class _Report:
    """Trials of one sketch of a member of the family."""

    member: int
    kind: str
    features: NDArray[np.float32]
    gflops: NDArray[np.float64]


class Family:
    """The tasks of a run, what they have measured, and the models of it."""

    def __init__(self) -> None:
        self.trials = 0
        self._members = 0
        self._reports: list[_Report] = []
        self._models: dict[tuple[str, ...], tuple[int, Pooled]] = {}

    @classmethod
    def of_run(cls, shared: MutableMapping[str, Any]) -> Family:
        """The family that a run's tasks share, begun by the first of them."""
        family: Family = shared.setdefault(_KEY, cls())
        return family

    def join(self) -> int:
        """Admit a task, and give it its number."""
        self._members += 1
        return self._members - 1

    def report(
        self, member: int, kind: str, features: NDArray[np.float32], gflops: Sequence[float]
    ) -> None:
        """Note trials of one sketch; throughput is 0 for a failed one."""
        measured = np.asarray(gflops, dtype=np.float64)
        if self.trials < _MOST_TRIALS:
            self._reports.append(_Report(member, kind, features, measured))
        self.trials += len(features)

    def known(
        self, member: int, kinds: Sequence[str], least: int, first: int
    ) -> Mapping[str, Trials]:
        """By kind, what all tasks with `least` trials have measured, relative to the best of each.

        Only the first trials count, in the order of the reports. The task's own are among them, so
        that tasks of the same kinds can share a model; but there is nothing to know where no other
        task has measured anything.
        """
        reports = self._first(first)
        counts: Counter[int] = Counter()
        best: dict[int, float] = {}
        for one in reports:
            counts[one.member] += len(one.features)
            best[one.member] = max(best.get(one.member, 0.0), *one.gflops.tolist())
        of_kinds = [
            one
            for one in reports
            if one.kind in kinds and counts[one.member] >= least and best[one.member] > 0.0
        ]
        if {one.member for one in of_kinds} <= {member}:
            return {}
        found = {}
        for kind in kinds:
            parts = [
                (one.features, one.gflops / best[one.member])
                for one in of_kinds
                if one.kind == kind
            ]
            if parts:
                found[kind] = Trials(*map(np.concatenate, zip(*parts, strict=True)))
        return found

    def _first(self, trials: int) -> list[_Report]:
        """The first reports, without the one that would exceed so many trials."""
        found = []
        for one in self._reports:
            trials -= len(one.features)
            if trials < 0:
                break
            found.append(one)
        return found

    def pooled(self, kinds: Sequence[str], first: int, make: Callable[[], Pooled]) -> Pooled:
        """The model of the first trials for sketches of some kinds, made once for all tasks."""
        key = tuple(kinds)
        if key not in self._models or self._models[key][0] != first:
            self._models[key] = first, make()
        return self._models[key][1]
