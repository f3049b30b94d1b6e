"""Finished programs measured against each other, sample by sample in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from pytest_ansorbench.measure.local.runner import Runner
from pytest_ansorbench.measure.local.worker import Worker
from pytest_ansorbench.measure.outcomes import Built, Measured
from pytest_ansorbench.measure.policy import ColdMeasurement, FixedMeasurement
from pytest_ansorbench.measure.settings import EngineSettings

#: After a kernel, TVM's pool of threads busy-waits for the next one: 300,000 turns, 0.15 s of
#: CPU here. A kernel that another process starts meanwhile measured twice its latency.
SETTLE_S: Final = 0.3


def take_turns(
    built: Sequence[Built], runner: Runner, settings: EngineSettings, samples: int
) -> list[Measured]:
    """Measure built programs in turn, and end their workers.

    Before it counts, each program is measured once, which finds a sleeping core. Between samples
    all processes come to rest. Outputs are compared at the end.

    Args:
        built: The programs; those that failed to compile keep their place.
        runner: Tells failures apart.
        settings: Whether caches are to be cold.
        samples: Samples of each, a `FixedMeasurement` of its own.

    Returns:
        One outcome per program, in order.

    Raises:
        ServerDied: The fork server died, and all workers with it.
    """
    outcomes = [Measured("ok") if one.handle else Measured.not_run(one) for one in built]
    final = ColdMeasurement(samples=1) if settings.flush_cache_mb else FixedMeasurement()

    def first(worker: Worker) -> tuple[float, ...]:
        worker.make_arguments()
        final.measure(worker, None)
        return ()

    def sample(worker: Worker) -> tuple[float, ...]:
        time.sleep(SETTLE_S)
        return final.measure(worker, None)

    def last(worker: Worker) -> tuple[float, ...]:
        worker.verify()
        return ()

    def attempt(place: int, work: Callable[[Worker], tuple[float, ...]]) -> None:
        worker, so_far = built[place].handle, outcomes[place]
        if so_far.status != "ok":
            return
        outcome = runner.attempt(worker, lambda: work(worker))
        if outcome.status == "ok":
            outcome = replace(outcome, latencies_s=so_far.latencies_s + outcome.latencies_s)
        outcomes[place] = outcome

    for work in (first, *[sample] * samples, last):
        for place in range(len(built)):
            attempt(place, work)
    for one, outcome in zip(built, outcomes, strict=True):
        if outcome.status == "ok":
            one.handle.end()
    return outcomes
