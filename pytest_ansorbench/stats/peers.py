"""How the winners of runs compare with other libraries that were measured in turn with them."""

from __future__ import annotations

import math

from pytest_ansorbench.records import Peer, Run
from pytest_ansorbench.stats.paired_ratio import NeighbourRatios


def peer_of(run: Run, implementation: str) -> Peer | None:
    """Another library beside a run; None if it was not asked for."""
    return next((one for one in run.peers if one.implementation == implementation), None)


def times_faster(run: Run, implementation: str) -> float | None:
    """How many times faster a run's winner is than another library; None if one has no latency.

    By pairs of slices that were neighbours in time.
    """
    peer, own = peer_of(run, implementation), run.final
    if peer is None or own is None or own.latency_s is None or peer.final.latency_s is None:
        return None
    ratios = NeighbourRatios.of(peer.final, own)
    if ratios is None:
        return peer.final.latency_s / own.latency_s
    return math.exp(ratios.log_ratio)
