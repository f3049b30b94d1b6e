"""Fits the program model, and tells how good it is on tasks that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pytest_ansorbench.stats.ranks import rank_correlation
from pytest_ansorbench.strategies import ProgramModel
from pytest_ansorbench.training.programs import Programs

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DRAWN: Final = 64
"""Programs that a batch is picked from, as `draft` does at first."""
_PICKED: Final = 8
"""Programs of such a batch."""


@dataclass(frozen=True)
class ProgramFitSettings:
    """Parameters of the boosting.

    Attributes:
        trees: Boosting rounds.
        depth: Largest depth of a tree.
        learning_rate: Shrinkage of each tree.
        rows: Share of the programs that a tree sees.
        columns: Share of the features that a tree sees.
        floor: Weight of the slowest programs; the best of a task has that and 1.
        seed: Of the sampling of rows and columns.
    """

    trees: int = 250
    depth: int = 4
    learning_rate: float = 0.05
    rows: float = 0.8
    columns: float = 0.1
    floor: float = 0.1
    seed: int = 0


def fit_programs(
    data: Sequence[Programs], settings: ProgramFitSettings, base: ProgramModel | None = None
) -> ProgramModel:
    """Train a model on all tasks alike.

    Fast programs weigh most, and each task counts the same in all.

    Args:
        data: What was measured, at least one task.
        settings: Of the boosting.
        base: A model to go on from: its trees are kept, and the new ones correct them.

    Raises:
        ValueError: There is nothing to learn from.
    """
    import xgboost

    data = [one for one in data if np.isfinite(one.latencies_s).any()]
    if not data:
        raise ValueError("nothing to train on: expected at least one task with a valid trial")
    labels = [one.labels for one in data]
    weights = [np.exp2(of_task) + settings.floor for of_task in labels]
    matrix = xgboost.DMatrix(
        np.concatenate([one.features for one in data]),
        label=np.concatenate(labels),
        weight=np.concatenate([of_task / of_task.sum() * 100.0 for of_task in weights]),
    )
    booster = xgboost.train(
        {
            "max_depth": settings.depth,
            "eta": settings.learning_rate,
            "subsample": settings.rows,
            "colsample_bytree": settings.columns,
            "seed": settings.seed,
            "nthread": 1,  # so that equal data give an equal model
        },
        matrix,
        num_boost_round=settings.trees,
        xgb_model=None if base is None else base.booster.copy(),
    )
    return ProgramModel(booster)


def cross_predict_programs(
    data: Sequence[Programs], settings: ProgramFitSettings, folds: int = 6
) -> list[NDArray[np.float64]]:
    """Predict each task's programs by a model that was fitted to the others.

    Args:
        data: What was measured, at least two tasks.
        settings: Of the boosting.
        folds: Number of groups that tasks are left out in; every sixth together by default.

    Returns:
        The prediction for each program of each task.
    """
    predicted: dict[int, NDArray[np.float64]] = {}
    for fold in range(min(folds, len(data))):
        left_out = range(fold, len(data), folds)
        rest = [one for index, one in enumerate(data) if index not in left_out]
        model = fit_programs(rest, settings)
        predicted |= {index: model.predict(data[index].features) for index in left_out}
    return [predicted[index] for index in sorted(predicted)]


@dataclass(frozen=True)
class ProgramScores:
    """How well throughput is predicted, as means over tasks.

    Attributes:
        tasks: Number of tasks.
        rank_correlation: Spearman's, of predicted and measured latencies.
        picked: Best throughput among the 8 programs of 64 that the model likes best, over the
            best of all the task's programs; the mean over draws of 64.
        drawn: The same for 8 programs picked at random.
    """

    tasks: int
    rank_correlation: float
    picked: float
    drawn: float


def score_programs(
    data: Sequence[Programs], predicted: Sequence[NDArray[np.float64]], *, seed: int = 0
) -> ProgramScores:
    """Judge predictions.

    Args:
        data: What was measured.
        predicted: The prediction for each program of each task.
        seed: Of the draws.

    Returns:
        Means over the tasks that have two programs of different speed.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for one, guess in zip(data, predicted, strict=True):
        labels = one.labels
        if len(np.unique(labels)) < 2:
            continue
        throughput = np.exp2(labels)
        draws = [
            rng.choice(len(labels), min(_DRAWN, len(labels)), replace=False) for _ in range(200)
        ]
        picked = np.mean([throughput[d[np.argsort(-guess[d])[:_PICKED]]].max() for d in draws])
        drawn = np.mean([throughput[d[:_PICKED]].max() for d in draws])
        rows.append((rank_correlation(guess, labels) or 0.0, picked, drawn))
    means = np.mean(rows, axis=0) if rows else np.full(3, np.nan)
    return ProgramScores(len(rows), *(float(mean) for mean in means))
