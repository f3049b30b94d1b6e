"""Two arms on one case, run by run of the same seed: what comparisons work on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from pytest_ansorbench.records import CaseResult, Run
from pytest_ansorbench.stats.bootstrap import Draws
from pytest_ansorbench.stats.criteria import Criteria, Progress
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.paired_ratio import NeighbourRatios
from pytest_ansorbench.stats.peers import peer_of, times_faster
from pytest_ansorbench.stats.recorded import Pace
from pytest_ansorbench.stats.trajectory import Floats, Trajectory, first_and_best

# Relative; the way from latency to throughput and back may round a target out of reach
_SLACK: Final = 1e-12


class PairingError(ValueError):
    """The runs of two arms do not pair up, so comparing them would mean nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class PairedRuns:
    """The runs of two arms on a case, and how targets are chosen."""

    reference: Sequence[Trajectory]  # by seed
    challenger: Sequence[Trajectory]  # of the same seeds in the same order
    goal: Goal
    tolerance: float  # throughput to concede in targets, a fraction in [0, 1)
    # Half the width of the interval of the logarithm of a ratio in seconds that comes from runs of
    # another day, by `Pace`
    seconds_error: float = 0.0
    # Throughputs in kernel calls a second where the gain begins and ends, if neither arm's runs
    # decide that; None for those of the reference's runs
    gain: tuple[float, float] | None = None

    def first(self, repeats: int) -> PairedRuns:
        """The runs of the first seeds alone."""
        return replace(
            self, reference=self.reference[:repeats], challenger=self.challenger[:repeats]
        )

    def beside(self, implementation: str) -> PairedRuns:
        """Another library in the place of the reference.

        Its level is that of the reference's winner times their ratio, as that of a challenger is;
        NaN in all repeats if one lacks it.
        """
        found = np.array([_peer_s(run, implementation) for run in self.reference])
        if np.isnan(found).any():
            found[:] = math.nan
        sides = zip(self.reference, found.tolist(), strict=True)
        return replace(self, reference=[replace(run, final_s=one) for run, one in sides])

    @property
    def flops(self) -> int:
        return self.reference[0].run.flops

    @property
    def target_s(self) -> float:
        """The goal's last target, as latency."""
        return float(self.targets_s(np.arange(len(self.reference))[np.newaxis, :])[0])

    def targets_s(self, drawn: Draws) -> Floats:
        """The goal's last target, as latency, for each draw of reference runs, shape (draws,).

            end = median over the runs of best search throughput * (1 - tolerance)
            target throughput = first + share * (end - first)

        with `first` the median throughput of first valid trials. The median over many reference
        seeds makes an end which about half of them reach, as in AlgoPerf
        (https://arxiv.org/abs/2306.07179).

        A run without a valid trial counts as throughput 0, and any valid trial reaches a target of
        throughput 0.
        """
        goal = self.goal
        if goal.gflops is not None:
            return np.full(len(drawn), self.flops / (goal.gflops * 1e9))
        first, best = first_and_best(self.reference)
        start, end = gain_of(first[drawn], best[drawn], self.tolerance, self.gain)
        throughput = start + goal.high * (end - start)
        with np.errstate(divide="ignore"):
            targets: Floats = (1.0 + _SLACK) / throughput
        return targets


def pair_runs(
    reference: Sequence[Run], challenger: Sequence[Run], criteria: Criteria
) -> PairedRuns:
    """Pair the runs of two arms by seed; their order does not matter."""
    reference, challenger = _by_seed(reference), _by_seed(challenger)
    _check_pairs(reference, challenger)
    progress = progress_of((*reference, *challenger), criteria)
    pace = Pace.of(reference)
    # The reference is paired with itself, too, and then both are runs of another day.
    references, challengers = (
        [Trajectory.of(run, progress).with_less("search_s", 1.0 / pace.of_run(run)) for run in runs]
        for runs in (reference, challenger)
    )
    return PairedRuns(
        references,
        list(map(_side_by_side, references, challengers)),
        criteria.goal,
        criteria.tolerance,
        pace.error,
    )


def progress_of(runs: Sequence[Run], criteria: Criteria) -> Progress:
    """Which progress of some runs counts: confirmed must not meet believed."""
    return criteria.progress if all(run.leads is not None for run in runs) else "believed"


def check_case_pairs(case: CaseResult) -> None:
    """Check that each arm of a case pairs up with its reference.

    Raises:
        PairingError: One does not.
    """
    reference, *challengers = (_by_seed(case.runs_of(name)) for name in case.strategies)
    for challenger in challengers if case.runs else ():
        _check_pairs(reference, challenger)


def pair_case_runs(case: CaseResult, challenger: str, criteria: Criteria) -> PairedRuns:
    """`pair_runs` for an arm of a case against its reference."""
    return pair_runs(case.runs_of(case.strategies[0]), case.runs_of(challenger), criteria)


def gain_of(
    first: Floats,
    best: Floats,
    tolerance: float,
    given: tuple[float, float] | None = None,
) -> tuple[Floats, Floats]:
    """Throughputs where the gain of reference runs along the last axis begins and ends.

    Those that are given, if any, whatever the runs.
    """
    if given is not None:
        start, end = (np.full(first.shape[:-1], throughput) for throughput in given)
        return start, end
    high = np.median(best, axis=-1) * (1.0 - tolerance)
    return np.minimum(np.median(first, axis=-1), high), high


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


def _peer_s(run: Trajectory, implementation: str) -> float:
    """Latency of another library that was measured beside a run's winner; NaN if it was not."""
    faster = times_faster(run.run, implementation)
    if faster is not None:
        return run.final_s * faster
    peer = peer_of(run.run, implementation)
    return math.nan if peer is None or peer.final.latency_s is None else peer.final.latency_s


def _by_seed(runs: Sequence[Run]) -> list[Run]:
    return sorted(runs, key=lambda run: run.seed)


def _check_pairs(reference: Sequence[Run], challenger: Sequence[Run]) -> None:
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
