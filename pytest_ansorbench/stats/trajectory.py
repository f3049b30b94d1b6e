"""A run as statistics see it: when it had found how fast a kernel, and what it spent in all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.records import Remeasurement, Run
from pytest_ansorbench.stats.criteria import Progress
from pytest_ansorbench.stats.paired_ratio import NeighbourRatios

Floats = NDArray[np.float64]

# The cost that is counted until a target is reached: search time in seconds, or trials
Spending = Literal["search_s", "trials"]


@dataclass(frozen=True, slots=True)
class Hit:
    """The cost of a run until it reached a target, or in all if it never did (censored)."""

    reached: bool
    search_s: float
    trials: int  # failed ones included


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """The improvements of one run; k of them.

    First hitting times of fixed targets are how COCO reads a trajectory, and the improvements
    are all that they depend on: https://numbbo.github.io/coco-doc/perf-assessment/
    """

    run: Run
    latency_s: Floats  # best latency of the case so far after each improvement, falling, shape (k,)
    # Search time at each improvement, and last that of the whole run, shape (k + 1,)
    search_s: Floats
    trials: Floats  # trials until and with each improvement, and last all of them, shape (k + 1,)
    final_s: float  # latency of the winner, measured again; infinity if there is none
    confirmed: bool  # whether the improvements are those of programs that were measured again

    @classmethod
    def of(cls, run: Run, progress: Progress = "confirmed") -> Trajectory:
        """Read a run.

        Confirmed progress counts the programs that were ever best by their latencies measured
        again, so that one which was luck changes nothing. It ends where the winner's final
        measurement says it does: all of it is scaled so that the winner's latency agrees with that,
        which for a network is also the way from a sum over tasks to the latency end to end.
        """
        final_s = run.final.latency_s if run.final else None
        confirmed = progress == "confirmed" and run.leads is not None
        leads_s = lead_latencies_s(run) if confirmed else {}
        winner_s = _winner_s(run, leads_s) if confirmed else math.inf
        trials = run.trials
        latencies_s = _confirmed(run, leads_s) if confirmed else _believed(run)
        best_s = np.minimum.accumulate([math.inf, *_of_case(run, latencies_s)])
        at = np.flatnonzero(best_s[1:] < best_s[:-1])
        improved = [trials[i] for i in at]
        crowned_s = winner_s if confirmed and _crowned_late(run) else math.inf
        # What the last check crowned, the run had from its end on only.
        ends = 1 + (crowned_s < best_s[-1])
        return cls(
            run=run,
            latency_s=np.array([*best_s[1:][at], *[crowned_s] * (ends - 1)]),
            search_s=np.array([*(trial.search_s for trial in improved), *[run.search_s] * ends]),
            trials=np.array([*(trial.index + 1.0 for trial in improved), *[len(trials)] * ends]),
            final_s=winner_s,
            confirmed=confirmed,
        ).ending_at(math.inf if final_s is None else final_s)

    def ending_at(self, final_s: float) -> Trajectory:
        """The same run with another latency of its winner; confirmed progress goes with it."""
        if not self.confirmed or math.isinf(final_s) or math.isinf(self.final_s):
            return replace(self, final_s=final_s)
        return replace(self, final_s=final_s, latency_s=self.latency_s * (final_s / self.final_s))

    @property
    def first_s(self) -> float:
        """Latency of the first valid trial; infinity if there is none."""
        return float(self.latency_s[0]) if len(self.latency_s) else math.inf

    @property
    def best_s(self) -> float:
        """Latency of the best trial; infinity if none is valid."""
        return float(self.latency_s[-1]) if len(self.latency_s) else math.inf

    def best_after(self, trials: int) -> float:
        """Latency of the best of the first `trials` trials; infinity if none of them is valid."""
        improvements = int(np.count_nonzero(self.trials[:-1] <= trials))
        return float(self.latency_s[improvements - 1]) if improvements else math.inf

    def costs(self, spending: Spending) -> Floats:
        """The cost until each improvement, and last that of the whole run, shape (k + 1,)."""
        return self.search_s if spending == "search_s" else self.trials

    def hit(self, target_s: float) -> Hit:
        """When it first got at least as fast as a target, or what it spent in all."""
        at = int(self._first_at_most(np.array([target_s]))[0])
        reached = at < len(self.latency_s)
        return Hit(reached, float(self.search_s[at]), int(self.trials[at]))

    def spent(self, targets_s: Floats, spending: Spending) -> tuple[Floats, Floats]:
        """The cost until each target is reached, or in all; and 1 where it was reached, else 0."""
        at = self._first_at_most(targets_s)
        return self.costs(spending)[at], (at < len(self.latency_s)).astype(float)

    def with_less(self, spending: Spending, factor: float) -> Trajectory:
        """The same run, had it spent less by a factor."""
        if spending == "search_s":
            return replace(self, search_s=self.search_s / factor)
        return replace(self, trials=self.trials / factor)

    def _first_at_most(self, targets_s: Floats) -> NDArray[np.intp]:
        """Index of the first improvement that reaches each target; k if none does."""
        fast_enough = np.searchsorted(self.latency_s[::-1], targets_s, side="right")
        return len(self.latency_s) - fast_enough


def first_and_best(runs: Sequence[Trajectory]) -> tuple[Floats, Floats]:
    """Calls a second of the first and of the best kernel of each run; 0 of one without any."""
    return (
        np.array([1.0 / run.first_s for run in runs]),
        np.array([1.0 / run.best_s for run in runs]),
    )


def _believed(run: Run) -> Sequence[float]:
    """Latency that the search saw of each trial; infinity for one that failed."""
    # The median of one sample is that sample, and almost all have one; a report of a million
    # trials spends half of its time here.
    return [
        samples[0] if len(samples := trial.latencies_s) == 1 else trial.latency_s or math.inf
        for trial in run.trials
    ]


def _confirmed(run: Run, leads_s: Mapping[int, float]) -> Sequence[float]:
    """Latency of each trial that was ever best, measured again; infinity for all others."""
    late = _crowned_late(run)
    return [
        math.inf if trial.index in late else leads_s.get(trial.index, math.inf)
        for trial in run.trials
    ]


def _crowned_late(run: Run) -> set[int]:
    """Indices of trials that the last check crowned and that had not been best before."""
    crowned = {ranking.crowned for ranking in (run.last_check.tasks if run.last_check else ())}
    best_s = [math.inf] * len(run.tasks)
    for trial in run.trials if crowned else ():
        task, latency_s = run.task_of(trial), trial.latency_s
        if latency_s is not None and latency_s < best_s[task]:
            best_s[task] = latency_s
            crowned.discard(trial.index)
    return crowned


def _of_case(run: Run, latencies_s: Sequence[float]) -> Sequence[float]:
    """Latency of the case after each trial: the trial's own, or the network's estimate.

    Infinity where it is not known: for a failed trial, and while a task has no valid trial.
    """
    if len(run.tasks) > 1:
        return _estimates(run, latencies_s)
    weight = run.tasks[0].weight
    return latencies_s if weight == 1 else [weight * latency_s for latency_s in latencies_s]


def _winner_s(run: Run, leads_s: Mapping[int, float]) -> float:
    """Latency of the case by its winners' latencies as leads; infinity if one has none."""
    return math.fsum(
        task.weight * (math.inf if best is None else leads_s.get(best.index, math.inf))
        for task, best in zip(run.tasks, run.best_trials, strict=True)
    )


