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


def expected_gains(samples: Samples, draws: slice = slice(None)) -> NDArray[np.float64]:
    """What each rule is worth to each program: the expected improvement in score.

    A mutant that is worse than its parent is not worth less than no mutant, since a search keeps
    the best; so a loss counts as no gain. A draw that fails counts as no gain either.

    Args:
        samples: Scores of programs and mutants.
        draws: Which of the draws to go by; all of them by default.

    Returns:
        Shape (programs, rules), in shares of the workload's best throughput.
    """
    gains = samples.mutant_scores[:, :, draws] - samples.scores[:, None, None]
    improvements: NDArray[np.float64] = np.nan_to_num(np.maximum(gains, 0.0)).mean(axis=2)
    return improvements


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
