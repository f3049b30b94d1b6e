"""How steady a machine was: a fixed kernel, timed slice by slice in two processes in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_ansorbench.records.checks import (
    LATENCIES,
    LEAST_LATENCY_S,
    MOST_SECONDS,
    are_latencies,
    check,
)

Moment = Literal["start", "end"]


@dataclass(frozen=True, slots=True)
class NoiseTrace:
    """One kernel's latency over some seconds, in order of time.

    Two processes run the same kernel. Of slices 0 and 1 one is of either process, of slices 2 and
    3 as well, and so on: the ratio of such a pair would be 1 on a machine without noise.

    Attributes:
        slice_s: Seconds that a slice is meant to take.
        elapsed_s: Seconds that all of it took: the slices, which follow each other without a
            pause, and before them the kernel's compilation, a small part.
        latencies_s: Seconds per call, one entry a slice.
        processes: The process of each slice, 0 or 1.
    """

    slice_s: float
    elapsed_s: float
    latencies_s: tuple[float, ...]
    processes: tuple[int, ...]

    def __post_init__(self) -> None:
        for name in ("slice_s", "elapsed_s"):
            seconds = getattr(self, name)
            expected = f"seconds from {LEAST_LATENCY_S:.0e} to {MOST_SECONDS:.0e}"
            check(LEAST_LATENCY_S <= seconds <= MOST_SECONDS, name, seconds, expected)
        check(are_latencies(self.latencies_s), "latencies_s", self.latencies_s, LATENCIES)
        pairs = set(zip(self.processes[::2], self.processes[1::2], strict=False))
        check(
            len(self.processes) == len(self.latencies_s)
            and len(self.processes) % 2 == 0
            and pairs <= {(0, 1), (1, 0)},
            "processes",
            self.processes,
            "a process for every slice, 0 and 1 in every two of them",
        )


@dataclass(frozen=True, slots=True)
class MachineNoise:
    """How steady a machine was at one moment of a session.

    Attributes:
        machine: The machine, a key of the result's `machines`.
        moment: Whether the session was about to begin to search, or had just ended.
        observed: UTC time, ISO 8601.
        trace: What was seen.
    """

    machine: str
    moment: Moment
    observed: str
    trace: NoiseTrace
