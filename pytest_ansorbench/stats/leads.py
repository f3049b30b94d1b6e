"""The programs that led a run, by their latencies as they were measured again."""

from __future__ import annotations

import math

from pytest_ansorbench.records import Remeasurement, Run
from pytest_ansorbench.stats.paired_ratio import NeighbourRatios


def lead_latencies_s(run: Run) -> dict[int, float]:
    """Latencies of a run's leads, by index of the trial, in seconds a kernel call.

    A task's winner has the level of all its slices. The others have that times their ratio to the
    winner, which rests on pairs of neighbours and is known several times better than a level.

    Args:
        run: A run whose leads were measured again.

    Returns:
        One entry for each lead that could be measured; one that could not changes nothing.
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
