"""Fits the program model, and tells how good it is on tasks that it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.stats.ranks import rank_correlation
from pytest_ansorbench.strategies import ProgramModel
from pytest_ansorbench.strategies.boosting import grown_trees
from pytest_ansorbench.training.cards import cross_predict
from pytest_ansorbench.training.programs import Programs

# Programs that a batch is picked from, as `draft` does at first.
_DRAWN: Final = 64
# Programs of such a batch.
_PICKED: Final = 8
_DRAWS: Final = 200


@dataclass(frozen=True)
class ProgramFitSettings:
    """Parameters of the boosting."""

    trees: int = 250
    depth: int = 4
    learning_rate: float = 0.05
    # Share of the programs that a tree sees.
    rows: float = 0.8
    # Share of the features that a tree sees.
    columns: float = 0.1
    # Weight of the slowest programs; the best of a task has that and 1.
    floor: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.trees < 1:
            raise ValueError(f"bad trees {self.trees}: expected at least 1, e.g. 250")


def fit_programs(
    data: Sequence[Programs], settings: ProgramFitSettings, base: ProgramModel | None = None
) -> ProgramModel:
    """Train a model on all tasks alike: fast programs weigh most, each task the same in all.

    The trees of `base` are kept, and the new ones correct them.
    """
    data = [one for one in data if np.isfinite(one.latencies_s).any()]
    if not data:
        raise ValueError("nothing to train on: expected at least one task with a valid trial")
    labels = [one.labels for one in data]
    weights = [np.exp2(of_task) + settings.floor for of_task in labels]
    booster = grown_trees(
        np.concatenate([one.features for one in data]),
        np.concatenate(labels),
        weight=np.concatenate([of_task / of_task.sum() * 100.0 for of_task in weights]),
        base=None if base is None else base.booster.copy(),
        trees=settings.trees,
        seed=settings.seed,
        max_depth=settings.depth,
        eta=settings.learning_rate,
        subsample=settings.rows,
        colsample_bytree=settings.columns,
    )
    return ProgramModel(booster)


def cross_predict_programs(
    data: Sequence[Programs], settings: ProgramFitSettings, folds: int = 6
) -> list[NDArray[np.float64]]:
    """Predict each task's programs by a model that was fitted to the others."""

    def fitted(rest: Sequence[Programs]) -> Callable[[Programs], NDArray[np.float64]]:
        model = fit_programs(rest, settings)
        return lambda one: model.predict(one.features)

    return cross_predict(data, folds, fitted, attrgetter("subject"))


@dataclass(frozen=True)
class ProgramScores:
    """How well throughput is predicted, as means over tasks, each as often as it was measured."""

    tasks: int
    # Spearman's, of predicted and measured latencies.
    rank_correlation: float
    # Best throughput among the 8 programs of 64 that the model likes best, over the best of all the
    # task's programs; the mean over draws of 64.
    picked: float
    # The same for 8 programs picked at random.
    drawn: float


def score_programs(
    data: Sequence[Programs], predicted: Sequence[NDArray[np.float64]]
) -> ProgramScores:
    """Judge predictions on the tasks that have two programs of different speed."""
    rng = np.random.default_rng(0)
    rows, subjects = [], set()
    for one, guess in zip(data, predicted, strict=True):
        labels = one.labels
        if len(np.unique(labels)) < 2:
            continue
        throughput = np.exp2(labels)
        count = min(_DRAWN, len(labels))
        draws = [rng.choice(len(labels), count, replace=False) for _ in range(_DRAWS)]
        picked = np.mean([throughput[d[np.argsort(-guess[d])[:_PICKED]]].max() for d in draws])
        drawn = np.mean([throughput[d[:_PICKED]].max() for d in draws])
        subjects.add(one.subject)
        rows.append((rank_correlation(guess, labels) or 0.0, picked, drawn))
    means = np.mean(rows, axis=0) if rows else np.full(3, np.nan)
    return ProgramScores(len(subjects), *(float(mean) for mean in means))
