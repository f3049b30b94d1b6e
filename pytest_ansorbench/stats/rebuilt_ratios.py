"""Verdicts on kernels that several toolchains made of the same schedules.

The ratio of two kernels is taken set by set: in a set of fresh processes both take turns slice by
slice, and the median over the turns is the set's. Sets are independent of each other, so their mean
has an interval by Student's t. What belongs to a process for as long as it lives, such as where its
arrays lie, differs from set to set and is in that interval. The ratio of a suite is the geometric
mean of its kernels', with the error that theirs add up to: it is about these kernels, and not about
others of which they might be a sample.

Against latencies that a result recorded there are no pairs: each side has its own mean, and what a
fixed kernel took then and now is divided out (`machine_change`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median, stdev
from typing import Final

from scipy.special import stdtr

from pytest_ansorbench.records import Estimate, Gate, Remeasurement
from pytest_ansorbench.records.rebuilt_kernels import (
    RECORDED,
    KernelSide,
    KernelsVerdict,
    KernelVerdict,
    RebuiltKernel,
    RebuiltKernels,
)
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.estimates import UNDEFINED
from pytest_ansorbench.stats.evidence import Evidence
from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.gate import Judge, families
from pytest_ansorbench.stats.noise_model import NoiseFigures, noise_figures
from pytest_ansorbench.stats.paired_ratio import Z95, NeighbourRatios
from pytest_ansorbench.stats.power import t_quantile
from pytest_ansorbench.stats.suite import not_silently

_FIGURE: Final = FIGURES["throughput_ratio"]
NOTHING_TO_HOLD_TO: Final = "no kernel of the reference works, to hold others to"
_MOST_CHANGE: Final = 0.05  # a machine that is faster or slower by more is another machine


@dataclass(frozen=True, slots=True)
class KernelLimits:
    """What kernels are held to; None for nothing."""

    kernel: float | None = None  # the smallest throughput ratio of a kernel that is good enough
    suite: float | None = None  # the smallest of all kernels together

    def __post_init__(self) -> None:
        for limit in (self.kernel, self.suite):
            if limit is not None and not 0.0 < limit < math.inf:
                raise ValueError("expected a ratio above 0, e.g. 0.97")


def judge_rebuilt(
    rebuilt: RebuiltKernels,
    criteria: Criteria,
    limits: KernelLimits,
    gates: tuple[int, int] | None = None,
) -> tuple[KernelsVerdict, ...]:
    """Judge each toolchain against the reference.

    `gates` says how many gates on kernels and on suites there are, among which false alarms are
    shared out; None for as many as these kernels have.
    """
    if not rebuilt.kernels:
        return ()
    challengers = len(rebuilt.kernels[0].sides) - 1
    of_kernels, of_suite = gates or (
        challengers * len(rebuilt.kernels) if limits.kernel is not None else 0,
        challengers if limits.suite is not None else 0,
    )
    family, suite_family = families(of_kernels, of_suite)
    change = machine_change(rebuilt)
    return tuple(
        _judged(
            rebuilt.kernels,
            place,
            change,
            (Judge(criteria, family), limits.kernel),
            (Judge(criteria, suite_family), limits.suite),
        )
        for place in range(1, challengers + 1)
    )


def machine_change(rebuilt: RebuiltKernels) -> MeanLog:
    """How much faster a fixed kernel is now than when the result was measured, as logarithm.

    An exact 0 if nothing was recorded, or nothing is compared with records.
    """
    before, after = (
        [figures for trace in traces if (figures := noise_figures(trace)) is not None]
        for traces in (rebuilt.noise_then, rebuilt.noise_now)
    )
    if not before or not after:
        return MeanLog(0.0, 0.0, 1)
    value = _mean_level(before) - _mean_level(after)
    error = math.hypot(
        max(figures.level_error for figures in before),
        max(figures.level_error for figures in after),
    )
    return MeanLog(value, error / Z95, _MANY)


_MANY: Final = 100  # degrees of freedom of an error that hundreds of slices tell


def _mean_level(figures: Sequence[NoiseFigures]) -> float:
    return fmean(math.log(one.level_s) for one in figures)


def has_changed(change: MeanLog) -> bool:
    """Whether a machine is another one by now, as far as kernels' speed can tell."""
    return abs(change.value) - Z95 * change.error > math.log1p(_MOST_CHANGE)


def _judged(
    kernels: Sequence[RebuiltKernel],
    place: int,
    change: MeanLog,
    of_kernel: tuple[Judge, float | None],
    of_suite: tuple[Judge, float | None],
) -> KernelsVerdict:
    reference, name = kernels[0].sides[0].toolchain, kernels[0].sides[place].toolchain
    changed = reference == RECORDED and has_changed(change)
    known: dict[str, MeanLog] = {}
    verdicts = []
    judge, limit = of_kernel
    for kernel in kernels:
        ratio = _ratio(kernel.sides[0], kernel.sides[place], change)
        if ratio is not None:
            known[kernel.name] = ratio
        estimate = _estimate(ratio, judge)
        gate = None
        if limit is not None and kernel.sides[0].measured.status == "ok":
            gate = judge.gate(_FIGURE, _evidence(ratio, judge, kernel.sides[place]), limit)
            gate = _undecided(gate) if changed and ratio is not None else gate
        verdicts.append(KernelVerdict(kernel.name, name, estimate, gate))
    judge, limit = of_suite
    mean = MeanLog.average(list(known.values())) if known else None
    gate = None
    if limit is not None and any(kernel.sides[0].measured.status == "ok" for kernel in kernels):
        lost = tuple(kernel.name for kernel in kernels if kernel.name not in known)
        gate = judge.gate(_FIGURE, _evidence(mean, judge, *_sides(kernels, place)), limit)
        gate = not_silently(_undecided(gate) if changed and known else gate, lost)
    return KernelsVerdict(name, reference, tuple(verdicts), _estimate(mean, judge), gate)


