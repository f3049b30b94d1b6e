"""What more trials of a task may gain: what a scheduler is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

# Before anything was predicted: a second batch is the first that a model has chosen.
_UNKNOWN: Final = 0.5
# Errors that the size of the next ones is told from.
_REMEMBERED: Final = 32
# Points of the integral.
_STEPS: Final = 64


def expected_gain(predicted: Sequence[float], errors: Sequence[float]) -> float:
    """Share of the best latency that a batch is expected to save.

    Expected improvement (Jones, Schonlau and Welch 1998, Efficient global optimization of
    expensive black-box functions) of the fastest of a batch, if predictions err independently
    and normally, as far as the last ones did: with x as throughput over the best,

        integral from 1 of P(the fastest exceeds x) dx

    One half if nothing was predicted so far.
    """
    from scipy.special import ndtr

    if not predicted or not errors:
        return _UNKNOWN
    deviation = float(np.sqrt(np.mean(np.square(errors[-_REMEMBERED:]))))
    promised = np.asarray(predicted, dtype=np.float64)
    if deviation <= 0.0:
        gain = max(0.0, float(promised.max()) - 1.0)
    else:
        points = np.linspace(1.0, max(1.0, float(promised.max())) + 5.0 * deviation, _STEPS)
        below = ndtr((points[:, None] - promised) / deviation).prod(axis=1)
        above = 1.0 - below
        gain = float(((above[1:] + above[:-1]) / 2.0 * np.diff(points)).sum())
    return gain / (1.0 + gain)
