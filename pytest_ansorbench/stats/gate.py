"""Whether a comparison keeps what was promised: holds, broken, or undecided.

A gate *holds* if the whole interval is on the good side of its limit. It is *broken* if

1. the whole interval is on the bad side, by more than the noise threshold, and
2. chance alone would make an exactly good enough challenger look that bad less often than the
   gate's share of the session's false alarms (`relabellings`).

Everything in between is *undecided*. The first rule says how large the loss is, the second how
sure it is: with few seeds an interval leaves out more than it says, and with many gates some
interval is off by chance. The share is the rate of false alarms divided by the number of gates
(Bonferroni), which bounds the chance of any false alarm in the session, however the gates depend
on each other. A test's outcome stands before the next test runs, so a stepwise correction (Holm)
is out of reach.

A gate may be judged after each of several repeats. A verdict rests on the recorded runs and on
nothing else: it is that of the first look that settles the gate, however many runs follow. So a
session that stops by it, one that goes on for the sake of another gate, and a replay of either come
to the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.special import stdtr

from pytest_ansorbench.records import Advice, Estimate, Gate, Outcome, Reason
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.estimates import UNDEFINED
from pytest_ansorbench.stats.evidence import Evidence
from pytest_ansorbench.stats.figures import Figure
from pytest_ansorbench.stats.power import MOST_REPEATS, POWER, detectable_effect, t_quantile
from pytest_ansorbench.stats.relabellings import smallest_chance
from pytest_ansorbench.stats.spending import level_at

# Standard errors by which an undecided figure is nearer to its limit than it looks. By simulation
# (`benchmarks/advice.py`) 70% of gates are then settled when they are said to be
_LUCK: Final = 0.5
# Chance to settle a gate within the most repeats, below which it is given up
_HOPELESS: Final = 0.05


def families(of_cases: int, of_suites: int) -> tuple[int, int]:
    """How false alarms are shared out between the gates of cases and those of suites.

    If there are both, each kind has half of them. A suite has few gates and cases have many, and
    five repeats of one case have 252 relabellings only: the suite's share is large enough for
    counting alone to show that it loses.
    """
    shares = 2 if of_cases and of_suites else 1
    return max(1, shares * of_cases), max(1, shares * of_suites)


@dataclass(frozen=True, slots=True)
class Judge:
    """Holds figures against limits, under the criteria of one session."""

    criteria: Criteria  # confidence, noise threshold and false alarms
    # Over how many gates the false alarms of the session could be shared out if all had as much
    # as these, by `families`
    family: int

    @property
    def level(self) -> float:
        """The gate's share of the session's false alarms."""
        return self.criteria.false_alarms / max(1, self.family)

    def at(self, repeats: int, cases: int = 1) -> Judge:
        """The judge at one look of several, whose rates of error hold over all of them."""
        looks = self.criteria.looks
        if looks is None:
            return self
        # Where counting ends Student's t goes on, so that every look has a level.
        level = level_at(looks, repeats, self.level, 0)
        criteria = replace(self.criteria, false_alarms=level * max(1, self.family))
        if not looks.if_suspect:  # else there is one look at which a gate can well hold
            tail = level_at(looks, repeats, (1.0 - self.criteria.confidence) / 2.0, cases)
            criteria = replace(criteria, confidence=1.0 - 2.0 * tail)
        return replace(self, criteria=criteria)

    def gate(self, figure: Figure, evidence: Evidence, limit: float) -> Gate:
        outcome, reason, p_value = self._outcome(figure, evidence, limit)
        return Gate(
            metric=figure.key,
            limit=limit,
            outcome=outcome,
            reason=reason,
            estimate=evidence.estimate,
            repeats=evidence.repeats,
            noise=self.criteria.noise,
            family=self.family,
            p_value=p_value,
            advice=self._advice(figure, evidence, limit) if outcome == "undecided" else None,
        )

    def _outcome(
        self, figure: Figure, evidence: Evidence, limit: float
    ) -> tuple[Outcome, Reason, float | None]:
        estimate, edge = evidence.estimate, self._edge(figure, limit)
        if estimate.bound == "undefined":
            return "broken", "nothing-to-compare", None
        if _is_good(figure, estimate, limit):
            return "holds", "within", None
        if _is_bad(figure, estimate, edge):
            chance = evidence.chance(figure, edge, self.level)
            if chance <= self.level:
                return "broken", "beyond", chance
            return "undecided", "chance", chance
        reason: Reason = "within-noise" if _is_bad(figure, estimate, limit) else "straddles"
        return "undecided", reason, None

    def uncompared(
        self, figure: Figure, limit: float, repeats: int = 0, reason: Reason = "nothing-to-compare"
    ) -> Gate:
        """The gate on a figure that was not compared: broken."""
        return Gate(
            metric=figure.key,
            limit=limit,
            outcome="broken",
            reason=reason,
            estimate=UNDEFINED,
            repeats=repeats,
            noise=self.criteria.noise,
            family=self.family,
        )

    def _edge(self, figure: Figure, limit: float) -> float:
        return limit * (1.0 + figure.sign * self.criteria.noise)

    def _advice(self, figure: Figure, evidence: Evidence, limit: float) -> Advice:
        """The effect that the repeats could show, and how many would settle it."""
        repeats, confidence = evidence.repeats, self.criteria.confidence
        if evidence.estimate.endless and repeats < evidence.fewest_repeats:
            return Advice("no-interval", repeats_needed=evidence.fewest_repeats)
        if math.isinf(evidence.fixed()):
            return Advice("too-many")
        spread = evidence.spread()
        if spread is None:
            return Advice("unknown")

        of_pair = evidence.standard_error(spread, repeats) * math.sqrt(repeats)
        effect = detectable_effect(of_pair, repeats, confidence, evidence.cases) + evidence.error
        detectable = limit * math.exp(-figure.sign * effect)
        value = evidence.estimate.value
        if repeats < 2 or evidence.estimate.bound != "value" or not 0.0 < value < math.inf:
            return Advice("unknown", detectable)
        loss = figure.sign * math.log(value / limit)
        lost_beyond = figure.sign * math.log(value / self._edge(figure, limit))
        if loss > 0.0 >= lost_beyond:
            return Advice("too-close", detectable)
        # Gates that look nearly settled have had luck: they are taken to be nearer to the limit.
        luck = math.copysign(min(abs(loss), _LUCK * spread / math.sqrt(repeats)), loss)
        likely = replace(evidence.estimate, value=value * math.exp(-figure.sign * luck))
        sober = replace(evidence, estimate=likely)
        for needed in range(repeats + 1, MOST_REPEATS + 1):
            if sum(later_chances(figure, sober, limit, self, needed)) >= POWER:
                return Advice("settles", detectable, needed)
        return Advice("too-many", detectable)


def _is_good(figure: Figure, estimate: Estimate, limit: float) -> bool:
    """Whether the whole interval is on the good side, its end on the limit included."""
    return estimate.high <= limit if figure.sense == "smaller" else estimate.low >= limit


def _is_bad(figure: Figure, estimate: Estimate, limit: float) -> bool:
    return estimate.low > limit if figure.sense == "smaller" else estimate.high < limit


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
    change that it is undecided; if only suspects are looked at again, if they will hardly break it.
    Without looks it is judged once.
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
        last = judge.at(looks.most, cases)
        holds, broken = later_chances(figure, evidence, limit, last, looks.most)
        if looks.if_suspect:
            if gate.reason != "chance" and broken < _HOPELESS and look >= looks.least:
                return gate
        elif holds + broken < _HOPELESS:
            return gate
    return replace(gate, open=True)


def later_chances(
    figure: Figure, evidence: Evidence, limit: float, last: Judge, most: int
) -> tuple[float, float]:
    """Chances that a gate holds and that it is broken after so many repeats.

    The predictive power of a normal theory: if the log figure of n repeats is x with a spread s of
    a single pair, that of m repeats is like x + s sqrt(1/n - 1/m) t, t of Student's distribution.
    Spiegelhalter, Freedman and Blackburn 1986, https://doi.org/10.1016/0197-2456(86)90003-6
    An earlier result keeps its error, and that of another day's runs shrinks with their number.
    Where too little is known it may hold, and be broken if it is beyond the limit or a bound of
    that side; 0 and 0 where no number of repeats tells more.
    """
    if math.isinf(evidence.fixed()):
        return 0.0, 0.0
    n = evidence.repeats
    value, spread = evidence.estimate.value, evidence.spread()
    bound = evidence.estimate.bound
    plain = bound == "value" and 0.0 < value < math.inf
    if n < 2 or n >= most or spread is None or not spread > 0.0 or not plain:
        worse = "at-least" if figure.sign > 0 else "at-most"  # most runs of the challenger miss
        is_beyond = bound == "value" and figure.sign * (value - limit) > 0.0
        return 1.0, float(is_beyond or bound == worse)
    loss = figure.sign * math.log(value / limit)
    noise = figure.sign * math.log1p(figure.sign * last.criteria.noise)
    scale = spread * math.sqrt(1.0 / n - 1.0 / most)
    error, unsure = evidence.standard_error(spread, most), evidence.error * math.sqrt(n / most)
    degrees, later = evidence.cases * (n - 1), evidence.cases * (most - 1)
    tail, earlier = later, evidence.earlier or most
    if smallest_chance(earlier, most) ** evidence.cases > last.level:  # see `sharpened`
        tail = evidence.cases * (min(earlier, most) - 1)
    # Where counting does not show the level, a single seed cannot break a gate at all.
    beyond = t_quantile(1.0 - 2.0 * last.level, tail) if tail else math.inf
    to_hold = unsure + t_quantile(last.criteria.confidence, later) * error
    to_break = noise + unsure + beyond * error
    holds, broken = stdtr(degrees, -np.array([loss + to_hold, to_break - loss]) / scale)
    return float(holds), float(broken)
