"""How good a rule model is, against never looking at the program at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pytest_ansorbench.training.dataset import Samples
from pytest_ansorbench.training.labels import LabelSettings, expected_gains, improvements, label

if TYPE_CHECKING:
    from numpy.typing import NDArray


_SIMULATIONS: Final = 64
_LEAST_WEIGHT: Final = 1e-6
"""So that weights never sum to nothing."""


@dataclass(frozen=True)
class Scores:
    """Scores of predicted rules on some workloads, each workload counting the same.

    Programs that no rule can change, such as all of an element-wise chain on a CPU, are left
    out: there is nothing to predict. Gains are expected improvements in score, in shares of a
    workload's best throughput (`labels.expected_gains`); in their means a program counts by its
    score, as parents are drawn.

    Attributes:
        programs: How many were predicted for.
        accuracy: Share of programs whose predicted rule is their label.
        accuracy_most_frequent: The same for always the most frequent label.
        gain: Mean gain of the predicted rules.
        gain_most_frequent: Of always the most frequent label.
        gain_stock: Of a rule drawn by the stock weights.
        gain_best: Of the best rule in hindsight; part of that is the luck of few draws.
        measured: Mutants that were measured and that the cost model expects to be no equal of
            their parents.
        measured_agreement: Share of them where measured and predicted change have the same sign.
        measured_correlation: Pearson correlation of measured and predicted change in score.
    """

    programs: int
    accuracy: float
    accuracy_most_frequent: float
    gain: float
    gain_most_frequent: float
    gain_stock: float
    gain_best: float
    measured: int
    measured_agreement: float
    measured_correlation: float


def evaluate(
    data: Sequence[Samples],
    predictions: Sequence[NDArray[np.intp]],
    labels: LabelSettings,
    most_frequent: int,
) -> Scores:
    """Score predicted rules.

    Args:
        data: Workloads.
        predictions: The rule predicted for each program of each workload, by a model that has
            not seen it.
        labels: How labels are taken.
        most_frequent: The rule that is the most frequent label where the model was trained.

    Returns:
        The scores.

    Raises:
        ValueError: No rule can change anything in any of the workloads.
    """
    rows, count = [], 0
    for samples, predicted in zip(data, predictions, strict=True):
        mutable = samples.mutable
        if not mutable.any():
            continue
        gains = expected_gains(samples)[mutable]
        truth = label(gains, samples.weights, labels)
        chosen = predicted[mutable]
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
    if not rows:
        raise ValueError("bad workloads: no mutation rule can change any of their programs")
    means = [float(mean) for mean in np.mean(rows, axis=0)]
    scored, measured = _changes(data)
    agree = float(np.mean(np.sign(scored) == np.sign(measured))) if len(scored) else 0.0
    varies = len(scored) > 1 and scored.std() > 0.0 and measured.std() > 0.0
    correlation = float(np.corrcoef(scored, measured)[0, 1]) if varies else 0.0
    return Scores(
        programs=count,
        accuracy=means[0],
        accuracy_most_frequent=means[1],
        gain=means[2],
        gain_most_frequent=means[3],
        gain_stock=means[4],
        gain_best=means[5],
        measured=len(scored),
        measured_agreement=agree,
        measured_correlation=correlation,
    )


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


def _changes(data: Sequence[Samples]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Change in score from parent to first valid mutant, if any: predicted, and measured."""
    scored, measured = [], []
    for samples in data:
        mutants = samples.mutant_scores[samples.checked]
        for program, rule in np.ndindex(samples.mutant_s.shape):
            draws = mutants[program, rule]
            valid = draws[np.isfinite(draws)]
            latency_s, parent_s = samples.mutant_s[program, rule], samples.parent_s[program]
            change = float(valid[0] - samples.scores[samples.checked[program]]) if len(valid) else 0
            if change and np.isfinite(latency_s) and np.isfinite(parent_s):
                scored.append(change)
                measured.append(float(samples.best_s / latency_s - samples.best_s / parent_s))
    return np.asarray(scored), np.asarray(measured)
