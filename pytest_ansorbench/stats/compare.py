"""From the runs of two arms to one comparison."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

from pytest_ansorbench.records import ArmSummary, Comparison, Run
from pytest_ansorbench.stats.estimates import widened
from pytest_ansorbench.stats.goal import EARLY
from pytest_ansorbench.stats.ladder import ahead_to
from pytest_ansorbench.stats.measures import SearchRatio
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.recorded import Pace
from pytest_ansorbench.stats.running_time_ratio import (
    expected_running_time,
    running_time_ratio,
    search_ratio_paper,
)
from pytest_ansorbench.stats.throughput_ratio import throughput_ratio
from pytest_ansorbench.stats.trajectory import Trajectory


def compare(paired: PairedRuns, confidence: float) -> Comparison:
    """Compare two arms on one case.

    The forms of the search-time ratio are

        S            challenger over reference, in seconds, over the goal's targets
        S_early      the same, over the way before that
        S_trials     the same, in trials
        S to target  ratio of ERTs, in seconds to the goal's last target
        S_paper      the same, each seed's target being its reference run's own best
    """
    target_s = paired.target_s
    to_target = widened(running_time_ratio(paired, "search_s", confidence), paired.seconds_error)
    return Comparison(
        case=paired.reference[0].run.case,
        target_gflops=paired.flops / target_s / 1e9 if target_s else math.inf,
        reference=summarize_arm(paired.reference, target_s),
        challenger=summarize_arm(paired.challenger, target_s),
        search_ratio=SearchRatio("search_s").estimate(paired, confidence),
        search_ratio_early=SearchRatio("search_s", EARLY).estimate(paired, confidence),
        search_ratio_paper=widened(search_ratio_paper(paired, confidence), paired.seconds_error),
        search_ratio_trials=SearchRatio("trials").estimate(paired, confidence),
        running_time_ratio=to_target,
        throughput_ratio=throughput_ratio(paired, confidence),
        ahead_to=ahead_to(paired),
    )


def summarize_arm(arm: Sequence[Trajectory], target_s: float | None) -> ArmSummary:
    """Sum up one arm of a case over all its seeds, in today's seconds."""
    runs = [trajectory.run for trajectory in arm]
    pace = Pace.of(runs)
    hits = [] if target_s is None else [trajectory.hit(target_s) for trajectory in arm]

    def mean_s(of: Callable[[Run], float]) -> float:
        return math.fsum(pace.of_run(run) * of(run) for run in runs) / len(runs)

    return ArmSummary(
        strategy=runs[0].strategy,
        runs=len(runs),
        reached=sum(hit.reached for hit in hits),
        trials=sum(len(run.trials) for run in runs),
        failed_trials=sum(run.failed_trials for run in runs),
        search_s=mean_s(lambda run: run.search_s),
        propose_s=mean_s(lambda run: math.fsum(one.propose_s for one in run.rounds)),
        build_s=mean_s(lambda run: math.fsum(one.build_s for one in run.rounds)),
        run_s=mean_s(lambda run: math.fsum(one.run_s for one in run.rounds)),
        learn_s=mean_s(lambda run: math.fsum(one.learn_s for one in run.rounds)),
        time_to_target_s=expected_running_time(hits, "search_s"),
        trials_to_target=expected_running_time(hits, "trials"),
        throughput_gflops=final_gflops(arm),
        optimism=_optimism(runs),
    )


def _optimism(runs: Sequence[Run]) -> float | None:
    """How many times slower the winners are than their searches believed, geometric mean."""
    ratios = [
        run.final.latency_s / estimated_s
        for run in runs
        if run.final is not None and run.final.latency_s and (estimated_s := run.estimated_s)
    ]
    return statistics.geometric_mean(sorted(ratios)) if ratios else None


def final_gflops(arm: Sequence[Trajectory]) -> float:
    """Geometric mean of the winners' re-measured throughput; 0 if one has none."""
    gflops = [run.run.flops / run.final_s / 1e9 for run in arm]
    # statistics.geometric_mean refuses zeros before Python 3.12, and a sum in another order
    # gives another last digit.
    return statistics.geometric_mean(sorted(gflops)) if min(gflops) > 0.0 else 0.0
