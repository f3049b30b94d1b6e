"""Models that know how unsure they are, and what that makes a point worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.decisions.model import (
    BoostedTrees,
    DecisionModel,
    DecisionModelPolicy,
    check_installed,
)
from pytest_ansorbench.strategies.errors import require_at_least, require_method


class Acquisition(Protocol):
    """What trying a point is worth."""

    def worth(
        self, mean: NDArray[np.float64], deviation: NDArray[np.float64], best: float
    ) -> NDArray[np.float64]:
        """The worth of points, shape (points,).

        Args:
            mean: What is predicted of each, shape (points,).
            deviation: Standard deviation of that, shape (points,).
            best: The largest mean of a measured point.
        """
        ...


@dataclass(frozen=True)
class Mean:
    """What is predicted, however unsure that is."""

    def worth(
        self, mean: NDArray[np.float64], deviation: NDArray[np.float64], best: float
    ) -> NDArray[np.float64]:
        """The mean."""
        return mean


@dataclass(frozen=True)
class ExpectedImprovement:
    """By how much a point is expected to exceed the best, if predictions err normally.

    With z = (mean - best) / deviation, it is deviation * (z Phi(z) + phi(z)) (Jones, Schonlau and
    Welch 1998, Efficient global optimization of expensive black-box functions).
    """

    def worth(
        self, mean: NDArray[np.float64], deviation: NDArray[np.float64], best: float
    ) -> NDArray[np.float64]:
        """The expected improvement, 0 or more."""
        from scipy.special import ndtr

        deviation = np.maximum(deviation, 1e-12)
        z = (mean - best) / deviation
        density = np.exp(-0.5 * np.square(z)) / np.sqrt(2.0 * np.pi)
        improvement: NDArray[np.float64] = deviation * (z * ndtr(z) + density)
        return np.maximum(improvement, 0.0)


@dataclass(frozen=True)
class UpperConfidenceBound:
    """What a point may reach: its mean and some deviations (Srinivas et al., ICML 2010).

    Attributes:
        optimism: Deviations that are added.
    """

    optimism: float = 1.0

    def __post_init__(self) -> None:
        require_at_least(self, 0, "optimism")

    def worth(
        self, mean: NDArray[np.float64], deviation: NDArray[np.float64], best: float
    ) -> NDArray[np.float64]:
        """The bound."""
        return mean + self.optimism * deviation


@dataclass(frozen=True)
class Bagged:
    """Several models, each of trials that are drawn anew, and what they make of a point together.

    It predicts what a point is worth by the mean and the deviation of its members (bootstrap;
    AutoTVM's uncertainty estimator, arXiv:1805.08166, section 3.3). A search that takes a model of
    decisions takes this one: `AutoTVM(model=Bagged(RankingTrees("regression"),
    ExpectedImprovement()))`, or `Draft(model=Bagged(acquisition=UpperConfidenceBound()))`, which
    expects shares of the best throughput.

    Attributes:
        model: Of each member.
        acquisition: What makes a worth of the members' predictions.
        members: How many models there are.
    """

    model: DecisionModelPolicy = field(default_factory=BoostedTrees)
    acquisition: Acquisition = field(default_factory=Mean)
    members: int = 5

    def __post_init__(self) -> None:
        require_method(self, "model", "fit", example="BoostedTrees()")
        require_method(self, "acquisition", "worth", example="ExpectedImprovement()")
        require_at_least(self, 2, "members")

    def check_installed(self) -> None:
        """Ask the members' model."""
        check_installed(self.model)

    def fit(
        self,
        rows: NDArray[np.float32],
        throughput: NDArray[np.float64],
        trust: NDArray[np.float64],
        seed: int,
        prior: DecisionModel | None = None,
    ) -> DecisionModel | None:
        """Fit the members; None while there is too little to learn from for one of them."""
        rng = np.random.default_rng(seed)
        members = []
        if not len(rows):
            return self.model.fit(rows, throughput, trust, seed, prior)
        for member in range(self.members):
            drawn = rng.integers(len(rows), size=len(rows))
            model = self.model.fit(
                rows[drawn], throughput[drawn], trust[drawn], seed + member, prior
            )
            if model is None:
                return None
            members.append(model)
        best = float(_predicted(members, rows).mean(axis=0).max())
        return _Bag(self.acquisition, members, best)


@dataclass(frozen=True, eq=False)
class _Bag:
    acquisition: Acquisition
    members: Sequence[DecisionModel]
    best: float

    def predict(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """What points are worth, shape (points,)."""
        predicted = _predicted(self.members, rows)
        return self.acquisition.worth(predicted.mean(axis=0), predicted.std(axis=0), self.best)


def _predicted(members: Sequence[DecisionModel], rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Of each member, shape (members, points)."""
    return np.array([member.predict(rows) for member in members])
