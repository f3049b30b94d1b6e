"""Which mutation rule a program should be mutated by, in hindsight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pytest_ansorbench.training.dataset import Samples

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class LabelSettings:
    """How labels are taken from scores.

    Attributes:
        tie: Rules whose gain is within this share of the largest one count as equal; the paper
            (section 5.5) leaves such ties to the rules' weights without saying how near is near.
    """

    tie: float = 0.1


def improvements(samples: Samples) -> NDArray[np.float64]:
    """By how much each mutant is better than its parent; 0 if it is worse or was none at all.

    Args:
        samples: Scores of programs and mutants.

    Returns:
        Shape (programs, rules, draws), in shares of the workload's best throughput.
    """
    gains = samples.mutant_scores - samples.scores[:, None, None]
    improved: NDArray[np.float64] = np.nan_to_num(np.maximum(gains, 0.0)).astype(float)
    return improved


def expected_gains(samples: Samples) -> NDArray[np.float64]:
    """The gain of each rule for each program: the improvement by the best of its draws.

    A search keeps the best and breeds from a good program again and again. So a rule with many
    outcomes, few of them excellent, is worth more to it than one that gives the same small
    improvement each time.

    Args:
        samples: Scores of programs and mutants.

    Returns:
        Shape (programs, rules), in shares of the workload's best throughput.
    """
    gains: NDArray[np.float64] = improvements(samples).max(axis=2)
    return gains


def label(
    gains: NDArray[np.float64], weights: NDArray[np.float64], settings: LabelSettings
) -> NDArray[np.intp]:
    """The rule with the largest expected gain; of near ties the one with the largest weight.

    Args:
        gains: Shape (programs, rules).
        weights: Stock weights, shape (rules,).
        settings: What a near tie is.

    Returns:
        Indices, shape (programs,). A program that no rule improves gets the largest weight.
    """
    near = gains >= (1.0 - settings.tie) * gains.max(axis=1, keepdims=True)
    labels: NDArray[np.intp] = np.where(near, weights, -1.0).argmax(axis=1)
    return labels
