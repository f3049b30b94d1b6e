"""Fits the classifier that predicts a program's mutation rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pytest_ansorbench.strategies.rule_model import RuleModel
from pytest_ansorbench.training.dataset import Samples
from pytest_ansorbench.training.labels import LabelSettings, expected_gains, label

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class FitSettings:
    """Parameters of the boosting: many small steps by single splits.

    Deeper trees learn the training workloads by heart: they gain more there and less on
    workloads that were left out, as `cross_predict` shows.

    Attributes:
        trees: Boosting rounds, each a tree per rule.
        depth: Largest depth of a tree.
        learning_rate: Shrinkage of each tree.
        rows: Share of the programs that a tree sees.
        columns: Share of the features that a tree sees.
        seed: Of the sampling of rows and columns.
    """

    trees: int = 200
    depth: int = 1
    learning_rate: float = 0.05
    rows: float = 0.7
    columns: float = 0.2
    seed: int = 0


def fit(data: Sequence[Samples], labels: LabelSettings, settings: FitSettings) -> RuleModel:
    """Train a classifier on all workloads alike.

    Programs that no rule can change are left out. Each of the others counts by what is at stake,
    the difference between its best rule's gain and the mean over the rules, times its score,
    since parents are drawn by score; and each workload counts the same in all.

    Args:
        data: Samples with the same rules.
        labels: How labels are taken.
        settings: Of the boosting.

    Returns:
        The model.

    Raises:
        ValueError: There are no samples, or their rules differ.
    """
    import xgboost

    rules = {samples.rules for samples in data}
    if len(rules) != 1:
        raise ValueError(f"bad data set: expected samples with the same rules, got {sorted(rules)}")
    features, targets, stakes = [], [], []
    for samples in data:
        gains = expected_gains(samples)[samples.mutable]
        features.append(samples.features[samples.mutable])
        targets.append(label(gains, samples.weights, labels))
        stakes.append(_stakes(gains, samples.scores[samples.mutable]))
    matrix = xgboost.DMatrix(
        np.concatenate(features),
        label=np.concatenate(targets),
        weight=_mean_of_one(np.concatenate(stakes)),
    )
    booster = xgboost.train(
        {
            "objective": "multi:softprob",
            "num_class": len(data[0].rules),
            "max_depth": settings.depth,
            "eta": settings.learning_rate,
            "subsample": settings.rows,
            "colsample_bytree": settings.columns,
            "seed": settings.seed,
            "nthread": 1,  # so that equal data give an equal model
        },
        matrix,
        num_boost_round=settings.trees,
    )
    return RuleModel(booster, data[0].rules)


def cross_predict(
    data: Sequence[Samples], labels: LabelSettings, settings: FitSettings, folds: int = 4
) -> list[NDArray[np.intp]]:
    """Predict each workload's rules by a model that was fitted to the others.

    Args:
        data: Samples with the same rules.
        labels: How labels are taken.
        settings: Of the boosting.
        folds: Number of groups that workloads are left out in; every fourth together by default.

    Returns:
        The rule predicted for each program of each workload.
    """
    predictions: dict[int, NDArray[np.intp]] = {}
    for fold in range(min(folds, len(data))):
        left_out = range(fold, len(data), folds)
        rest = [samples for index, samples in enumerate(data) if index not in left_out]
        if any(samples.mutable.any() for samples in rest):
            model = fit(rest, labels, settings)
            predictions |= {index: model.predict(data[index].features) for index in left_out}
    return [predictions[index] for index in sorted(predictions)]


def _stakes(gains: NDArray[np.float64], scores: NDArray[np.float32]) -> NDArray[np.float64]:
    stakes: NDArray[np.float64] = (gains.max(axis=1) - gains.mean(axis=1)) * scores
    total = stakes.sum()
    return stakes / total if total > 0.0 else stakes


def _mean_of_one(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scaled so that XGBoost's regularisation, which is absolute, means what it usually does."""
    mean = weights.mean()
    return weights / mean if mean > 0.0 else np.ones_like(weights)
