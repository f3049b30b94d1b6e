"""How much the caches of this machine hold, level by level."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_CPUS: Final = Path("/sys/devices/system/cpu")
_UNITS: Final = {"K": 1024, "M": 1024**2, "G": 1024**3}


def caches_bytes(cpus: Path = _CPUS) -> dict[str, int] | None:
    """What the data caches of all cores hold together.

    Args:
        cpus: Where Linux describes the cores
            (https://docs.kernel.org/admin-guide/abi-testing-files.html).

    Returns:
        Bytes by level, e.g. `{"L1": 98304, "L2": 4194304, "L3": 33554432}`; a cache that cores
        share counts once. None where there is no such description.
    """
    found: dict[tuple[str, str], int] = {}
    for index in sorted(cpus.glob("cpu[0-9]*/cache/index[0-9]*")):
        try:
            level, kind, size, shared_by = (
                (index / name).read_text(encoding="ascii").strip()
                for name in ("level", "type", "size", "shared_cpu_list")
            )
            capacity = _bytes(size)
        except (OSError, ValueError):
            return None
        if kind != "Instruction":
            found[level, shared_by] = capacity
    levels = sorted({level for level, _ in found})
    return {
        f"L{level}": sum(size for (of, _), size in found.items() if of == level) for level in levels
    } or None


def _bytes(size: str) -> int:
    """Read e.g. `48K`."""
    unit = _UNITS.get(size[-1:], 0)
    return int(size[:-1]) * unit if unit else int(size)
