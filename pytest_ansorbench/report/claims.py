"""What can be said of a challenger's search: a sentence as a function of counts and ratios.

A claim to arrive at the reference's throughput needs half of the challenger's runs to do so. Else
it is told how far the challenger is ahead, and where it ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pytest_ansorbench.records import ArmSummary, Comparison, Estimate, SuiteVerdict
from pytest_ansorbench.report.wording import counted, percent_text, ratio_text
from pytest_ansorbench.stats.estimates import is_plain
from pytest_ansorbench.stats.goal import EARLY, Goal

_MARGIN: Final = 0.005  # a ratio this near to 1 reads as 1.00


@dataclass(frozen=True, slots=True)
class Arrivals:
    """How many of an arm's runs reached the goal's last target."""

    reached: int
    runs: int

    @classmethod
    def of(cls, arms: Iterable[ArmSummary]) -> Arrivals:
        of_arms = [(arm.reached, arm.runs) for arm in arms]
        return cls(sum(reached for reached, _ in of_arms), sum(runs for _, runs in of_arms))

    @property
    def mostly(self) -> bool:
        return 2 * self.reached >= self.runs > 0

    def __str__(self) -> str:
        return f"{self.reached} of {counted(self.runs, 'run')}"


@dataclass(frozen=True, slots=True)
class Claim:
    """Two arms on one case, or on several."""

    challenger: str
    reference: str
    goal: Goal
    arrived: Arrivals  # of the challenger
    reference_arrived: Arrivals
    search_ratio: Estimate
    early: Estimate
    throughput_ratio: Estimate
    ahead_to: float | None = None  # see `Comparison`

    @classmethod
    def of_case(cls, compared: Comparison, goal: Goal) -> Claim:
        return cls(
            compared.challenger.strategy,
            compared.reference.strategy,
            goal,
            Arrivals.of([compared.challenger]),
            Arrivals.of([compared.reference]),
            compared.search_ratio,
            compared.search_ratio_early,
            compared.throughput_ratio,
            compared.ahead_to,
        )

    @classmethod
    def of_suite(cls, suite: SuiteVerdict, cases: Iterable[Comparison], goal: Goal) -> Claim:
        compared = list(cases)
        return cls(
            suite.challenger,
            suite.reference,
            goal,
            Arrivals.of(one.challenger for one in compared),
            Arrivals.of(one.reference for one in compared),
            suite.figure("search_ratio").estimate,
            suite.figure("search_ratio_early").estimate,
            suite.figure("throughput_ratio").estimate,
        )

    def __str__(self) -> str:
        if self.search_ratio.bound != "undefined" and self.arrived.mostly:
            return self._arrives()
        if self.search_ratio.bound == self.throughput_ratio.bound == "undefined":
            return f"{self.challenger} could not be compared with {self.reference}"
        return self._is_short()

    def _arrives(self) -> str:
        how, ratio = "", self.search_ratio
        if ratio.bound == "value" and abs(ratio.value - 1.0) < _MARGIN:
            how = "as soon"
        elif ratio.value < 1.0 and ratio.bound != "at-least":
            least = "at least " if ratio.bound == "at-most" else ""
            times = 1.0 / ratio.value if ratio.value else math.inf
            how = f"{least}{ratio_text(times)} times sooner"
        elif 1.0 <= ratio.value < math.inf:
            sign = {"value": "", "at-least": "at least ", "at-most": "at most "}[ratio.bound]
            how = f"in {sign}{ratio_text(ratio.value)} times the time"
        stretch = ""
        if not self.goal.single:
            last = percent_text(1.0 - self.goal.low)
            stretch = f" over the last {last} of {self.reference}'s gain"
        return (
            f"{self.challenger} reaches {self._target} in {self.arrived} ({self.reference} in "
            f"{self.reference_arrived.reached} of {self.reference_arrived.runs})"
            + (f", {how}{stretch}" if how else "")
        )

    def _is_short(self) -> str:
        """Ahead up to somewhere, and where it ends."""
        parts = []
        if self.ahead_to is not None:
            percent = math.floor(100.0 * self.ahead_to + 1e-9)  # no more than is so
            ahead = f"is ahead up to {percent}% of {self.reference}'s gain"
            early = self.early
            if self.ahead_to >= EARLY.high and early.bound == "value" and 0.0 < early.value < 1.0:
                upto = percent_text(EARLY.high)
                ahead += f", {ratio_text(1.0 / early.value)} times sooner to {upto}"
            parts.append(ahead)
        final = self.throughput_ratio
        if is_plain(final):  # a winner that was lost makes it 0 or infinite
            parts.append(f"ends at {ratio_text(final.value)} of {self.reference}'s throughput")
        counts = (
            f"{self.arrived} {'arrives' if self.arrived.reached == 1 else 'arrive'} at "
            f"{self._target}, "
            f"{self.reference_arrived.reached} of {self.reference_arrived.runs} of {self.reference}"
        )
        if not parts:
            return f"{self.challenger}: {counts}"
        return f"{self.challenger} {', and '.join(parts)} ({counts})"

    @property
    def _target(self) -> str:
        if self.goal.gflops is not None:
            return f"{self.goal.gflops:.6g} GFLOP/s"
        if self.goal.high < 1.0:
            return f"{percent_text(self.goal.high, 12)} of {self.reference}'s gain"
        return f"{self.reference}'s throughput"
