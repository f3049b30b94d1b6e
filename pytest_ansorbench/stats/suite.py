"""The verdict over all cases of a session: what a promise about a suite comes to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import replace
from typing import Final

from pytest_ansorbench.records import CaseResult, Estimate, Gate, SuiteFigure, SuiteVerdict
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.estimates import geometric_mean, is_plain
from pytest_ansorbench.stats.evidence import Evidence, suite_evidence
from pytest_ansorbench.stats.figures import FIGURES, Figure
from pytest_ansorbench.stats.gate import Judge, settled_gate
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.stats.paired_runs import PairedRuns, pair_case_runs
from pytest_ansorbench.stats.suite_test import SuiteTest

ALL_CASES: Final = "all cases"  # what a suite is called in tables

# Fields of a comparison that a suite has, too
RATIOS: Final = (
    "search_ratio",
    "search_ratio_early",
    "search_ratio_paper",
    "search_ratio_trials",
    "running_time_ratio",
    "throughput_ratio",
)

# A case, and its runs of two arms; None if there are not runs of both
_Paired = tuple[CaseResult, PairedRuns | None]

_SHAPE: Final = re.compile(r"[a-z]+\d+")


def group_of(case: str) -> str:
    """The operators that a case belongs to: its id up to the shape."""
    first, *words = case.split("-")
    kept = [first]
    for word in words:
        if _SHAPE.fullmatch(word):
            break
        kept.append(word)
    return "-".join(kept)


def judge_suites(
    cases: Sequence[CaseResult],
    criteria: Criteria,
    limits: Limits,
    *,
    family: int = 1,
    lost: Sequence[str] = (),
) -> tuple[SuiteVerdict, ...]:
    """Compare and judge every challenger over all cases, and over each group of operators.

    Groups are told from the cases' ids; there has to be more than one, and one case is none. A
    single case is a suite only if it is held to a limit. Groups, controls and searches of
    landscapes are held to none.
    """
    judge = Judge(criteria, family)
    verdicts = []
    for reference, challenger in pairs_of(case.strategies for case in cases):
        of_pair = [
            (
                case,
                pair_case_runs(case, challenger, criteria) if _compared(case, challenger) else None,
            )
            for case in cases
            if case.strategies[0] == reference and challenger in case.strategies
        ]
        if len(of_pair) + len(lost) < 2 and not limits:
            continue
        control = all(case.control == challenger for case, _ in of_pair)
        for group, chosen in _groups(of_pair):
            replayed = any(case.landscapes for case, _ in chosen)
            held_to = Limits() if control or group or replayed else limits
            gone = () if group else tuple(lost)
            verdicts.append(
                _judge_suite((reference, challenger, group), chosen, judge, held_to, gone)
            )
    return tuple(verdicts)


def own_arms(case: CaseResult) -> tuple[str, ...]:
    """The strategies of a case, less its control."""
    return tuple(name for name in case.strategies if name != case.control)


def suite_gates(arms: Iterable[Sequence[str]], asked: Sized) -> int:
    return len(pairs_of(arms)) * len(asked)


def pairs_of(arms: Iterable[Sequence[str]]) -> list[tuple[str, str]]:
    """Each reference with each of its challengers, in order of appearance."""
    return list(dict.fromkeys((names[0], name) for names in arms for name in names[1:]))


def _compared(case: CaseResult, challenger: str) -> bool:
    """Whether there is a verdict, for which there are runs of both."""
    return any(v.comparison.challenger.strategy == challenger for v in case.verdicts)


def _groups(cases: Sequence[_Paired]) -> Iterator[tuple[str, Sequence[_Paired]]]:
    """All cases under no name, then groups of several by theirs, if there are several groups."""
    yield "", cases
    by_group: dict[str, list[_Paired]] = {}
    for one in cases:
        by_group.setdefault(group_of(one[0].case), []).append(one)
    if len(by_group) > 1:
        yield from ((group, chosen) for group, chosen in by_group.items() if len(chosen) > 1)


def _judge_suite(
    names: tuple[str, str, str],
    chosen: Sequence[_Paired],
    judge: Judge,
    limits: Limits,
    lost: tuple[str, ...],
) -> SuiteVerdict:
    reference, challenger, group = names
    cases = [case for case, _ in chosen]
    pairings = [paired for _, paired in chosen if paired is not None]
    compared = [case.case for case, paired in chosen if paired is not None]
    missing = (*(case.case for case, paired in chosen if paired is None), *lost)
    figures, gates = [], []
    for key in RATIOS:
        figure = FIGURES.get(key)
        if figure is None or not pairings or not figure.over_cases:
            figures.append(_mean(key, challenger, cases, missing))
            if figure is not None and key in limits:
                gates.append(not_silently(judge.uncompared(figure, limits[key]), missing))
            continue
        test = SuiteTest.of(figure, pairings)
        there = judge.at(test.repeats, test.cases)
        estimate = test.estimate(there.criteria.confidence)
        absent = (*(compared[index] for index in test.lost), *missing)
        figures.append(SuiteFigure(key, estimate, absent))
        if key in limits:
            gate = _gate(figure, limits[key], judge, pairings, test, estimate)
            gates.append(not_silently(gate, absent))
    return SuiteVerdict(
        reference=reference,
        challenger=challenger,
        group=group,
        cases=(*(case.case for case in cases), *lost),
        figures=tuple(figures),
        gates=tuple(gates),
    )


def _gate(
    figure: Figure,
    limit: float,
    judge: Judge,
    pairings: Sequence[PairedRuns],
    test: SuiteTest,
    estimate: Estimate,
) -> Gate:
    """The gate at the first look that settles it: at every case's first repeats."""

    def evidence_at(look: int, confidence: float) -> Evidence:
        if judge.criteria.looks is None or all(len(one.reference) <= look for one in pairings):
            return suite_evidence(test, estimate, confidence)
        seen = [paired.first(look) for paired in pairings]
        early = SuiteTest.of(figure, seen)
        return suite_evidence(early, early.estimate(confidence), confidence)

    return settled_gate(figure, limit, judge, evidence_at, repeats=test.repeats, cases=test.cases)


def not_silently(gate: Gate, lost: tuple[str, ...]) -> Gate:
    """A suite that lost cases does not hold."""
    if not lost:
        return gate
    if gate.outcome == "holds":
        gate = replace(gate, outcome="undecided", reason="lost-cases")
    return replace(gate, lost=lost)


def _mean(
    key: str, challenger: str, cases: Sequence[CaseResult], missing: tuple[str, ...]
) -> SuiteFigure:
    """The geometric mean over the cases that have a plain figure; it has no interval."""
    estimates: list[tuple[str, Estimate]] = [
        (case.case, getattr(verdict.comparison, key))
        for case in cases
        for verdict in case.verdicts
        if verdict.comparison.challenger.strategy == challenger
    ]
    absent = (case for case, estimate in estimates if not is_plain(estimate))
    return SuiteFigure(key, geometric_mean([one for _, one in estimates]), (*absent, *missing))
