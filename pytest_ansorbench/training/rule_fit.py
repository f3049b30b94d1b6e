"""The classifier of mutation rules: its labels, its fit, and what its predictions gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.boosting import grown_trees
from pytest_ansorbench.strategies.rule_model import RuleModel
from pytest_ansorbench.training.rule_samples import Samples

# Rules whose gain is within this share of the largest count as equal. The paper (section 5.5)
# leaves such ties to the rules' weights without saying how near is near.
TIE: Final = 0.1

_SIMULATIONS: Final = 64
# So that weights never sum to nothing.
_LEAST_WEIGHT: Final = 1e-6


@dataclass(frozen=True)
class FitSettings:
    """Parameters of the boosting: many small steps by single splits.

    Deeper trees learn the training workloads by heart: they gain more there and less on
    workloads that were left out.
    """

    # Boosting rounds, each a tree for each rule.
    trees: int = 200
    depth: int = 1
    learning_rate: float = 0.05
    # Share of the programs that a tree sees.
    rows: float = 0.7
    # Share of the features that a tree sees.
    columns: float = 0.2
    seed: int = 0


@dataclass(frozen=True)
class Scores:
    """What predicted rules are worth on some workloads, each workload counting the same.

    Gains are expected improvements in score, in shares of a workload's best throughput; in their
    means a program counts by its score, as parents are drawn.
    """

    programs: int
    # Share of programs whose predicted rule is their label.
    accuracy: float
    # The same for always the most frequent label.
    accuracy_most_frequent: float
    gain: float
    gain_most_frequent: float
    # Of rules drawn by the stock weights.
    gain_stock: float
    # Of the best rule in hindsight, the luck of few draws included.
    gain_best: float


def improvements(samples: Samples) -> NDArray[np.float64]:
    """By how much each mutant is better than its parent, shape (programs, rules, draws).

    0 for one that is worse, or no program.
    """
    gains = samples.mutant_scores - samples.scores[:, None, None]
    improved: NDArray[np.float64] = np.nan_to_num(np.maximum(gains, 0.0)).astype(float)
    return improved


def expected_gains(samples: Samples) -> NDArray[np.float64]:
    """The improvement by the best of a rule's draws, shape (programs, rules).

    A search keeps the best and breeds from a good program again and again. So a rule with many
    outcomes, few of them excellent, is worth more to it than one that gives the same small
    improvement each time.
    """
    gains: NDArray[np.float64] = improvements(samples).max(axis=2)
    return gains


def label(
    gains: NDArray[np.float64], weights: NDArray[np.float64], tie: float = TIE
) -> NDArray[np.intp]:
    """Of each program the rule that gains most; of near ties the one with the largest weight."""
    near = gains >= (1.0 - tie) * gains.max(axis=1, keepdims=True)
    labels: NDArray[np.intp] = np.where(near, weights, -1.0).argmax(axis=1)
    return labels


def changeable(data: Sequence[Samples]) -> list[Samples]:
    """The workloads that rules can change; of an element-wise chain on a CPU they cannot."""
    found = [samples for samples in data if samples.mutable.any()]
    if not found:
        names = ", ".join(samples.case for samples in data)
        raise ValueError(f"bad workloads {names}: no mutation rule can change their programs")
    return found


def label_counts(data: Sequence[Samples]) -> NDArray[np.intp]:
    """How often each rule is the label, shape (rules,)."""
    labels = [_labelled(samples)[1] for samples in data]
    return np.bincount(np.concatenate(labels), minlength=len(data[0].rules))


def fit(data: Sequence[Samples], settings: FitSettings) -> RuleModel:
    """Train a classifier on all workloads alike.

    A program counts by what is at stake, the difference between its best rule's gain and the mean
    over the rules, times its score, since parents are drawn by score; and each workload counts the
    same in all.
    """
    rules = {samples.rules for samples in data}
    if len(rules) != 1:
        raise ValueError(f"bad data set: expected samples with the same rules, got {sorted(rules)}")
    features, targets, stakes = [], [], []
    for samples in changeable(data):
        gains, labels = _labelled(samples)
        features.append(samples.features[samples.mutable])
        targets.append(labels)
        stakes.append(_stakes(gains, samples.scores[samples.mutable]))
    booster = grown_trees(
        np.concatenate(features),
        np.concatenate(targets),
        weight=_mean_of_one(np.concatenate(stakes)),
        trees=settings.trees,
        seed=settings.seed,
        objective="multi:softprob",
        num_class=len(data[0].rules),
        max_depth=settings.depth,
        eta=settings.learning_rate,
        subsample=settings.rows,
        colsample_bytree=settings.columns,
    )
    return RuleModel(booster, data[0].rules)


def evaluate(
    data: Sequence[Samples], predictions: Sequence[NDArray[np.intp]], most_frequent: int
) -> Scores:
    """Score the rule that was predicted for each program of each workload.

    `most_frequent` is the most frequent label where the model was trained.
    """
    predicted_for = dict(zip(map(id, data), predictions, strict=True))
    rows, count = [], 0
    for samples in changeable(data):
        mutable = samples.mutable
        gains, truth = _labelled(samples)
        chosen = predicted_for[id(samples)][mutable]
        weights = samples.scores[mutable].astype(float) + _LEAST_WEIGHT
        programs = np.arange(len(gains))
        count += len(gains)
        rows.append(
            (
                np.mean(chosen == truth),
                np.mean(truth == most_frequent),
                np.average(gains[programs, chosen], weights=weights),
                np.average(gains[:, most_frequent], weights=weights),
                _stock_gain(samples, mutable, weights),
                np.average(gains.max(axis=1), weights=weights),
            )
        )
    return Scores(count, *(float(mean) for mean in np.mean(rows, axis=0)))


def _labelled(samples: Samples) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Gains and labels of the programs that can be mutated."""
    gains = expected_gains(samples)[samples.mutable]
    return gains, label(gains, samples.weights)


def _stock_gain(
    samples: Samples, mutable: NDArray[np.bool_], weights: NDArray[np.float64]
) -> float:
    """Gain where the rule of each draw is drawn by the stock weights, as the engine does.

    The engine draws again where a rule has nothing to change; so here, among the rules that
    changed the program at all.
    """
    gains = improvements(samples)[mutable]
    programs, rules, draws = gains.shape
    applicable = samples.inapplicable[mutable] < draws
    chances = samples.weights * applicable
    cumulative = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)
    rng = np.random.default_rng(0)
    best = []
    for _ in range(_SIMULATIONS):
        points = rng.random((programs, draws))
        drawn = (points[:, :, None] > cumulative[:, None, :]).sum(axis=2).clip(max=rules - 1)
        chosen = gains[np.arange(programs)[:, None], drawn, np.arange(draws)[None, :]]
        best.append(chosen.max(axis=1))
    return float(np.average(np.mean(best, axis=0), weights=weights))


def _stakes(gains: NDArray[np.float64], scores: NDArray[np.float32]) -> NDArray[np.float64]:
    stakes: NDArray[np.float64] = (gains.max(axis=1) - gains.mean(axis=1)) * scores
    total = stakes.sum()
    return stakes / total if total > 0.0 else stakes


def _mean_of_one(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scaled so that XGBoost's regularisation, which is absolute, means what it usually does."""
    mean = weights.mean()
    return weights / mean if mean > 0.0 else np.ones_like(weights)
