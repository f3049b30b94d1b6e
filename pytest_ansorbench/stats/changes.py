"""What changed since an earlier result: the same figures of the same cases, then and now."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from pytest_ansorbench.records import CaseResult, Estimate, Gate
from pytest_ansorbench.stats.bootstrap import draw, percentile_interval
from pytest_ansorbench.stats.compare import case_race
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.figures import FIGURES, Figure
from pytest_ansorbench.stats.gate import Evidence, Judge
from pytest_ansorbench.stats.quotient import UNDEFINED, quotient, quotients
from pytest_ansorbench.stats.relabel import Deals, sharpened, smallest_chance
from pytest_ansorbench.stats.relabel import chance as count_deals
from pytest_ansorbench.stats.running_time_ratio import Race
from pytest_ansorbench.stats.trajectory import Floats

SHOWN: Final = ("search_ratio", "throughput_ratio", "throughput", "search_time")
"""Figures that a comparison shows without being asked."""

_SAME: Final = (
    ("flops", "FLOP"),
    ("budget_trials", "trials a run"),
    ("round_trials", "trials a round"),
)
"""What runs must have in common to be compared, and how to call it."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """By how much a figure may get worse, e.g. `search_ratio:5%`.

    Attributes:
        metric: A key of `FIGURES`.
        share: The fraction, e.g. 0.05.
    """

    metric: str
    share: float

    @classmethod
    def parse(cls, text: str) -> Allowance:
        """Parse `METRIC:N%`.

        Raises:
            ValueError: It is nothing of the kind.
        """
        metric, _, share = text.strip().partition(":")
        try:
            value = float(share.removesuffix("%")) / 100.0 if share.endswith("%") else math.nan
        except ValueError:
            value = math.nan
        if metric not in FIGURES or not 0.0 <= value < 1.0:
            raise ValueError(
                f"expected METRIC:N% with N from 0 to below 100 and one of {', '.join(FIGURES)}, "
                "e.g. search_ratio:5%"
            )
        return cls(metric, value)

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"{self.metric}:{100.0 * self.share:.12g}%"


@dataclass(frozen=True, slots=True)
class Change:
    """One figure of one arm, then and now.

    Attributes:
        case: The case's id.
        strategy: The arm.
        metric: A key of `FIGURES`.
        before: The figure in the earlier result; None if it was not compared.
        after: The figure now; None if it was not compared.
        ratio: `after` over `before`, with its interval.
        gate: How that stands to what was allowed; None if nothing was said about it.
    """

    case: str
    strategy: str
    metric: str
    before: float | None
    after: float | None
    ratio: Estimate
    gate: Gate | None


@dataclass(frozen=True, slots=True)
class CaseChanges:
    """What changed in one case.

    Attributes:
        case: The case's id.
        changes: The figures, in order of `FIGURES`, then of arms.
        incomparable: Why nothing can be compared; empty if something can.
    """

    case: str
    changes: tuple[Change, ...]
    incomparable: str = ""

    @property
    def gates(self) -> tuple[Gate, ...]:
        """The gates on it."""
        return tuple(change.gate for change in self.changes if change.gate is not None)


def case_changes(
    before: CaseResult,
    after: CaseResult,
    allowances: Sequence[Allowance],
    *,
    criteria: Criteria,
    family: int,
    other_machine: str = "",
) -> CaseChanges:
    """Hold one case against the same case in an earlier result.

    Both sides are computed afresh from their runs, by the same criteria. The two results are
    independent samples, so each side's seeds are drawn by themselves. Figures of seconds and
    of GFLOP/s are compared only on the same machine; to hold one to an allowance on another
    has nothing to compare, which is broken.

    Args:
        before: The case in the earlier result.
        after: The case now.
        allowances: What may get worse by how much.
        criteria: How to compare and judge.
        family: How many gates the session has.
        other_machine: How the machines differ; empty if they do not, or if nobody minds.

    Returns:
        Figures of every arm that both have, or why there are none.
    """
    reason = _incomparable(before, after)
    if reason:
        return CaseChanges(after.case, (), reason)
    judge = Judge(criteria, family)
    allowed = {each.metric: each for each in allowances}
    changes = []
    for figure in FIGURES.values():
        allowance = allowed.get(figure.key)
        if allowance is None and (
            figure.key not in SHOWN or (figure.per_machine and other_machine)
        ):
            continue
        for strategy, then, now in _arms(before, after, figure, criteria):
            if allowance is not None and figure.per_machine and other_machine:
                change = _on_another_machine(
                    after.case, figure, strategy, allowance, judge, other_machine
                )
            else:
                change = _change(after.case, figure, strategy, then, now, allowance, judge)
            changes.append(change)
    return CaseChanges(after.case, tuple(changes))


def gates_per_case(allowances: Sequence[Allowance], strategies: int) -> int:
    """How many gates a case with so many strategies is held to."""
    return sum(
        strategies if FIGURES[each.metric].subject == "arm" else strategies - 1
        for each in allowances
    )


def _incomparable(before: CaseResult, after: CaseResult) -> str:
    if before.version and after.version and before.version != after.version:
        return f"its program changed, version {before.version} is now {after.version}"
    if not before.runs or not after.runs:
        return "one of the results has no run of it"
    for name, what in _SAME:
        then, now = (sorted({getattr(run, name) for run in each.runs}) for each in (before, after))
        if then != now:
            shown = [" and ".join(map(str, values)) for values in (then, now)]
            return f"it had {shown[0]} {what} and now has {shown[1]}"
    if not set(_own(before)) & set(_own(after)):
        return "the results have no strategy in common"
    return ""


def _own(case: CaseResult) -> list[str]:
    """The arms, less the control."""
    return [name for name in case.strategies if name != case.control]


def _arms(
    before: CaseResult, after: CaseResult, figure: Figure, criteria: Criteria
) -> Iterator[tuple[str, Race, Race]]:
    """Arms that both have, each against the reference of its own result."""
    for strategy in _own(after):
        if strategy not in _own(before):
            continue
        is_reference = strategy in (before.strategies[0], after.strategies[0])
        if figure.subject == "challenger" and (
            is_reference or before.strategies[0] != after.strategies[0]
        ):
            continue
        yield strategy, case_race(before, strategy, criteria), case_race(after, strategy, criteria)


def _change(
    case: str,
    figure: Figure,
    strategy: str,
    then: Race,
    now: Race,
    allowance: Allowance | None,
    judge: Judge,
) -> Change:
    before, after = (_as_it_was(figure, race) for race in (then, now))
    ratios = _resampled(figure, then, now)
    repeats = min(len(then.reference), len(now.reference))
    ratio = _estimate(quotient(after, before), ratios, repeats, judge.criteria.confidence)
    gate = None
    if allowance is not None:
        gate = judge.gate(
            figure.key,
            f"{figure.key} now over before",
            ratio,
            _limit(figure, allowance),
            figure.sense,
            _evidence(figure, then, now, ratio.value, _log_error(ratios, repeats)),
            repeats,
        )
    shown = [None if math.isnan(value) else value for value in (before, after)]
    return Change(case, strategy, figure.key, shown[0], shown[1], ratio, gate)


def _limit(figure: Figure, allowance: Allowance) -> float:
    """The ratio of now over before that is just good enough."""
    return 1.0 + allowance.share if figure.sense == "smaller" else 1.0 - allowance.share


def _on_another_machine(
    case: str,
    figure: Figure,
    strategy: str,
    allowance: Allowance,
    judge: Judge,
    difference: str,
) -> Change:
    message = (
        f"{figure.key}: nothing could be compared, for the earlier result is from another machine "
        f"({difference}); gate a ratio such as search_ratio or throughput_ratio, or give "
        "--ansor-any-machine: broken"
    )
    gate = Gate(figure.key, _limit(figure, allowance), "broken", message, judge.family, None)
    return Change(case, strategy, figure.key, None, None, UNDEFINED, gate)


def _as_it_was(figure: Figure, race: Race) -> float:
    return float(figure.values(race, np.arange(len(race.reference))[np.newaxis, :])[0])


def _resampled(figure: Figure, then: Race, now: Race) -> Floats:
    """The change in each draw of both results' seeds."""
    before = figure.values(then, draw(len(then.reference), stream=0))
    after = figure.values(now, draw(len(now.reference), stream=1))
    return quotients(after, before)


