"""What an engine can be told about how to build and run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Literal

CheckScope = Literal["winners", "all"]
Caches = Literal["warm", "cold", "network"]

DEFAULT_CACHES: Final[Caches] = "warm"
"""How a timed call finds the caches if nothing is said of that."""
FLUSH_CACHE_MB: Final = 64
"""Megabytes to copy where caches are to be cold and nothing else is said: as TVM advises."""


class CachesError(ValueError):
    """Caches that are not to be cold, and megabytes to empty them by."""

    def __init__(self, caches: Caches, flush_cache_mb: int) -> None:
        super().__init__(f"{flush_cache_mb} MB are to empty caches that are to be {caches!r}")
        self.caches = caches
        self.flush_cache_mb = flush_cache_mb


@dataclass(frozen=True)
class EngineSettings:
    """How candidates are built and run; the same for all arms of an experiment."""

    build_workers: int | None = None
    """Candidates that compile at a time; None for one per kernel thread, or for a device behind RPC
    for one per usable core of this machine."""
    build_timeout_s: float = 30.0
    run_timeout_s: float = 30.0
    """For a candidate to be measured and checked."""
    memory_limit_mb: int = 4096
    """That a candidate may allocate, compiling and running."""
    check: CheckScope = "winners"
    """Whose outputs are compared with the reference: of those that would be the run's best so far,
    or of every measured candidate."""
    caches: Caches | None = None
    """How a timed call finds the caches: `warm`, after other calls on the same arguments; `cold`,
    after a copy of `flush_mb` megabytes; or `network`, as the network around a task leaves them,
    where a program that is in no network is measured warm. None for `cold` if there is a
    `flush_cache_mb`, else `DEFAULT_CACHES`."""
    flush_cache_mb: int = 0
    """To copy before each call, timed alone; 0 for none, and where caches are to be `cold` for
    `FLUSH_CACHE_MB`. CachesError if caches are to be anything else."""
    cores: tuple[int, ...] | None = None
    """To build and run on, each kernel thread pinned to one of its own; None for one CPU of
    each core that this process may use, or for placement by TVM and the operating system."""

    def __post_init__(self) -> None:
        if self.flush_cache_mb and self.caches not in (None, "cold"):
            raise CachesError(self.caches, self.flush_cache_mb)

    @property
    def found_caches(self) -> Caches:
        """How a timed call finds the caches."""
        return self.caches or ("cold" if self.flush_cache_mb else DEFAULT_CACHES)

    @property
    def flush_mb(self) -> int:
        """Megabytes to copy before each call; 0 unless caches are cold."""
        return (self.flush_cache_mb or FLUSH_CACHE_MB) if self.found_caches == "cold" else 0

    def conditions(self) -> dict[str, Any]:
        """The settings as JSON values: all of them decide measurements."""
        return {
            **asdict(self),
            "caches": self.found_caches,
            "flush_cache_mb": self.flush_mb,
            "cores": None if self.cores is None else list(self.cores),
        }

    @classmethod
    def conditions_of(cls, recorded: Mapping[str, Any]) -> dict[str, Any]:
        """What recorded settings say of these: left out or given, a default is the same."""
        given = {one.name: recorded[one.name] for one in fields(cls) if one.name in recorded}
        conditions = cls(**given).conditions()
        return {name: conditions[name] for name in given}
