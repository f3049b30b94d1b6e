"""What building and running a candidate came to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pytest_ansorbench.records import TrialStatus


@dataclass(frozen=True)
class Built:
    """A candidate after the build phase.

    Attributes:
        status: `ok`, `build-error` or `build-timeout`.
        artifact: The shared library; None unless `ok`.
        error: First line of the failure; empty if `ok`.
    """

    status: TrialStatus
    artifact: Path | None
    error: str = ""


@dataclass(frozen=True)
class Measured:
    """A candidate after the run phase.

    Attributes:
        status: `ok`, or what went wrong in building or running.
        latencies_s: Seconds per kernel call, one entry a sample; empty unless `ok`.
        error: First line of the failure; empty if `ok`.
    """

    status: TrialStatus
    latencies_s: tuple[float, ...] = ()
    error: str = ""
