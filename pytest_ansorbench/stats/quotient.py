"""Division where 0 and infinity are ordinary figures."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.stats.trajectory import Floats

UNDEFINED: Final = Estimate(value=0.0, low=0.0, high=math.inf, bound="undefined")
"""There was nothing to compare."""


def quotient(numerator: float, denominator: float) -> float:
    """Divide; 0/0 and inf/inf are NaN."""
    return float(quotients(np.array([numerator]), np.array([denominator]))[0])


def quotients(numerators: Floats, denominators: Floats) -> Floats:
    """`quotient` elementwise, both of one shape."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = np.divide(numerators, denominators)
    return result
