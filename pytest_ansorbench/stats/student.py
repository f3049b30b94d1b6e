"""Student's t distribution, as far as intervals over a handful of seeds need it."""

from __future__ import annotations

import math


def central_probability(t: float, degrees: int) -> float:
    """Probability that a t-distributed variable lies between `-t` and `t`.

    Finite series for whole degrees of freedom: Abramowitz and Stegun, Handbook of Mathematical
    Functions, 26.7.3 and 26.7.4, https://personal.math.ubc.ca/~cbm/aands/page_948.htm
    """
    angle = math.atan2(t, math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = degrees % 2 == 1
    term = cosine if odd else 1.0
    total = term if degrees > 1 else 0.0
    for step in range(2 + odd, degrees, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    return 2.0 / math.pi * (angle + sine * total) if odd else sine * total


def t_quantile(confidence: float, degrees: int) -> float:
    """The t with `central_probability(t, degrees) == confidence`."""
    if degrees < 1:
        raise ValueError(f"bad degrees {degrees}: expected at least 1")
    low, high = 0.0, 1.0
    while central_probability(high, degrees) < confidence:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = (low + high) / 2.0
        if central_probability(middle, degrees) < confidence:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def upper_tail(t: float, degrees: int) -> float:
    """Probability that a t-distributed variable exceeds `t`."""
    if math.isinf(t):
        return 0.0 if t > 0.0 else 1.0
    outside = 1.0 - central_probability(abs(t), degrees)
    return outside / 2.0 if t >= 0.0 else 1.0 - outside / 2.0
