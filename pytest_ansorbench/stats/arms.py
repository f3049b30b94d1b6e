"""One arm's runs in figures."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from pytest_ansorbench.records import ArmSummary, Run
from pytest_ansorbench.stats.ert import expected_running_time
from pytest_ansorbench.stats.trajectory import Trajectory


def summarize_arm(arm: Sequence[Trajectory], target_s: float | None) -> ArmSummary:
    """Sum up one arm of a case over all its seeds.

    Args:
        arm: The arm's runs, at least one.
        target_s: The target in seconds a kernel call; None if there is none to reach, as for a
            strategy that runs alone.

    Returns:
        The summary. A run whose winner could not be measured again counts as throughput 0,
        which makes the geometric mean 0.

    Raises:
        ValueError: There are no runs, or of more than one strategy.
    """
    runs = [trajectory.run for trajectory in arm]
    strategies = sorted({run.strategy for run in runs})
    if len(strategies) != 1:
        raise ValueError(f"bad arm of {strategies!r}: expected runs of exactly one strategy")
    hits = [] if target_s is None else [trajectory.hit(target_s) for trajectory in arm]
    reached = [hit.reached for hit in hits]
    rounds = [r for run in runs for r in run.rounds]
    return ArmSummary(
        strategy=strategies[0],
        runs=len(runs),
        reached=sum(reached),
        trials=sum(len(run.trials) for run in runs),
        failed_trials=sum(run.failed_trials for run in runs),
        search_s=math.fsum(r.search_s for r in rounds) / len(runs),
        propose_s=math.fsum(r.propose_s for r in rounds) / len(runs),
        build_s=math.fsum(r.build_s for r in rounds) / len(runs),
        run_s=math.fsum(r.run_s for r in rounds) / len(runs),
        learn_s=math.fsum(r.learn_s for r in rounds) / len(runs),
        time_to_target_s=expected_running_time([hit.search_s for hit in hits], reached),
        trials_to_target=expected_running_time([hit.trials for hit in hits], reached),
        throughput_gflops=_final_gflops(arm),
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


def _final_gflops(arm: Sequence[Trajectory]) -> float:
    """Geometric mean of the winners' re-measured throughput; 0 if one has none."""
    gflops = [run.run.flops / run.final_s / 1e9 for run in arm]
    # statistics.geometric_mean refuses zeros before Python 3.12, and a sum in another order
    # gives another last digit.
    return statistics.geometric_mean(sorted(gflops)) if min(gflops) > 0.0 else 0.0