def _estimates(run: Run, latencies: Sequence[float]) -> Sequence[float]:
    """Sum over the tasks of weight times best latency, after each trial."""
    task_of_round = [round.task for round in run.rounds]
    weights = [task.weight for task in run.tasks]
    best = [math.inf] * len(weights)
    estimates = []
    total, unknown = 0.0, len(weights)
    for trial, latency_s in zip(run.trials, latencies, strict=True):
        task = task_of_round[trial.round - 1]
        if latency_s < best[task]:
            unknown -= math.isinf(best[task])
            best[task] = latency_s
            # Added up anew, since differences would add up their rounding errors.
            total = math.fsum(w * b for w, b in zip(weights, best, strict=True) if b < math.inf)
        estimates.append(math.inf if unknown else total)
    return estimates


def lead_latencies_s(run: Run) -> dict[int, float]:
    """Latencies of the trials that were ever best, as measured again, by index of the trial.

    A task's winner has the level of all its slices. The others have that times their ratio to the
    winner, which rests on pairs of neighbours and is known several times better than a level.
    """
    leads = {lead.trial: lead for lead in run.leads or () if lead.latency_s is not None}
    latencies_s: dict[int, float] = {}
    winners = run.best_trials
    for trial, lead in leads.items():
        if trial is None:
            continue
        best = winners[run.task_of(run.trials[trial])]
        latencies_s[trial] = _latency_s(lead, leads.get(best.index) if best else None)
    return latencies_s


def _latency_s(lead: Remeasurement, winner: Remeasurement | None) -> float:
    own_s = lead.latency_s
    assert own_s is not None
    ratios = None if winner is None else NeighbourRatios.of(lead, winner)
    if ratios is None or winner is None or winner.latency_s is None:
        return own_s
    return winner.latency_s * math.exp(ratios.log_ratio)
