"""What kernels are held against besides each other, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_ansorbench.records import (
    Bandwidth,
    CaseResult,
    MachinePeak,
    ReferenceKernel,
    Yardsticks,
)
from pytest_ansorbench.report.cells import (
    Cell,
    Memory,
    Significant,
    Text,
    Throughput,
)
from pytest_ansorbench.report.sections import Level, Lines, Sentence
from pytest_ansorbench.stats.roofline import roof_gflops

_MB = 1e6


def peak_lines(cases: Sequence[CaseResult]) -> Lines:
    """Say what the machines can do at most.

    Args:
        cases: The cases; each machine is told of once.
    """
    peaks = {
        found.machine: found.peak
        for case in cases
        for found in case.yardsticks
        if found.peak is not None
    }
    return Lines(
        tuple(
            ("peak: ", *((Text(machine), ": ") if len(peaks) > 1 else ()), *_peak(peak))
            for machine, peak in peaks.items()
        )
    )


def _peak(peak: MachinePeak) -> Iterator[str | Cell]:
    yield from (Throughput(peak.compute_gflops), " GFLOP/s of multiply-adds; reads, GB/s: ")
    for place, one in enumerate(_told(peak.bandwidths)):
        yield from (", " if place else "", Memory(one.working_set_bytes / _MB, Significant(3)))
        yield from (" MB ", *((Text(one.level), " ") if one.level else ()))
        yield Throughput(one.gbytes_per_s)


def _told(bandwidths: Sequence[Bandwidth]) -> Sequence[Bandwidth]:
    """Of each level the fastest, and the largest of all; all where levels are not known."""
    fastest: dict[str, Bandwidth] = {}
    for one in bandwidths:
        known = fastest.get(one.level)
        if known is None or one.gbytes_per_s > known.gbytes_per_s:
            fastest[one.level] = one
    told = {*fastest.values(), bandwidths[-1]}
    return [one for one in bandwidths if "" in fastest or one in told]


def yardstick_lines(case: CaseResult) -> tuple[Sentence, ...]:
    """Say what a case's kernels are held against on each machine."""
    return tuple(sentence for found in case.yardsticks for sentence in _sentences(case, found))


def _sentences(case: CaseResult, found: Yardsticks) -> Iterator[Sentence]:
    flops = _flops(case)
    if found.peak is not None and flops:
        roof = roof_gflops(found.peak, flops, found.argument_bytes)
        bound = "computing" if roof == found.peak.compute_gflops else "moving its arguments"
        yield ("at most ", Throughput(roof), " GFLOP/s on this machine, bound by ", bound)
    for kernel in found.kernels:
        yield (Text(kernel.implementation), *_version(kernel), ": ", *_speed(kernel, flops))


def _version(kernel: ReferenceKernel) -> Sentence:
    return (" ", Text(kernel.version)) if kernel.version else ()


def _speed(kernel: ReferenceKernel, flops: int) -> Sentence:
    latency_s = kernel.latency_s
    if latency_s is None:
        return ("not timed: ", Text(kernel.error))
    return (Throughput(flops / latency_s / 1e9), " GFLOP/s")


def levels(case: CaseResult) -> tuple[Level, ...]:
    """The throughputs that a case's curves are held against, in GFLOP/s.

    Returns:
        The target of its comparisons; and if it was measured on one machine only, that machine's
        roof and other implementations.
    """
    found = []
    if case.verdicts:
        found.append(Level("target", case.verdicts[0].comparison.target_gflops))
    flops = _flops(case)
    if len(case.yardsticks) == 1 and flops:
        [yardsticks] = case.yardsticks
        for kernel in yardsticks.kernels:
            if kernel.latency_s is not None:
                found.append(Level(kernel.implementation, flops / kernel.latency_s / 1e9))
        if yardsticks.peak is not None:
            roof = roof_gflops(yardsticks.peak, flops, yardsticks.argument_bytes)
            found.append(Level("peak", roof))
    return tuple(found)


def _flops(case: CaseResult) -> int:
    return case.runs[0].flops if case.runs else 0
