"""Gates that are judged after each of several repeats, until one look settles them.

A verdict rests on the recorded runs and on nothing else: it is that of the first look that settles
the gate, however many runs follow. So a session that stops by it, one that goes on for the sake of
another gate, and a replay of either come to the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from statistics import NormalDist
from typing import Final

from pytest_ansorbench.records import Gate
from pytest_ansorbench.stats.evidence import Evidence
from pytest_ansorbench.stats.figures import Figure
from pytest_ansorbench.stats.gate import Judge
from pytest_ansorbench.stats.student import upper_tail

HOPELESS: Final = 0.05
"""Chance to settle a gate within the most repeats, below which it is given up."""


def settled_gate(
    figure: Figure,
    limit: float,
    judge: Judge,
    evidence_at: Callable[[int, float], Evidence],
    *,
    repeats: int,
    cases: int = 1,
) -> Gate:
    """Judge one figure at the first look that settles it, else at the last.

    A look settles a gate if it holds or is broken, or if the repeats that are left will hardly
    change that it is undecided. Without looks it is judged once.

    Args:
        figure: The figure.
        limit: The worst value that is good enough.
        judge: Knows the looks.
        evidence_at: The evidence of the first so many repeats, with an interval of the given
            confidence.
        repeats: Seeds that there are.
        cases: How many cases are judged together.

    Returns:
        The gate, open if more repeats could well decide it.
    """
    looks = judge.criteria.looks
    if looks is None:
        return judge.gate(figure, evidence_at(repeats, judge.criteria.confidence), limit)
    for look in looks.upto(repeats):
        there = judge.at(look, cases)
        evidence = evidence_at(look, there.criteria.confidence)
        gate = there.gate(figure, evidence, limit)
        if gate.outcome != "undecided" or look >= looks.most:
            return gate
        if chance_to_settle(figure, evidence, limit, judge.at(looks.most, cases)) < HOPELESS:
            return gate
    return replace(gate, open=True)


def chance_to_settle(figure: Figure, evidence: Evidence, limit: float, last: Judge) -> float:
    """Chance that a gate holds or is broken after the most repeats, by what is seen so far.

    The predictive power of a normal theory: if the log figure of n repeats is x with a spread s of
    a single pair, that of m repeats is like x + s sqrt(1/n - 1/m) t, t of Student's distribution.
    Spiegelhalter, Freedman and Blackburn 1986, https://doi.org/10.1016/0197-2456(86)90003-6

    Args:
        figure: The figure.
        evidence: On it, so far.
        limit: The worst value that is good enough.
        last: The judge of the last look.

    Returns:
        The probability; 1 where too little is known.
    """
    assert last.criteria.looks is not None
    n, most = evidence.repeats, last.criteria.looks.most
    value, spread = evidence.estimate.value, evidence.spread()
    if n < 2 or n >= most or spread is None or not spread > 0.0:
        return 1.0
    if evidence.estimate.bound != "value" or not 0.0 < value < math.inf:
        return 1.0
    sign = 1.0 if figure.sense == "smaller" else -1.0
    loss = sign * math.log(value / limit)
    noise = math.log1p(last.criteria.noise) if sign > 0.0 else -math.log1p(-last.criteria.noise)
    scale = spread * math.sqrt(1.0 / n - 1.0 / most)
    error, normal = spread / math.sqrt(most), NormalDist()
    to_hold = normal.inv_cdf(0.5 + last.criteria.confidence / 2.0) * error
    to_break = noise + normal.inv_cdf(1.0 - last.level) * error
    degrees = evidence.cases * (n - 1)
    return upper_tail((loss + to_hold) / scale, degrees) + upper_tail(
        (to_break - loss) / scale, degrees
    )
