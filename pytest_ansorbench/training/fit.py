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
    """Parameters of the boosting; small trees, few of them: the model has to be quick.

    Attributes:
        trees: Boosting rounds, each a tree per rule.
        depth: Largest depth of a tree.
        learning_rate: Shrinkage of each tree.
        seed: Of the sampling of rows and columns.
    """

    trees: int = 120
    depth: int = 4
    learning_rate: float = 0.1
    seed: int = 0


def fit(data: Sequence[Samples], labels: LabelSettings, settings: FitSettings) -> RuleModel:
    """Train a classifier on all workloads alike.

    Programs that no rule can change are left out. Each of the others counts by what is at stake,
    the difference between its best rule's gain and the mean over the rules, and each workload
    counts the same in all.

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
        stakes.append(_stakes(gains))
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
            "subsample": 0.8,
            "colsample_bytree": 0.5,
            "seed": settings.seed,
            "nthread": 1,  # so that equal data give an equal model
        },
        matrix,
        num_boost_round=settings.trees,
    )
    return RuleModel(booster, data[0].rules)


def _stakes(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    stakes: NDArray[np.float64] = gains.max(axis=1) - gains.mean(axis=1)
    total = stakes.sum()
    return stakes / total if total > 0.0 else stakes


def _mean_of_one(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scaled so that XGBoost's regularisation, which is absolute, means what it usually does."""
    mean = weights.mean()
    return weights / mean if mean > 0.0 else np.ones_like(weights)
