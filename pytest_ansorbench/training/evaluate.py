"""How good a rule model is, against never looking at the program at all."""

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
class Scores:
    """Scores of a model on some workloads, each workload counting the same.

    Programs that no rule can change, such as all of an element-wise chain on a CPU, are left
    out: there is nothing to predict.

    Gains are expected improvements in score, in shares of a workload's best throughput; see
    `labels.expected_gains`.

    Attributes:
        programs: How many were predicted for.
        accuracy: Share of programs whose predicted rule is their label.
        accuracy_most_frequent: The same for always the most frequent label.
        gain: Mean gain of the predicted rules.
        gain_most_frequent: Of always the most frequent label.
        gain_stock: Of a rule drawn by the stock weights.
        gain_best: Of the best rule in hindsight, which nothing can surpass.
        measured: Mutants that were measured to check the scores.
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
    model: RuleModel, data: Sequence[Samples], labels: LabelSettings, most_frequent: int
) -> Scores:
    """Score a model.

    Args:
        model: The model.
        data: Workloads, best such as it has not seen.
        labels: How labels are taken.
        most_frequent: The rule that is the most frequent label where the model was trained.

    Returns:
        Its scores.

    Raises:
        ValueError: No rule can change anything in any of them.
    """
    rows, count = [], 0
    for samples in data:
        mutable = samples.mutable
        if not mutable.any():
            continue
        gains = expected_gains(samples)[mutable]
        truth = label(gains, samples.weights, labels)
        predicted = model.predict(samples.features[mutable])
        programs = np.arange(len(gains))
        count += len(gains)
        rows.append(
            (
                np.mean(predicted == truth),
                np.mean(truth == most_frequent),
                gains[programs, predicted].mean(),
                gains[:, most_frequent].mean(),
                _stock_gains(gains, samples, mutable).mean(),
                gains.max(axis=1).mean(),
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


def _stock_gains(
    gains: NDArray[np.float64], samples: Samples, chosen: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Expected gain of the engine's draw, which draws again where a rule has nothing to change."""
    draws = samples.mutant_scores.shape[2]
    applicable = 1.0 - samples.inapplicable[chosen] / draws
    chances = samples.weights * applicable
    # A draw that is known to change something gains more than the mean over all draws.
    per_change = np.divide(gains, applicable, out=np.zeros_like(gains), where=applicable > 0.0)
    expected: NDArray[np.float64] = (chances * per_change).sum(axis=1) / chances.sum(axis=1)
    return expected


def _changes(data: Sequence[Samples]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Change in score from parent to first valid mutant: as predicted, and as measured."""
    scored, measured = [], []
    for samples in data:
        mutants = samples.mutant_scores[samples.checked]
        for program, rule in np.ndindex(samples.mutant_s.shape):
            draws = mutants[program, rule]
            valid = draws[np.isfinite(draws)]
            latency_s, parent_s = samples.mutant_s[program, rule], samples.parent_s[program]
            if len(valid) and np.isfinite(latency_s) and np.isfinite(parent_s):
                scored.append(float(valid[0] - samples.scores[samples.checked[program]]))
                measured.append(float(samples.best_s / latency_s - samples.best_s / parent_s))
    return np.asarray(scored), np.asarray(measured)
