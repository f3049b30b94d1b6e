"""When a run first reaches a latency, and what it had spent by then."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_ansorbench.records import Run


@dataclass(frozen=True, slots=True)
class Hit:
    """What a run spent until it reached a target, or in all if it never did (censored).

    Attributes:
        reached: Whether it reached the target.
        search_s: Search time spent, in seconds.
        trials: Trials spent, failed ones included.
    """

    reached: bool
    search_s: float
    trials: int


def first_hit(run: Run, target_latency_s: float) -> Hit:
    """Find the first trial that is at least as fast as the target.

    First hitting times of fixed targets are how COCO reads a trajectory:
    https://numbbo.github.io/coco-doc/perf-assessment/

    Args:
        run: The run.
        target_latency_s: Seconds a kernel call may take; infinity is reached by the first
            valid trial.

    Returns:
        The spending up to that trial, or of the whole run if there is no such trial.
    """
    for trial in run.trials:
        latency_s = trial.latency_s
        if latency_s is not None and latency_s <= target_latency_s:
            return Hit(True, trial.search_s, trial.index + 1)
    return Hit(False, run.search_s, len(run.trials))
