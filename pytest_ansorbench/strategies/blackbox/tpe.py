"""Bayesian optimization by tree-structured Parzen estimators, Optuna's."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
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
from pytest_ansorbench.strategies.errors import StrategyError, require_at_least
from pytest_ansorbench.strategies.proposer import PointSetup, Proposer

_SKETCH: Final = "sketch"


@dataclass(frozen=True)
class ParzenEstimators(PointSearchPolicy):
    """Tree-structured Parzen estimators (Bergstra et al., NIPS 2011), by Optuna's `TPESampler`.

    Each decision is a category of its own: the choices of the fastest trials against those of all
    others. Which decisions there are depends on the sketch, which is the root of the tree. Points
    that were tried are left by small steps.

    Attributes:
        startup_trials: Trials at random before the first estimate, as in Optuna.
    """

    startup_trials: int = 10

    def __post_init__(self) -> None:
        require_at_least(self, 1, "startup_trials")

    def start(self, setup: PointSetup) -> Proposer:
        """The live search of one task of one run.

        Raises:
            StrategyError: Optuna is not installed.
        """
        _optuna()
        return super().start(setup)

    def search(self, space: DesignSpace, rng: np.random.Generator, trials: float) -> PointSearch:
        """A search without a trial."""
        return _ParzenEstimators(self, space, rng)


class _ParzenEstimators(PointSearch):
    def __init__(
        self, policy: ParzenEstimators, space: DesignSpace, rng: np.random.Generator
    ) -> None:
        self._policy = policy
        self._space = space
        self._sizes = [[knob.size for knob in one.knobs] for one in space.spaces]
        self._rng = rng
        self._optuna = _optuna()
        self._tried: list[Tried] = []

    def ask(self, wanted: int, taken: Container[Point]) -> Iterable[Suggestion]:
        # A study anew for each batch depends on nothing but what was told.
        sampler = self._optuna.samplers.TPESampler(
            seed=int(self._rng.integers(2**31)),
            n_startup_trials=self._policy.startup_trials,
            # As Optuna 4 has them; 5 has other defaults.
            multivariate=False,
            constant_liar=False,
        )
        study = self._optuna.create_study(direction="maximize", sampler=sampler)
        study.add_trials([*map(self._as_trial, self._tried)])
        while True:
            trial = study.ask()
            index = trial.suggest_categorical(_SKETCH, range(len(self._sizes)))
            choices = (
                trial.suggest_categorical(f"{index}.{place}", range(size))
                for place, size in enumerate(self._sizes[index])
            )
            point = (index, tuple(choices))
            yield Suggestion(self._space.fresh(point, taken, self._rng, near_share=1.0))

    def tell(self, tried: Sequence[Tried]) -> None:
        self._tried += tried

    def _as_trial(self, tried: Tried) -> Any:
        index, vector = tried.point
        chosen = {
            _SKETCH: (index, len(self._sizes)),
            **{
                f"{index}.{place}": pair
                for place, pair in enumerate(zip(vector, self._sizes[index], strict=True))
            },
        }
        categories = self._optuna.distributions.CategoricalDistribution
        return self._optuna.trial.create_trial(
            params={name: choice for name, (choice, _) in chosen.items()},
            distributions={name: categories(range(size)) for name, (_, size) in chosen.items()},
            value=tried.gflops,
        )


def _optuna() -> Any:
    """Optuna, without its lines on each study."""
    try:
        import optuna
    except ImportError as error:
        raise StrategyError(
            f"tpe takes Optuna ({error}): pip install 'pytest-ansorbench[tpe]'"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
