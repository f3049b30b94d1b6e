"""A landscape in a few figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from pytest_ansorbench.landscapes.records import Landscape

_NEAR: Final = 0.95


@dataclass(frozen=True, slots=True)
class Card:
    """What there is to find in a landscape, and how surely it was measured.

    Attributes:
        case: Its operator.
        cpu: What it was measured on.
        points: How many it has.
        programs: Different ones.
        failed: Programs without a valid measurement.
        best_gflops: Throughput of the fastest program, by its median slice.
        median_share: Median of all valid programs' throughput over that.
        near: Programs within 5% of the fastest.
        noise: Standard deviation of a program's slices over their mean, the median of programs;
            0 if each has one.
    """

    case: str
    cpu: str
    points: int
    programs: int
    failed: int
    best_gflops: float
    median_share: float
    near: int
    noise: float

    @classmethod
    def of(cls, landscape: Landscape) -> Card:
        """The card of a landscape with a valid program."""
        subject = landscape.subject
        programs = {one.program: one for one in landscape.results if one.program}
        valid = [one for one in programs.values() if one.correctness]
        slices = [np.array(one.times.runtimes) for one in valid]
        gflops = subject.task.flops / np.array([one.latency_s for one in valid]) / 1e9
        shares = gflops / gflops.max()
        return cls(
            case=subject.case,
            cpu=str(subject.machine.get("cpu", "")),
            points=subject.size,
            programs=len(programs),
            failed=len(programs) - len(valid),
            best_gflops=float(gflops.max()),
            median_share=float(np.median(shares)),
            near=int(np.sum(shares >= _NEAR)),
            noise=float(np.median([one.std(ddof=len(one) > 1) / one.mean() for one in slices])),
        )
