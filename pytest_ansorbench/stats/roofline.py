"""How far kernels are from what their machine can do: the roofline model."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from pytest_ansorbench.records import CaseResult, Implementation, MachinePeak, Run, Yardsticks
from pytest_ansorbench.stats.peers import times_faster


def roof_gflops(peak: MachinePeak, flops: int, argument_bytes: int, *, warm: bool = True) -> float:
    """The throughput that a machine allows at most.

    That is its compute peak, or if it is less, the throughput at which each argument moves once,
    at the bandwidth of the caches that hold all arguments together; or at that of memory where
    calls find cold caches. The roofline model (Williams et al. 2009,
    https://doi.org/10.1145/1498765.1498785), with compulsory traffic as an upper bound of the
    intensity.
    """
    if not argument_bytes:
        return peak.compute_gflops
    holds_all = [one for one in peak.bandwidths if one.working_set_bytes >= argument_bytes]
    bandwidth = holds_all[0] if holds_all and warm else peak.bandwidths[-1]
    return min(peak.compute_gflops, bandwidth.gbytes_per_s * flops / argument_bytes)


def share_of_roof(case: CaseResult, strategy: str) -> float | None:
    """How much of the roof the kernels of an arm reach, median over its runs; None if unknown."""
    shares = [
        run.flops / latency_s / 1e9 / roof_of_run(found.peak, run, found.argument_bytes)
        for run, latency_s, found in _measured(case, strategy)
        if found.peak is not None
    ]
    return statistics.median(shares) if shares else None


def over_implementation(
    case: CaseResult, strategy: str, implementation: Implementation
) -> float | None:
    """How many times faster the kernels of an arm are than another implementation.

    Median over its runs that were measured beside it, or on a machine where it was timed; None
    without any.
    """
    beside = (times_faster(run, implementation) for run in case.runs_of(strategy))
    ratios = [ratio for ratio in beside if ratio is not None]
    ratios += [
        kernel.latency_s / latency_s
        for run, latency_s, found in _measured(case, strategy)
        for kernel in found.kernels
        if kernel.implementation == implementation and kernel.latency_s is not None
    ]
    return statistics.median(ratios) if ratios else None


def roof_of_run(peak: MachinePeak, run: Run, argument_bytes: int) -> float:
    """The throughput that a machine allows a run's kernels, with the caches that it found."""
    return roof_gflops(peak, run.flops, argument_bytes, warm=run.caches != "cold")


def _measured(case: CaseResult, strategy: str) -> Iterator[tuple[Run, float, Yardsticks]]:
    """The arm's runs with the latency of their winner and what it is compared with."""
    by_machine = {found.machine: found for found in case.yardsticks}
    for run in case.runs_of(strategy):
        latency_s = run.final.latency_s if run.final is not None else None
        if latency_s is not None and run.machine in by_machine:
            yield run, latency_s, by_machine[run.machine]
