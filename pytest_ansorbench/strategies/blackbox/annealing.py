"""Simulated annealing on measured throughput."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pytest_ansorbench.strategies.decisions.design_space import DesignSpace
from pytest_ansorbench.strategies.decisions.point_search import (
    PointSearch,
    PointSearchPolicy,
    Suggestion,
    Tried,
)
from pytest_ansorbench.strategies.decisions.space import Point
from pytest_ansorbench.strategies.errors import require_at_least, require_positive, require_share


@dataclass(frozen=True)
class Annealing(PointSearchPolicy):
    """Simulated annealing without a model (Kirkpatrick, Gelatt and Vecchi, Science 220, 1983).

    Chains walk through the space side by side, a trial each in a batch, each as far as to a point
    that nobody has had. A chain goes to a point that is slower with the chance

        (throughput there / throughput here) ** (1 / temperature)

    which is Metropolis' rule for the logarithm of latency as energy. The temperature falls to 0 as
    the trials that are expected are spent.

    Attributes:
        chains: Walks side by side.
        temperature: At the start: with 0.2, half as fast is accepted one time in 32.
        near_share: Share of steps to a near choice; see `DecisionSpace.stepped`.
    """

    chains: int = 4
    temperature: float = 0.2
    near_share: float = 0.85

    def __post_init__(self) -> None:
        require_at_least(self, 1, "chains")
        require_positive(self, "temperature")
        require_share(self, "near_share")

    def search(self, space: DesignSpace, rng: np.random.Generator, trials: float) -> PointSearch:
        """A search whose chains start at random points."""
        return _Annealing(self, space, rng, trials)


class _Annealing(PointSearch):
    def __init__(
        self, policy: Annealing, space: DesignSpace, rng: np.random.Generator, trials: float
    ) -> None:
        self._policy = policy
        self._space = space
        self._rng = rng
        self._expected = trials
        self._trials = 0
        # Where each chain is, if it is anywhere, and how many trials it has had.
        self._at: list[Tried | None] = [None] * policy.chains
        self._steps = [0] * policy.chains

    def ask(self, wanted: int, taken: Container[Point]) -> Iterable[Suggestion]:
        for chain in sorted(range(len(self._at)), key=self._steps.__getitem__):
            here = self._at[chain]
            point = self._space.draw(self._rng) if here is None else here.point
            point = self._space.fresh(point, taken, self._rng, self._policy.near_share)
            # Whether it is accepted is drawn now: a resumed run has to do the same.
            yield Suggestion(point, {"chain": chain, "luck": self._rng.random()})

    def tell(self, tried: Sequence[Tried]) -> None:
        for one in tried:
            if "chain" in one.note:
                chain = one.note["chain"]
                self._steps[chain] += 1
                if self._accepts(self._at[chain], one):
                    self._at[chain] = one
            self._trials += 1

    def _accepts(self, here: Tried | None, there: Tried) -> bool:
        if here is None or there.gflops >= here.gflops:
            return True
        temperature = self._policy.temperature * (1.0 - self._trials / self._expected)
        ratio: float = there.gflops / here.gflops
        luck: float = there.note["luck"]
        return temperature > 0.0 and luck < ratio ** (1.0 / temperature)
