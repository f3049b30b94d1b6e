"""The programs of recorded searches by `draft`, which a result does not keep.

A search draws its programs from a seed and from what was measured, and a result has both. So the
search is played again with the recorded trials in the place of the machine, by the version of
`draft` that was recorded: another one proposes other sketches, which is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

from pytest_ansorbench.measure.outcomes import Measured
from pytest_ansorbench.records import Run
from pytest_ansorbench.search.task_search import Shared, TaskSearch
from pytest_ansorbench.strategies import Candidate, Registry
from pytest_ansorbench.workloads.case import Task


def replayed(run: Run, task: Task, target: Any) -> Iterator[Candidate]:
    """The program of each trial of a run of one task, in order.

    Raises:
        ValueError: Today's search proposes other programs.
    """
    from tvm.s_tir.meta_schedule.database import MemoryDatabase

    strategy = Registry().get(run.strategy)
    shared = Shared(
        target=target,
        strategy=strategy,
        database=MemoryDatabase(),
        cost_model=None,
        seed=run.seed,
        budget_trials=run.budget_trials,
        round_trials=run.round_trials,
        run_time_s=run.run_time_s,
        tasks=1,
    )
    search = TaskSearch(task, shared, index=0, rounds_done=0)
    done = 0
    for past in run.rounds:
        trials = [one for one in run.trials if one.round == past.index]
        candidates = search.propose(min(run.round_trials, run.budget_trials - done))
        proposed = [search.sketches.of(one.trace) for one in candidates]
        predicted = [_rounded(one.payload.get("predicted")) for one in candidates]
        then = past.decisions["drafts"]["predicted"]
        if proposed != [one.sketch for one in trials] or predicted != then:
            raise ValueError(
                f"bad run {run.strategy!r} of seed {run.seed}: round {past.index} is not what "
                "this version proposes; expected a result of this version's draft"
            )
        measured = [Measured(one.status, one.latencies_s, one.error) for one in trials]
        search.learn(candidates, measured, trials)
        yield from candidates
        done += len(trials)


def confirmed_gflops(run: Run) -> list[float]:
    """Throughput of each trial, 0 if it failed, without the luck of the programs that led.

    Beside a leader, a trial's latency is the leader's times a ratio, so that a leader's lucky
    latency stays in those that follow. Leaders are measured again at the end of a repeat; what is
    slower than twice the leader has a latency of its own (`PairedMeasurement.doubtful_ratio`).
    """
    again_s = {one.trial: median(one.latencies_s) for one in run.leads or () if one.latencies_s}
    leader_s, luck = 0.0, 1.0
    found = []
    for trial in run.trials:
        latency_s = trial.latency_s
        if latency_s is None:
            found.append(0.0)
            continue
        if trial.index in again_s:
            leader_s, luck = latency_s, again_s[trial.index] / latency_s
        beside = latency_s <= 2.0 * leader_s
        found.append(run.flops / (latency_s * (luck if beside else 1.0)) / 1e9)
    return found


def _rounded(predicted: float | None) -> float | None:
    return None if predicted is None else round(predicted, 3)
