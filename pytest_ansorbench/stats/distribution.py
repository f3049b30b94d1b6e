"""The profile of S: how the arms compare at single targets, early and late."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from pytest_ansorbench.records import CaseResult, Estimate
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.measures import SearchRatio
from pytest_ansorbench.stats.paired_runs import PairedRuns, pair_case_runs
from pytest_ansorbench.stats.running_time_ratio import expected_running_time

SHARES: Final = (0.5, 0.8, 0.95, 1.0)  # of the reference's gain


@dataclass(frozen=True, slots=True)
class Milestone:
    """Both arms' way to one target."""

    share: float  # share of the reference's gain
    target_gflops: float  # the target
    reference_reached: int  # reference runs that reached it
    challenger_reached: int  # challenger runs that reached it
    reference_s: float  # expected search time of the reference in seconds; infinity for never
    challenger_s: float  # of the challenger
    ratio: Estimate  # S to this target alone


# By challenger, the milestones on the way of the reference
Ways = Mapping[str, tuple[Milestone, ...]]


def case_ways(case: CaseResult, criteria: Criteria) -> Ways:
    """The milestones of every challenger of a case that was compared."""
    challengers = (verdict.comparison.challenger.strategy for verdict in case.verdicts)
    return {
        name: milestones(pair_case_runs(case, name, criteria), criteria.confidence)
        for name in challengers
    }


def milestones(paired: PairedRuns, confidence: float) -> tuple[Milestone, ...]:
    """Run-time distributions of both arms, read off at `SHARES` of the reference's gain.

    A search that is ahead early and behind late, or the other way round, shows here. COCO draws
    such distributions over many targets:
    https://numbbo.github.io/coco-doc/perf-assessment/
    """
    return tuple(_milestone(paired, share, confidence) for share in SHARES)


def _milestone(paired: PairedRuns, share: float, confidence: float) -> Milestone:
    there = replace(paired, goal=Goal(share, share))
    target_s = there.target_s
    reference, challenger = (
        [run.hit(target_s) for run in arm] for arm in (paired.reference, paired.challenger)
    )
    return Milestone(
        share=share,
        target_gflops=paired.flops / target_s / 1e9,
        reference_reached=sum(hit.reached for hit in reference),
        challenger_reached=sum(hit.reached for hit in challenger),
        reference_s=expected_running_time(reference, "search_s"),
        challenger_s=expected_running_time(challenger, "search_s"),
        ratio=SearchRatio("search_s").estimate(there, confidence),
    )


@dataclass(frozen=True, slots=True)
class Truncation:
    """The reference, cut off at the time that the challenger takes to the target."""

    search_s: float  # where it is cut off, in seconds of search time
    # Share of its search throughput that it has by then, geometric mean over the seeds; 0 if a
    # run has no valid trial by then
    kept: float


def truncate_reference(paired: PairedRuns) -> Truncation | None:
    """Cut the reference's runs off at the challenger's expected time to the target.

    A faster search is worth something only if stopping the slow one early is not as good.
    Throughput is that seen during the search, for no other kernel was measured again.
    None if the challenger never reached the target.
    """
    target_s = paired.target_s
    cut_s = expected_running_time([run.hit(target_s) for run in paired.challenger], "search_s")
    if math.isinf(cut_s):
        return None
    kept = []
    for run in paired.reference:
        done = int(np.searchsorted(run.search_s[:-1], cut_s, side="right"))
        kept.append(run.best_s / float(run.latency_s[done - 1]) if done else 0.0)
    return Truncation(
        cut_s, math.exp(math.fsum(map(math.log, kept)) / len(kept)) if all(kept) else 0.0
    )
