"""What an engine can be told about how to build and run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

CheckScope = Literal["winners", "all"]


@dataclass(frozen=True)
class EngineSettings:
    """How candidates are built and run; the same for all arms of an experiment.

    Attributes:
        build_workers: Candidates that compile at a time; None for one per kernel thread.
        build_timeout_s: Seconds a candidate may take to compile.
        run_timeout_s: Seconds a candidate may take to be measured and checked.
        memory_limit_mb: Megabytes a candidate may allocate, compiling and running.
        check: Whether the output of every measured candidate is compared with the reference,
            or only of those that would be the run's best so far.
        flush_cache_mb: Megabytes to copy before each call, timed alone; 0 for warm caches.
        cores: Cores to build and run on, each kernel thread pinned to one of its own; None
            leaves placement to TVM and the operating system.
    """

    build_workers: int | None = None
    build_timeout_s: float = 30.0
    run_timeout_s: float = 30.0
    memory_limit_mb: int = 4096
    check: CheckScope = "winners"
    flush_cache_mb: int = 0
    cores: tuple[int, ...] | None = None

    def conditions(self) -> dict[str, Any]:
        """The settings as JSON values: all of them decide measurements."""
        return {**asdict(self), "cores": None if self.cores is None else list(self.cores)}
