"""Changes of a whole suite since an earlier result: one ratio of now over before for all cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

import numpy as np

from pytest_ansorbench.records import CaseResult, Estimate, Gate
from pytest_ansorbench.stats.changes import CaseChanges, Change, arms_in_both
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.estimates import quotient
from pytest_ansorbench.stats.evidence import Evidence, observed
from pytest_ansorbench.stats.figures import FIGURES, Figure
from pytest_ansorbench.stats.gate import Judge, settled_gate
from pytest_ansorbench.stats.limits import Allowance
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.relabellings import Relabellings
from pytest_ansorbench.stats.strata import Strata
from pytest_ansorbench.stats.stratum import labels_of
from pytest_ansorbench.stats.suite import ALL_CASES, not_silently
from pytest_ansorbench.stats.suite_test import SuiteTest
from pytest_ansorbench.stats.trajectory import Floats

_SHOWN: Final = ("search_ratio", "throughput_ratio")
# Changes by more than this beyond the one seen are not told apart, as logarithm: seven times
_FAR: Final = 2.0

Pair = tuple[PairedRuns, PairedRuns]  # an arm of a case against its reference, then and now


@dataclass(frozen=True, slots=True, eq=False)
class ChangeStratum:
    """How much worse a figure of one case got, its repeats relabelled to before and now."""

    figure: Figure  # the figure
    pair: Pair  # the case then and now
    labels: Relabellings  # repeats as they are, those of before first, then in each relabelling
    complete: bool  # whether these relabellings are all there are

    @classmethod
    def of(cls, figure: Figure, pair: Pair) -> ChangeStratum | None:
        """None if one of the results has no such figure."""
        then, now = pair
        seen = [observed(figure, paired) for paired in pair]
        if not all(0.0 < value < math.inf for value in seen):
            return None
        return cls(figure, pair, *labels_of(len(then.reference), len(now.reference)))

    @property
    def relabellings(self) -> int:
        """How many relabellings it has."""
        return len(self.labels) - 1

    @property
    def gaps(self) -> Floats:
        """Around the change that was seen."""
        then, now = self.pair
        change = quotient(observed(self.figure, now), observed(self.figure, then))
        at = math.log(change) if self.figure.sense == "smaller" else -math.log(change)
        return np.array([at - _FAR, at + _FAR])

    def badness(self, log_ratio: float) -> Floats:
        """How much worse now is than before, were it better by a ratio of costs."""
        then, now = self.pair
        better = [self.figure.improved(run, math.exp(log_ratio)) for run in now.challenger]
        both = replace(
            then,
            reference=[*then.reference, *now.reference],
            challenger=[*then.challenger, *better],
        )
        first = len(then.reference)
        before, after = self.labels[:, :first], self.labels[:, first:]
        if self.figure.lateness is not None:
            return self.figure.lateness(both, after) - self.figure.lateness(both, before)
        with np.errstate(divide="ignore", invalid="ignore"):
            change = np.log(self.figure.values(both, after) / self.figure.values(both, before))
        worse: Floats = np.nan_to_num(change if self.figure.sense == "smaller" else -change)
        return worse


def suite_changes(
    compared: Sequence[tuple[CaseResult, CaseResult]],
    allowances: Sequence[Allowance],
    *,
    criteria: Criteria,
    family: int,
    lost: Sequence[str] = (),
) -> CaseChanges:
    """Hold all cases together against the same cases in an earlier result."""
    judge = Judge(criteria, family)
    allowed = {allowance.metric: allowance for allowance in allowances}
    changes = []
    for figure in FIGURES.values():
        if not figure.adds_up(criteria.goal):
            continue
        allowance = allowed.get(figure.key)
        if allowance is None and figure.key not in _SHOWN:
            continue
        pairs: dict[str, list[Pair]] = {}
        for before, after in compared:
            for strategy, then, now in arms_in_both(before, after, figure, criteria):
                pairs.setdefault(strategy, []).append((then, now))
        for strategy, of_arm in pairs.items():
            changes.append(_change(strategy, figure, of_arm, allowance, judge, tuple(lost)))
    return CaseChanges(ALL_CASES, tuple(changes))


def _change(
    strategy: str,
    figure: Figure,
    pairs: Sequence[Pair],
    allowance: Allowance | None,
    judge: Judge,
    lost: tuple[str, ...],
) -> Change:
    test = _test(figure, pairs)
    there = judge.at(test.repeats, test.cases)
    estimate = test.estimate(there.criteria.confidence)
    gate: Gate | None = None
    if allowance is not None:

        def evidence_at(look: int, confidence: float) -> Evidence:
            seen = _test(figure, [(then, now.first(look)) for then, now in pairs])
            return Evidence(
                seen.estimate(confidence),
                seen.repeats,
                counted=seen.chance,
                smallest=seen.smallest_chance(1.0),
                spread=cache(seen.spread),
                endless_by_chance=True,
                cases=seen.cases,
            )

        found = settled_gate(
            figure,
            allowance.limit,
            judge,
            evidence_at,
            repeats=min(len(now.reference) for _, now in pairs),
            cases=test.cases,
        )
        gate = not_silently(found, lost)
    then, now = ([pair[which] for pair in pairs] for which in (0, 1))
    return Change(
        ALL_CASES, strategy, figure.key, _figure(figure, then), _figure(figure, now), estimate, gate
    )


def _test(figure: Figure, pairs: Sequence[Pair]) -> SuiteTest:
    strata = [ChangeStratum.of(figure, pair) for pair in pairs]
    found = tuple(stratum for stratum in strata if stratum is not None)
    return SuiteTest(
        figure,
        (Strata(found),) if found else (),
        min(min(len(then.reference), len(now.reference)) for then, now in pairs),
        tuple(index for index, stratum in enumerate(strata) if stratum is None),
    )


def _figure(figure: Figure, pairings: Sequence[PairedRuns]) -> float | None:
    """The figure of one of the results over all cases; None if there is none."""
    estimate: Estimate = SuiteTest.of(figure, pairings).estimate(0.5)
    return None if estimate.bound == "undefined" else estimate.value
