"""Changes since an earlier result: the same figures of the same cases, then and now."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from pytest_ansorbench.records import CaseResult, Estimate, Gate
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.estimates import UNDEFINED
from pytest_ansorbench.stats.evidence import Evidence, change_evidence, observed
from pytest_ansorbench.stats.figures import FIGURES, Figure
from pytest_ansorbench.stats.gate import Judge, settled_gate
from pytest_ansorbench.stats.limits import Allowance
from pytest_ansorbench.stats.measures import CostToTarget
from pytest_ansorbench.stats.paired_runs import PairedRuns, pair_case_runs, progress_of
from pytest_ansorbench.stats.suite import own_arms

# Figures that a comparison shows without being asked
SHOWN: Final = ("search_ratio", "throughput_ratio", "throughput", "search_time")

# Fields that runs must have in common to be compared, and their names in sentences
SAME: Final = (
    ("flops", "FLOP"),
    ("run_time_s", "seconds of run time"),
    ("budget_trials", "trials a run"),
    ("round_trials", "trials a round"),
    ("caches", "caches"),
)


@dataclass(frozen=True, slots=True)
class Change:
    """One figure of one arm, then and now."""

    case: str
    strategy: str
    metric: str  # a key of `FIGURES`
    before: float | None  # None if it was not compared
    after: float | None
    ratio: Estimate  # `after` over `before`, with its interval
    gate: Gate | None  # how that stands to what was allowed; None if nothing was said about it
    # How the machines differ, if that kept the figure from being compared; else empty
    other_machine: str = ""


@dataclass(frozen=True, slots=True)
class CaseChanges:
    case: str
    changes: tuple[Change, ...]  # the figures, in order of `FIGURES`, then of arms
    incomparable: str = ""  # why nothing can be compared; empty if something can

    @property
    def gates(self) -> tuple[Gate, ...]:
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
    """Compare one case with the same case in an earlier result.

    Both sides are computed afresh from their runs, by the same criteria. Figures of seconds and
    of GFLOP/s are compared only on the same machine. An allowance with nothing to compare, as on
    another machine, is broken. Searches of landscapes are held to nothing.
    """
    if reason := incomparable(before, after):
        return CaseChanges(after.case, (), reason)
    judge = Judge(criteria, family)
    allowances = () if after.landscapes else allowances
    allowed = {allowance.metric: allowance for allowance in allowances if not allowance.of_suite}
    changes = []
    for figure in FIGURES.values():
        elsewhere = other_machine if figure.per_machine else ""
        allowance = allowed.get(figure.key)
        if allowance is None and (elsewhere or figure.key not in SHOWN):
            continue
        compared = [*arms_in_both(before, after, figure, criteria)]
        for strategy, then, now in compared:
            if allowance is not None and elsewhere:
                repeats = min(len(then.reference), len(now.reference))
                gate = judge.uncompared(figure, allowance.limit, repeats, "other-machine")
                change = uncompared(after.case, strategy, gate, elsewhere)
            else:
                change = _change(after.case, strategy, figure, then, now, allowance, judge)
            changes.append(change)
        if allowance is not None and not compared:
            gate, arms = judge.uncompared(figure, allowance.limit), own_arms(after)
            changes += [uncompared(after.case, name, gate) for name in arms[1:] or arms]
    return CaseChanges(after.case, tuple(changes))


def uncompared(case: str, strategy: str, gate: Gate, other_machine: str = "") -> Change:
    """A figure that an allowance is about and that was not compared."""
    return Change(case, strategy, gate.metric, None, None, UNDEFINED, gate, other_machine)


def same_case(before: Iterable[CaseResult], after: CaseResult) -> CaseResult | None:
    """The case in an earlier result; of two tests of it the one that is most like the later."""
    return min(
        (case for case in before if case.case == after.case),
        key=lambda case: (bool(incomparable(case, after)), case.strategies != after.strategies),
        default=None,
    )


def incomparable(before: CaseResult, after: CaseResult) -> str:
    """Why a case cannot be compared with an earlier result; empty if it can."""
    if before.version and after.version and before.version != after.version:
        return f"its program changed, version {before.version} is now {after.version}"
    if not before.runs or not after.runs:
        return "one of the results has no run of it"
    for name, words in SAME:
        then, now = (
            sorted({getattr(run, name) or 0 for run in result.runs}) for result in (before, after)
        )
        if then != now:
            shown = [" and ".join(map(str, values)) for values in (then, now)]
            return f"it had {shown[0]} {words} and now has {shown[1]}"
    if before.landscapes != after.landscapes:
        return "they are not both measured, or both from the same landscape"
    if not set(own_arms(before)) & set(own_arms(after)):
        return "the results have no strategy in common"
    return ""


def arms_in_both(
    before: CaseResult, after: CaseResult, figure: Figure, criteria: Criteria
) -> Iterator[tuple[str, PairedRuns, PairedRuns]]:
    """Arms that both results have of a case, each against the reference of its own result.

    Another reference has another gain, and so other targets, unless one in GFLOP/s is given. Both
    sides go by the same progress.
    """
    of_challenger, reference = figure.subject == "challenger", after.strategies[0]
    to_gain = criteria.goal.gflops is None and isinstance(figure.measure(), CostToTarget)
    if reference != before.strategies[0] and (of_challenger or to_gain):
        return
    criteria = replace(criteria, progress=progress_of((*before.runs, *after.runs), criteria))
    for strategy in own_arms(after):
        if strategy not in own_arms(before) or (of_challenger and strategy == reference):
            continue
        yield (
            strategy,
            pair_case_runs(before, strategy, criteria),
            pair_case_runs(after, strategy, criteria),
        )


def _change(
    case: str,
    strategy: str,
    figure: Figure,
    then: PairedRuns,
    now: PairedRuns,
    allowance: Allowance | None,
    judge: Judge,
) -> Change:
    @cache  # the last look is that of the change itself
    def evidence_at(look: int, confidence: float) -> Evidence:
        return change_evidence(figure, then, now.first(look), confidence)

    repeats = len(now.reference)
    estimate = evidence_at(repeats, judge.at(repeats).criteria.confidence).estimate
    gate = None
    if allowance is not None:
        gate = settled_gate(figure, allowance.limit, judge, evidence_at, repeats=repeats)
    before, after = (
        None if math.isnan(value) else value
        for value in (observed(figure, then), observed(figure, now))
    )
    return Change(case, strategy, figure.key, before, after, estimate, gate)
