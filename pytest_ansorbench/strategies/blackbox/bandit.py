"""A bandit that learns which kind of change leads to faster programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pytest_ansorbench.strategies.decisions.design_space import DesignSpace
from pytest_ansorbench.strategies.decisions.point_search import (
    PointSearch,
    PointSearchPolicy,
    Suggestion,
    Tried,
)
from pytest_ansorbench.strategies.decisions.space import Point
from pytest_ansorbench.strategies.errors import require_at_least

# Steps that `wander` goes.
_WANDERS: Final = 4


@dataclass(frozen=True)
class Bandit(PointSearchPolicy):
    """A multi-armed bandit over ways to change decisions, as OpenTuner's.

    Its arms are operators: `random` draws a point, `redraw` one tiling of a fast one, `near`
    changes one decision as little as can be, `wander` up to four, `cross` takes each decision of
    one of two fast points; `redraw`, too, changes what is no tiling as little as can be. The next
    operator is the one with the largest

        AUC + exploration * sqrt(2 log2 n / uses)

    over the last n trials. AUC, the area under the curve, is the credit of an operator with k uses:
    2 / (k (k + 1)) times the sum of the ranks of those uses, the latest having rank k, that led to
    the fastest program so far (Ansel et al., "OpenTuner", PACT 2014, whose values these are; Fialho
    et al., GECCO 2010). Trials of the same batch count as uses that led to nothing, until they are
    known.

    Attributes:
        exploration: OpenTuner's C.
        window: Trials that count.
        parents: Fastest points that operators change.
    """

    exploration: float = 0.05
    window: int = 500
    parents: int = 8

    def __post_init__(self) -> None:
        require_at_least(self, 0, "exploration")
        require_at_least(self, 1, "window", "parents")

    def search(self, space: DesignSpace, rng: np.random.Generator, trials: float) -> PointSearch:
        """A search that has used no operator."""
        return _Bandit(self, space, rng)


class _Bandit(PointSearch):
    def __init__(self, policy: Bandit, space: DesignSpace, rng: np.random.Generator) -> None:
        self._policy = policy
        self._space = space
        self._rng = rng
        self._operators: Mapping[str, Callable[[], Point]] = {
            "random": lambda: space.draw(rng),
            "redraw": lambda: space.stepped(self._parent(), rng, near_share=0.0),
            "near": lambda: space.stepped(self._parent(), rng, near_share=1.0),
            "wander": self._wandered,
            "cross": self._crossed,
        }
        self._fastest: list[Tried] = []
        # Operators that were used, and whether that led to the fastest program so far.
        self._uses: list[tuple[str, bool]] = []

    def ask(self, wanted: int, taken: Container[Point]) -> Iterable[Suggestion]:
        led = self._led()
        while True:
            operator = self._chosen(led)
            led[operator].append(False)
            point = self._operators[operator]()
            fresh = self._space.fresh(point, taken, self._rng, near_share=1.0)
            yield Suggestion(fresh, {"operator": operator})

    def tell(self, tried: Sequence[Tried]) -> None:
        for one in tried:
            best = one.gflops > (self._fastest[0].gflops if self._fastest else 0.0)
            if "operator" in one.note:
                self._uses.append((one.note["operator"], best))
            if one.gflops > 0.0:
                self._fastest = sorted([*self._fastest, one], key=lambda known: -known.gflops)
                del self._fastest[self._policy.parents :]

    def decisions(self) -> Mapping[str, Any]:
        return {
            "operators": {
                name: {"uses": len(led), "bests": sum(led)} for name, led in self._led().items()
            }
        }

    def _led(self) -> dict[str, list[bool]]:
        """Of each operator's uses that count, in order: whether they led to the fastest program."""
        found: dict[str, list[bool]] = {name: [] for name in self._operators}
        for name, best in self._uses[-self._policy.window :]:
            found[name].append(best)
        return found

    def _chosen(self, led: Mapping[str, Sequence[bool]]) -> str:
        if not self._fastest:
            return "random"
        uses = sum(map(len, led.values()))
        names = self._rng.permutation([*led]).tolist()
        return str(max(names, key=lambda name: self._worth(led[name], uses)))

    def _worth(self, led: Sequence[bool], uses: int) -> float:
        if not led:
            return math.inf
        unsure = math.sqrt(2.0 * math.log2(uses) / len(led))
        return credit(led) + self._policy.exploration * unsure

    def _parent(self) -> Point:
        return self._fastest[int(self._rng.integers(len(self._fastest)))].point

    def _wandered(self) -> Point:
        point = self._parent()
        for _ in range(int(self._rng.integers(1, _WANDERS + 1))):
            point = self._space.stepped(point, self._rng, near_share=1.0)
        return point

    def _crossed(self) -> Point:
        index, vector = self._parent()
        of_other, others = self._parent()
        if of_other != index:
            return self._space.stepped((index, vector), self._rng, near_share=0.0)
        ours = (self._rng.random(len(vector)) < 0.5).tolist()
        chosen = zip(vector, others, ours, strict=True)
        return index, tuple(one if mine else other for one, other, mine in chosen)


def credit(led: Sequence[bool]) -> float:
    """The area under the curve of an operator's uses, in order: whether each led to the best."""
    count = len(led)
    return sum(rank for rank, best in enumerate(led, 1) if best) * 2.0 / (count * (count + 1))
