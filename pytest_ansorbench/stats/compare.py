"""From the runs of two arms to one comparison."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from pytest_ansorbench.records import ArmSummary, CaseResult, Comparison, Run
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.estimates import widened
from pytest_ansorbench.stats.measures import SearchRatio
from pytest_ansorbench.stats.paired_ratio import NeighbourRatios
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.recorded import Pace
from pytest_ansorbench.stats.running_time_ratio import (
    expected_running_time,
    running_time_ratio,
    search_ratio_paper,
)
from pytest_ansorbench.stats.throughput_ratio import throughput_ratio
from pytest_ansorbench.stats.trajectory import Trajectory


class PairingError(ValueError):
    """The runs of two arms do not pair up, so comparing them would mean nothing."""


def pair_runs(
    reference: Sequence[Run], challenger: Sequence[Run], criteria: Criteria
) -> PairedRuns:
    """Pair the runs of two arms by seed; their order does not matter."""
    reference, challenger = _by_seed(reference), _by_seed(challenger)
    _check_pairs(reference, challenger)
    # Confirmed progress of one arm must not meet believed progress of the other.
    confirmed = all(run.leads is not None for run in (*reference, *challenger))
    progress = criteria.progress if confirmed else "believed"
    pace = Pace.of(reference)
    references = [
        Trajectory.of(run, progress).with_less("search_s", 1.0 / pace.ratio)
        if run.recorded is not None
        else Trajectory.of(run, progress)
        for run in reference
    ]
    challengers = [Trajectory.of(run, progress) for run in challenger]
    return PairedRuns(
        references,
        list(map(_side_by_side, references, challengers)),
        criteria.goal,
        criteria.tolerance,
        pace.error,
    )


def pair_case_runs(case: CaseResult, challenger: str, criteria: Criteria) -> PairedRuns:
    """`pair_runs` for an arm of a case against its reference."""
    return pair_runs(case.runs_of(case.strategies[0]), case.runs_of(challenger), criteria)


def compare(paired: PairedRuns, confidence: float) -> Comparison:
    """Compare two arms on one case.

    The forms of the search-time ratio are

        S            challenger over reference, in seconds, over the way or to the goal's target
        S_trials     the same, in trials
        S to target  ERT of the challenger / ERT of the reference, in seconds to the goal's target
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
        search_ratio_paper=widened(search_ratio_paper(paired, confidence), paired.seconds_error),
        search_ratio_trials=SearchRatio("trials").estimate(paired, confidence),
        running_time_ratio=to_target,
        throughput_ratio=throughput_ratio(paired, confidence),
    )


def _side_by_side(reference: Trajectory, challenger: Trajectory) -> Trajectory:
    """The challenger's run, its final latency by its ratio to the reference's winner.

    The ratio rests on slices that were neighbours in time, and is known many times better than
    either latency. Winners that were not measured in slices keep their latencies.
    """
    one, other = reference.run.final, challenger.run.final
    ratios = NeighbourRatios.of(other, one) if one is not None and other is not None else None
    if ratios is None:
        return challenger
    return challenger.ending_at(reference.final_s * math.exp(ratios.log_ratio))


def _by_seed(runs: Sequence[Run]) -> list[Run]:
    return sorted(runs, key=lambda run: run.seed)


def _check_pairs(reference: Sequence[Run], challenger: Sequence[Run]) -> None:
    """Refuse arms that do not pair up."""
    for arm, runs in (("reference", reference), ("challenger", challenger)):
        seeds = [run.seed for run in runs]
        strategies = sorted({run.strategy for run in runs})
        if not runs:
            raise PairingError(f"bad {arm} arm []: expected at least one run")
        if len(set(seeds)) != len(seeds):
            raise PairingError(f"bad {arm} seeds {seeds!r}: expected each seed once")
        if len(strategies) != 1:
            raise PairingError(f"bad {arm} arm of {strategies!r}: expected a single strategy")
    seeds_reference = [run.seed for run in reference]
    seeds_challenger = [run.seed for run in challenger]
    if seeds_reference != seeds_challenger:
        raise PairingError(
            f"bad challenger seeds {seeds_challenger!r}: expected those of the reference, "
            f"{seeds_reference!r}"
        )
    for one, other in zip(reference, challenger, strict=True):
        if one.machine != other.machine:
            raise PairingError(
                f"bad machines {[one.machine, other.machine]!r} of seed {one.seed}: expected both "
                "arms of a repeat on one machine"
            )
    cases = sorted({(run.case, run.flops) for run in (*reference, *challenger)})
    if len(cases) != 1:
        raise PairingError(f"bad cases {cases!r}: expected runs of one case with one flops count")


def summarize_arm(arm: Sequence[Trajectory], target_s: float | None) -> ArmSummary:
    """Sum up one arm of a case over all its seeds."""
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
