"""What kernels are compared with besides each other, in words: peak and other libraries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_ansorbench.records import (
    IMPLEMENTATIONS,
    Bandwidth,
    CaseResult,
    MachinePeak,
    Yardsticks,
)
from pytest_ansorbench.report.peers import named, peer_latency_s, peers_of
from pytest_ansorbench.report.sections import Level, Lines
from pytest_ansorbench.report.wording import plain_text, throughput_text
from pytest_ansorbench.stats.roofline import roof_of_run


def peak_lines(cases: Sequence[CaseResult]) -> Lines:
    """Say what each machine can do at most."""
    peaks = {
        (found.machine, found.peak.operands): found.peak
        for case in cases
        for found in case.yardsticks
        if found.peak is not None
    }
    several = len({machine for machine, _ in peaks}) > 1
    return Lines.of(
        f"peak: {f'{machine}: ' if several else ''}{_peak(peak)}"
        for (machine, _), peak in peaks.items()
    )


def _peak(peak: MachinePeak) -> str:
    computing = throughput_text(peak.compute_gflops)
    reads = ", ".join(map(_bandwidth, _told(peak.bandwidths)))
    kind = " of bytes" if peak.operands == "int8" else ""
    return f"{computing} GFLOP/s of multiply-adds{kind}; reads, GB/s: {reads}"


def _bandwidth(one: Bandwidth) -> str:
    level = f"{one.level} " if one.level else ""
    size = plain_text(one.working_set_bytes / 1e6, ".3g")
    return f"{size} MB {level}{throughput_text(one.gbytes_per_s)}"


def _told(bandwidths: Sequence[Bandwidth]) -> Sequence[Bandwidth]:
    """Of each level the fastest, and the largest of all; all where levels are not known."""
    fastest: dict[str, Bandwidth] = {}
    for one in bandwidths:
        known = fastest.get(one.level)
        if known is None or one.gbytes_per_s > known.gbytes_per_s:
            fastest[one.level] = one
    told = {*fastest.values(), bandwidths[-1]}
    return [one for one in bandwidths if "" in fastest or one in told]


def yardstick_lines(case: CaseResult) -> tuple[str, ...]:
    """Say what a case's kernels are compared with on each machine."""
    on_machines = (line for found in case.yardsticks for line in _sentences(case, found))
    return (*on_machines, *_of_peers(case))


def _sentences(case: CaseResult, found: Yardsticks) -> Iterator[str]:
    flops = _flops(case)
    if found.peak is not None and case.runs:
        roof = roof_of_run(found.peak, case.runs[0], found.argument_bytes)
        bound = "computing" if roof == found.peak.compute_gflops else "moving its arguments"
        yield f"at most {throughput_text(roof)} GFLOP/s on this machine, bound by {bound}"
    for kernel in found.kernels:
        yield f"{named(kernel)}: {_speed(kernel.latency_s, kernel.error, flops)}"


def _of_peers(case: CaseResult) -> Iterator[str]:
    for library in IMPLEMENTATIONS:
        for peer in peers_of(case, library)[-1:]:
            latency_s = peer_latency_s(case, library)
            error = peer.final.error or peer.final.status
            yield f"{named(peer)}: {_speed(latency_s, error, _flops(case))}"


def _speed(latency_s: float | None, error: str, flops: int) -> str:
    if latency_s is None:
        return f"not timed: {error}"
    return f"{throughput_text(flops / latency_s / 1e9)} GFLOP/s"


def levels(case: CaseResult) -> tuple[Level, ...]:
    """The throughputs that a case's curves are compared with, in GFLOP/s.

    The target of its comparisons; other libraries that took turns with its winners; and if it was
    measured on one machine only, that machine's roof and what was timed there.
    """
    found = []
    if case.verdicts:
        found.append(Level("target", case.verdicts[0].comparison.target_gflops))
    flops = _flops(case)
    for library in IMPLEMENTATIONS:
        latency_s = peer_latency_s(case, library)
        if latency_s is not None:
            found.append(Level(library, flops / latency_s / 1e9))
    if len(case.yardsticks) == 1 and flops:
        [yardsticks] = case.yardsticks
        for kernel in yardsticks.kernels:
            if kernel.latency_s is not None:
                found.append(Level(kernel.implementation, flops / kernel.latency_s / 1e9))
        if yardsticks.peak is not None:
            roof = roof_of_run(yardsticks.peak, case.runs[0], yardsticks.argument_bytes)
            found.append(Level("peak", roof))
    return tuple(found)


def _flops(case: CaseResult) -> int:
    return case.runs[0].flops if case.runs else 0
