"""Whether a comparison keeps what was promised: holds, broken, or undecided.

A gate *holds* if the whole interval is on the good side of its limit. It is *broken* if

1. the whole interval is on the bad side, by more than the noise threshold, and
2. chance alone would make an exactly good enough challenger look that bad less often than the
   gate's share of the session's false alarms (`relabel`).

Everything in between is *undecided*. The first rule says how large the loss is, the second how
sure it is: with few seeds an interval leaves out more than it says, and with many gates some
interval is off by chance. The share is the rate of false alarms divided by the number of gates
(Bonferroni), which bounds the chance of any false alarm in the session whatever the gates have
in common. A test's outcome stands before the next test runs, so a stepwise correction (Holm)
is out of reach.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from pytest_ansorbench.records import Estimate, Gate, Outcome
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.power import detectable_effect, repeats_needed
from pytest_ansorbench.stats.wording import DIGITS, percent, ratio_text, repeats_text, statement

Sense = Literal["smaller", "larger"]
"""Which side of the limit is the good one."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a challenger has to keep; None sets no limit.

    Attributes:
        max_search_ratio: The largest S that is good enough, e.g. 0.75.
        min_throughput_ratio: The smallest throughput ratio that is good enough, e.g. 0.98.
    """

    max_search_ratio: float | None = None
    min_throughput_ratio: float | None = None

    def __post_init__(self) -> None:
        """Refuse limits that no ratio can be held against."""
        for name in ("max_search_ratio", "min_throughput_ratio"):
            limit = getattr(self, name)
            if limit is not None and not 1e-6 <= limit <= 1e6:
                raise ValueError(
                    f"bad {name} {limit!r}: expected a ratio from 1e-6 to 1e6, e.g. 0.75"
                )

    @property
    def count(self) -> int:
        """How many limits are set: gates per challenger."""
        return (self.max_search_ratio is not None) + (self.min_throughput_ratio is not None)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a gate asks beyond the interval, about one figure.

    Attributes:
        chance: Probability to see a figure this bad if the true one were the given limit;
            second, how small a probability matters.
        spread: Standard deviation of the log figure of a single pair of runs; None if too
            little is known.
    """

    chance: Callable[[float, float], float]
    spread: Callable[[], float | None]


@dataclass(frozen=True, slots=True)
class Judge:
    """Holds figures against limits, under the criteria of one session.

    Attributes:
        criteria: Confidence, noise threshold and false alarms.
        family: How many gates the session has.
    """

    criteria: Criteria
    family: int

    @property
    def level(self) -> float:
        """The gate's share of the session's false alarms."""
        return self.criteria.false_alarms / max(1, self.family)

    def gate(
        self,
        metric: str,
        name: str,
        estimate: Estimate,
        limit: float,
        sense: Sense,
        evidence: Evidence,
        repeats: int,
    ) -> Gate:
        """Judge one figure.

        Args:
            metric: What the gate is called in records.
            name: What it is called in sentences.
            estimate: The figure.
            limit: Its limit.
            sense: Which side of the limit is good.
            evidence: Answers to what the interval cannot say.
            repeats: Seeds that the figure stands on.
        """
        shown = limit_text(limit)
        if estimate.bound == "undefined":
            message = f"{name}: nothing could be compared with the limit {shown}: broken"
            return Gate(metric, limit, "broken", message, self.family)
        clause = statement(name, estimate, _telling_digits(estimate, limit))
        good, bad, beyond = self._sides(estimate, limit, sense)
        verb = "exceeds" if sense == "smaller" else "falls short of"
        p_value = None
        outcome: Outcome
        if good:
            outcome, message = "holds", f"{clause} is within the limit {shown}"
        elif beyond:
            p_value = evidence.chance(self._edge(limit, sense), self.level)
            outcome, message = "broken", f"{clause} {verb} the limit {shown}"
            if p_value > self.level:
                outcome = "undecided"
                message += f", but chance would do that in {percent(p_value)} of sessions"
        elif bad:
            outcome = "undecided"
            message = (
                f"{clause} {verb} the limit {shown} by less than {percent(self.criteria.noise)}"
            )
        else:
            outcome = "undecided"
            message = f"{clause}: its interval straddles the limit {shown}"
        advice = ""
        if outcome == "undecided":
            advice = f" ({self._advice(estimate, limit, sense, evidence, repeats)})"
        return Gate(metric, limit, outcome, f"{message}: {outcome}{advice}", self.family, p_value)

    def _sides(self, estimate: Estimate, limit: float, sense: Sense) -> tuple[bool, bool, bool]:
        """Whether the interval is good, bad, and bad beyond the noise threshold."""
        edge = self._edge(limit, sense)
        if sense == "smaller":
            return estimate.high <= limit, estimate.low > limit, estimate.low > edge
        return estimate.low >= limit, estimate.high < limit, estimate.high < edge

    def _edge(self, limit: float, sense: Sense) -> float:
        """Where the noise threshold ends."""
        noise = self.criteria.noise
        return limit * (1.0 + noise) if sense == "smaller" else limit * (1.0 - noise)

    def _advice(
        self, estimate: Estimate, limit: float, sense: Sense, evidence: Evidence, repeats: int
    ) -> str:
        """What the repeats could show, and how many would settle it."""
        counted = repeats_text(repeats)
        if repeats < 3:
            return f"{counted}; below 3 there is no interval to speak of"
        spread = evidence.spread()
        if spread is None:
            return f"{counted}; more repeats narrow the interval"
        way = -1.0 if sense == "smaller" else 1.0
        shown = limit * math.exp(way * detectable_effect(spread, repeats, self.criteria.confidence))
        side = "below" if sense == "smaller" else "above"
        text = f"with {counted} a figure has to be {side} about {ratio_text(shown)} to hold"
        return f"{text}; {self._settling(estimate, limit, sense, spread, repeats)}"

    def _settling(
        self, estimate: Estimate, limit: float, sense: Sense, spread: float, repeats: int
    ) -> str:
        way = 1.0 if sense == "smaller" else -1.0
        if estimate.bound != "value" or not 0.0 < estimate.value < math.inf:
            return "more repeats narrow the interval"
        loss = way * math.log(estimate.value / limit)
        lost_beyond = way * math.log(estimate.value / self._edge(limit, sense))
        if loss > 0.0 >= lost_beyond:
            return "this close to the limit no number of repeats would settle it"
        if loss <= 0.0:
            needed = repeats_needed(-loss, spread, self.criteria.confidence)
        else:
            needed = repeats_needed(lost_beyond, spread, 1.0 - 2.0 * self.level)
        if needed is None:
            return f"at {ratio_text(estimate.value)} not even 100 would settle it"
        needed = max(needed, repeats + 1)
        return f"at {ratio_text(estimate.value)} about {needed} would settle it"


def limit_text(limit: float) -> str:
    """The limit as it was given: never rounded to something else."""
    return max(f"{limit:.{DIGITS}f}", repr(float(limit)), key=len)


_MOST_DIGITS: Final = 7


def _telling_digits(estimate: Estimate, limit: float) -> int:
    """As few decimals as leave the ends of the interval on the side of the limit they are on.

    Otherwise a sentence could call `[0.51, 0.90]` undecided at a limit of 0.90.
    """
    ends = (estimate.low, estimate.high)
    for digits in range(DIGITS, _MOST_DIGITS):
        shown = [float(ratio_text(end, digits)) for end in ends]
        if all(
            (a < limit, a > limit) == (b < limit, b > limit)
            for a, b in zip(shown, ends, strict=True)
        ):
            return digits
    return _MOST_DIGITS
