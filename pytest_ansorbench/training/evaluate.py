"""How good a rule model is, against never looking at the program at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pytest_ansorbench.training.dataset import Samples
from pytest_ansorbench.training.labels import LabelSettings, expected_gains, label

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Scores:
    """Scores of predicted rules on some workloads, each workload counting the same.

    Programs that no rule can change, such as all of an element-wise chain on a CPU, are left
    out: there is nothing to predict. Gains are expected improvements in score, in shares of a
    workload's best throughput; see `labels.expected_gains`.

    Attributes:
        programs: How many were predicted for.
        accuracy: Share of programs whose predicted rule is their label.
        accuracy_most_frequent: The same for always the most frequent label.
        gain: Mean gain of the predicted rules.
        gain_most_frequent: Of always the most frequent label.
        gain_stock: Of a rule drawn by the stock weights.
        gain_best: Of the best rule in hindsight. Part of that is luck of few draws.
        gain_repeatable: Of the rule that is best by half of the draws, gained in the other half:
            what is left of it without that luck, and so what a perfect prediction could gain.
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
    gain_repeatable: float
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
        programs = np.arange(len(gains))
        count += len(gains)
        rows.append(
            (
                np.mean(chosen == truth),
                np.mean(truth == most_frequent),
                gains[programs, chosen].mean(),
                gains[:, most_frequent].mean(),
                _stock_gains(gains, samples, mutable).mean(),
                gains.max(axis=1).mean(),
                _repeatable_gain(samples, mutable),
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
        gain_repeatable=means[6],
        measured=len(scored),
        measured_agreement=agree,
        measured_correlation=correlation,
    )


def _repeatable_gain(samples: Samples, chosen: NDArray[np.bool_]) -> float:
    """Each half of the draws chooses the rule, the other half says what it gains."""
    draws = samples.mutant_scores.shape[2]
    programs = np.arange(int(chosen.sum()))
    halves = [
        expected_gains(samples, part)[chosen]
        for part in (slice(None, draws // 2), slice(draws // 2, None))
    ]
    if draws < 2:
        return float(halves[1].max(axis=1).mean())
    one, other = halves
    return float(
        (one[programs, other.argmax(axis=1)] + other[programs, one.argmax(axis=1)]).mean() / 2.0
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
