"""How the arms compare on the way: expected times to several targets, not to the last alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from pytest_ansorbench.records import CaseResult, Estimate
from pytest_ansorbench.stats.compare import pair_case_runs
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.ert import expected_running_time
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.running_time_ratio import running_time_ratio

SHARES: Final = (0.25, 0.5, 0.75, 0.9, 1.0)
"""Shares of the reference's gain: from its first kernel to the target of S."""


@dataclass(frozen=True, slots=True)
class Milestone:
    """Both arms' way to one target.

    Attributes:
        share: Share of the reference's gain.
        target_gflops: The target.
        reference_reached: Reference runs that reached it.
        challenger_reached: Challenger runs that reached it.
        reference_s: Expected search time of the reference in seconds; infinity for never.
        challenger_s: Of the challenger.
        ratio: Challenger over reference.
    """

    share: float
    target_gflops: float
    reference_reached: int
    challenger_reached: int
    reference_s: float
    challenger_s: float
    ratio: Estimate


Ways = Mapping[str, tuple[Milestone, ...]]
"""By challenger, the milestones on the way of the reference."""


def case_ways(case: CaseResult, criteria: Criteria) -> Ways:
    """The milestones of every challenger of a case that was compared.

    Args:
        case: The case, judged.
        criteria: How its figures are computed.
    """
    challengers = (verdict.comparison.challenger.strategy for verdict in case.verdicts)
    return {
        name: milestones(pair_case_runs(case, name, criteria), criteria.confidence)
        for name in challengers
    }


def milestones(paired: PairedRuns, confidence: float) -> tuple[Milestone, ...]:
    """Run-time distributions of both arms, read off at `SHARES` of the reference's gain.

    A search that is ahead early and behind late, or the other way round, shows here; S is the
    last line alone. COCO draws such distributions over many targets:
    https://numbbo.github.io/coco-doc/perf-assessment/

    Args:
        paired: The pairs of runs.
        confidence: Confidence of the ratios' intervals.

    Returns:
        One milestone per share.
    """
    return tuple(_milestone(paired, share, confidence) for share in SHARES)


def _milestone(paired: PairedRuns, share: float, confidence: float) -> Milestone:
    there = replace(paired, goal=Goal("gain", share))
    target_s = there.target_s
    reference, challenger = (
        [run.hit(target_s) for run in arm] for arm in (paired.reference, paired.challenger)
    )
    return Milestone(
        share=share,
        target_gflops=paired.flops / target_s / 1e9,
        reference_reached=sum(hit.reached for hit in reference),
        challenger_reached=sum(hit.reached for hit in challenger),
        reference_s=expected_running_time(
            [hit.search_s for hit in reference], [hit.reached for hit in reference]
        ),
        challenger_s=expected_running_time(
            [hit.search_s for hit in challenger], [hit.reached for hit in challenger]
        ),
        ratio=running_time_ratio(there, "search_s", confidence),
    )