def _estimate(value: float, ratios: Floats, repeats: int, confidence: float) -> Estimate:
    if math.isnan(value):
        return UNDEFINED
    low, high = percentile_interval(ratios, repeats, confidence, samples=2)
    return Estimate(value, min(low, value), max(high, value))


def _log_error(ratios: Floats, repeats: int) -> float | None:
    """Standard error of the log change; None if too many draws have none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(ratios)
    known = logs[np.isfinite(logs)]
    if repeats < 3 or len(known) < _MOSTLY * len(logs):
        return None
    return float(known.std()) * math.sqrt(repeats / (repeats - 1))


_MOSTLY: Final = 0.95
"""Share of draws with a figure, from which on the others do not matter."""


def _evidence(figure: Figure, then: Race, now: Race, value: float, error: float | None) -> Evidence:
    first, second = len(then.reference), len(now.reference)

    def chance(at: float, level: float) -> float:
        counted = _chance(figure, then, now, at, level)
        if not 0.0 < value < math.inf:
            return counted  # never to have reached a target can well be an accident
        away = math.log(value / at)
        excess = away if figure.sense == "smaller" else -away
        smallest = smallest_chance(first, second)
        return sharpened(counted, smallest, min(first, second), level, excess, error)

    def spread() -> float | None:
        return None if error is None else error * math.sqrt(min(first, second))

    return Evidence(chance, spread)


def _chance(figure: Figure, then: Race, now: Race, limit: float, level: float) -> float:
    """Chance to see a change this bad, if the true one were the limit."""
    factor = limit if figure.sense == "smaller" else 1.0 / limit
    improved = [figure.improved(run, factor) for run in now.challenger]
    both = replace(
        then,
        reference=[*then.reference, *now.reference],
        challenger=[*then.challenger, *improved],
    )
    first = len(then.reference)

    def badness(deals: Deals) -> Floats:
        return figure.worsening(
            figure.values(both, deals[:, :first]), figure.values(both, deals[:, first:])
        )

    return count_deals(badness, first, len(now.reference), level)
