"""Which cluster carries blocks out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

RESOURCE: Final = "ansor_bench"
"""What workers declare one of, so that no two blocks share a machine."""

_SCHEDULER: Final = re.compile(r"((?:tcp|tls)://)?(\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):(\d{1,5})")
_LOCAL: Final = re.compile(r"local:([1-9]\d{0,2})")


@dataclass(frozen=True)
class ClusterAddress:
    """A Dask scheduler, or workers that a session starts itself on this machine."""

    scheduler: str = ""
    workers: int = 0

    @classmethod
    def parse(cls, text: str) -> ClusterAddress:
        """Read `HOST:PORT`, with `tls://` before it where it is encrypted, or `local:N`."""
        text = text.strip()
        local = _LOCAL.fullmatch(text)
        if local is not None:
            return cls(workers=int(local[1]))
        found = _SCHEDULER.fullmatch(text)
        if found is None or found[2] == "local" or not 1 <= int(found[3]) <= 65535:
            raise ValueError(
                "expected HOST:PORT of a Dask scheduler, e.g. 127.0.0.1:8786, or local:N for "
                "workers on this machine, e.g. local:1"
            )
        return cls(scheduler=f"{found[1] or 'tcp://'}{found[2]}:{found[3]}")

    def __str__(self) -> str:
        return self.scheduler or f"local:{self.workers}"


@dataclass(frozen=True)
class ClusterSettings:
    """Which cluster carries blocks out; None for none."""

    address: ClusterAddress | None = None
    patience_s: float = 60.0
    """To wait for a worker that fits, and for one that takes the place of one that is gone."""
