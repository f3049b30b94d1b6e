"""Changes of a whole suite since an earlier result: one ratio of now over before for all cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from pytest_ansorbench.records import CaseResult, Estimate, Gate
from pytest_ansorbench.stats.changes import CaseChanges, Change, arms_in_both, uncompared
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.estimates import quotient
from pytest_ansorbench.stats.evidence import Evidence, as_one, observed, suite_evidence
from pytest_ansorbench.stats.figures import FIGURES, Figure
from pytest_ansorbench.stats.gate import Judge, settled_gate
from pytest_ansorbench.stats.limits import Allowance
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.relabellings import fewest_repeats
from pytest_ansorbench.stats.strata import Strata
from pytest_ansorbench.stats.stratum import Stratum, labels_of
from pytest_ansorbench.stats.suite import ALL_CASES, not_silently, own_arms
from pytest_ansorbench.stats.suite_test import SuiteTest
from pytest_ansorbench.stats.trajectory import Floats

_SHOWN: Final = ("search_ratio", "throughput_ratio")
# Changes by more than this beyond the one seen are not told apart, as logarithm: seven times
_FAR: Final = 2.0

_Pair = tuple[PairedRuns, PairedRuns]  # an arm of a case against its reference, then and now


def suite_changes(
    compared: Sequence[tuple[CaseResult, CaseResult]],
    allowances: Sequence[Allowance],
    *,
    criteria: Criteria,
    family: int,
    lost: Sequence[str] = (),
) -> CaseChanges:
    """Compare all cases together with the same cases in an earlier result.

    An allowance with nothing to compare is broken.
    """
    judge = Judge(criteria, family)
    allowed = {allowance.metric: allowance for allowance in allowances}
    changes = []
    for figure in FIGURES.values():
        if not figure.over_cases:
            continue
        allowance = allowed.get(figure.key)
        if allowance is None and figure.key not in _SHOWN:
            continue
        pairs: dict[str, list[_Pair]] = {}
        for before, after in compared:
            for strategy, then, now in arms_in_both(before, after, figure, criteria):
                pairs.setdefault(strategy, []).append((then, now))
        for strategy, of_arm in pairs.items():
            there = {now.reference[0].run.case for _, now in of_arm}
            had = (before.case for before, _ in compared if strategy in own_arms(before)[1:])
            gone = (*(case for case in had if case not in there), *lost)
            changes.append(_change(strategy, figure, of_arm, allowance, judge, gone))
        if allowance is not None and not pairs:
            every = (*(after.case for _, after in compared), *lost)
            gate = not_silently(judge.uncompared(figure, allowance.limit), every)
            arms = dict.fromkeys(name for _, after in compared for name in own_arms(after)[1:])
            changes += [uncompared(ALL_CASES, name, gate) for name in arms or ("any strategy",)]
    return CaseChanges(ALL_CASES, tuple(changes))


def _change(
    strategy: str,
    figure: Figure,
    pairs: Sequence[_Pair],
    allowance: Allowance | None,
    judge: Judge,
    lost: tuple[str, ...],
) -> Change:
    test, earlier = _test(figure, pairs), min(len(then.reference) for then, _ in pairs)
    estimate = test.estimate(judge.at(test.repeats, test.cases).criteria.confidence)
    gate: Gate | None = None
    if allowance is not None:

        def evidence_at(look: int, confidence: float) -> Evidence:
            seen, found = test, estimate
            if judge.criteria.looks is not None and any(len(n.reference) > look for _, n in pairs):
                seen = _test(figure, [(then, now.first(look)) for then, now in pairs])
                found = seen.estimate(confidence)
            return _evidence(seen, found, confidence, earlier)

        settled = settled_gate(
            figure,
            allowance.limit,
            judge,
            evidence_at,
            repeats=test.repeats,
            cases=test.cases,
        )
        absent = (pairs[index][1].reference[0].run.case for index in test.lost)
        gate = not_silently(settled, (*absent, *lost))
    then, now = ([pair[which] for pair in pairs] for which in (0, 1))
    return Change(
        ALL_CASES, strategy, figure.key, _figure(figure, then), _figure(figure, now), estimate, gate
    )


def _evidence(test: SuiteTest, estimate: Estimate, confidence: float, earlier: int) -> Evidence:
    """Evidence on a change since so many earlier seeds.

    Labels are put on anew as if seeds of both results varied alike, and so their spread is told.
    """
    both = suite_evidence(test, estimate, confidence)
    share = earlier / (earlier + test.repeats)  # of the variance that is the later result's

    def spread() -> float | None:
        of_both = both.spread()
        return None if of_both is None else of_both * math.sqrt(share)

    return replace(
        both,
        spread=spread,
        endless_by_chance=True,
        fewest_repeats=fewest_repeats((1.0 - confidence) / 2.0, test.cases, earlier),
        earlier=earlier,
        fixed=lambda: (both.spread() or 0.0) * math.sqrt((1.0 - share) / test.repeats),
    )


def _test(figure: Figure, pairs: Sequence[_Pair]) -> SuiteTest:
    strata = [_stratum(figure, then, now) for then, now in pairs]
    found = tuple(stratum for stratum in strata if stratum is not None)
    error = figure.measure().error
    return SuiteTest(
        figure,
        (Strata(found),) if found else (),
        min(len(now.reference) for _, now in pairs),
        tuple(index for index, stratum in enumerate(strata) if stratum is None),
        max(error(then) + error(now) for then, now in pairs),
    )


def _figure(figure: Figure, pairings: Sequence[PairedRuns]) -> float | None:
    """The figure of one of the results over all cases, as `observed`; None if there is none."""
    ratio = SuiteTest.of(figure, pairings).ratio()
    return {"value": ratio.value, "at-least": math.inf, "at-most": 0.0}.get(ratio.bound)


def _stratum(figure: Figure, then: PairedRuns, now: PairedRuns) -> Stratum | None:
    """How much worse a figure of one case got; None if one of the results has no such figure."""
    seen = [observed(figure, paired) for paired in (then, now)]
    if not all(0.0 < value < math.inf for value in seen):
        return None
    first, measure, sign = len(then.reference), figure.measure(), figure.sign
    labels, complete = labels_of(first, len(now.reference))
    before, after = labels[:, :first], labels[:, first:]

    def worse(log_ratio: float) -> Floats:
        both = as_one(figure, then, now, math.exp(log_ratio))
        delay = measure.delay(both, before, after)
        if delay is not None:
            return delay
        with np.errstate(divide="ignore", invalid="ignore"):
            change = np.log(measure.values(both, after) / measure.values(both, before))
        found: Floats = np.nan_to_num(sign * change)
        return found

    at = sign * math.log(quotient(seen[1], seen[0]))
    gaps = np.array([at - _FAR, at + _FAR])
    return Stratum(worse, gaps, len(labels) - 1, complete, lambda endless: at)