def _ratio(reference: KernelSide, other: KernelSide, change: MeanLog) -> MeanLog | None:
    """The logarithm of the throughput ratio; None if one of the two failed."""
    if reference.measured.status != "ok" or other.measured.status != "ok":
        return None
    if reference.toolchain != RECORDED:
        paired = NeighbourRatios.of(reference.measured, other.measured)
        assert paired is not None, "toolchains are measured side by side"
        return MeanLog.of([median(logs) for logs in paired.logs])
    then, now = _level(reference.measured), _level(other.measured)
    return then.minus(now).minus(change)


def _level(measured: Remeasurement) -> MeanLog:
    """The logarithm of a latency, a value for each set of processes."""
    by_set: dict[int, list[float]] = {}
    for number, latency_s in zip(measured.sets, measured.latencies_s, strict=True):
        by_set.setdefault(number, []).append(math.log(latency_s))
    return MeanLog.of([median(logs) for logs in by_set.values()])


def _estimate(ratio: MeanLog | None, judge: Judge) -> Estimate:
    return UNDEFINED if ratio is None else ratio.estimate(judge.criteria.confidence)


def _evidence(ratio: MeanLog | None, judge: Judge, *sides: KernelSide) -> Evidence:
    """What sets of processes say; each counts as a repeat."""
    sets = min((len(set(side.measured.sets)) for side in sides), default=0)

    def chance(limit: float, level: float) -> float:
        return 1.0 if ratio is None else ratio.chance_below(limit)

    return Evidence(
        _estimate(ratio, judge), sets, counted=chance, smallest=0.0, spread=lambda: None
    )


def _sides(kernels: Sequence[RebuiltKernel], place: int) -> list[KernelSide]:
    return [kernel.sides[place] for kernel in kernels if kernel.sides[place].measured.sets]


def _undecided(gate: Gate) -> Gate:
    """A gate on latencies of a machine that is another one by now."""
    return replace(gate, outcome="undecided", reason="other-machine", advice=None, p_value=None)


@dataclass(frozen=True, slots=True)
class MeanLog:
    """A mean of logarithms."""

    value: float  # the mean
    error: float  # its standard error; infinity if a single value tells none
    degrees: int  # degrees of freedom of the error; whole ones, rounded down, at least 1

    @classmethod
    def of(cls, logs: Sequence[float]) -> MeanLog:
        """The mean of independent values, at least one."""
        if len(logs) < 2:
            return cls(fmean(logs), math.inf, 1)
        return cls(fmean(logs), stdev(logs) / math.sqrt(len(logs)), len(logs) - 1)

    @classmethod
    def average(cls, parts: Sequence[MeanLog]) -> MeanLog:
        """The mean of independent means, each weighed alike."""
        return cls._sum([part.value for part in parts], parts, 1.0 / len(parts))

    def minus(self, other: MeanLog) -> MeanLog:
        return self._sum([self.value, -other.value], [self, other], 1.0)

    @classmethod
    def _sum(cls, values: Sequence[float], parts: Sequence[MeanLog], weight: float) -> MeanLog:
        """A weighted sum; degrees of freedom by Welch and Satterthwaite.

        https://en.wikipedia.org/wiki/Welch%E2%80%93Satterthwaite_equation
        """
        squares = [(weight * part.error) ** 2 for part in parts]
        total = sum(squares)
        degrees = 1
        if 0.0 < total < math.inf:
            shares = [square / total for square in squares]
            rest = sum(share**2 / part.degrees for share, part in zip(shares, parts, strict=True))
            degrees = max(1, math.floor(1.0 / rest + 1e-9))
        elif total == 0.0:
            degrees = sum(part.degrees for part in parts)
        return cls(weight * sum(values), math.sqrt(total), degrees)

    def estimate(self, confidence: float) -> Estimate:
        """The ratio whose logarithm this is, with its interval by Student's t."""
        if math.isinf(self.error):
            return Estimate(math.exp(self.value), 0.0, math.inf)
        half = t_quantile(confidence, self.degrees) * self.error
        return Estimate(
            math.exp(self.value), math.exp(self.value - half), math.exp(self.value + half)
        )

    def chance_below(self, limit: float) -> float:
        """Probability of a ratio this small or smaller, if the true one were a limit."""
        excess = math.log(limit) - self.value
        if math.isinf(self.error):
            return 1.0
        if self.error == 0.0:
            return 0.0 if excess > 0.0 else 1.0
        return float(stdtr(self.degrees, -excess / self.error))
