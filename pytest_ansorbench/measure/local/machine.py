"""Describes this machine, in so far as that decides a result, and what else it is doing."""

from __future__ import annotations

import contextlib
import os
import platform
import time
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import psutil

from pytest_ansorbench.records import MachineState

OBSERVATION_S: Final = 0.25
"""Long enough for the clock tick of process times, 10 ms on Linux, to tell 5% from nothing."""
_NAMED: Final = 3
_WORTH_NAMING: Final = 0.1
"""A process that took less than this share of a core is not named."""
_CPUINFO: Final = Path("/proc/cpuinfo")
_CPUS: Final = Path("/sys/devices/system/cpu")
_UNITS: Final = {"K": 1024, "M": 1024**2, "G": 1024**3}

# Each entry is found under the first of its distributions that is installed.
_PACKAGES: Final = {
    "apache-tvm": ("apache-tvm",),
    "apache-tvm-ffi": ("apache-tvm-ffi",),
    "numpy": ("numpy",),
    "pytest-ansorbench": ("pytest-ansorbench",),
    "xgboost": ("xgboost", "xgboost-cpu"),
}
# What some strategies search with; told where it is installed.
_EXTRAS: Final = ("optuna", "torch")


def describe_machine() -> dict[str, Any]:
    """What the machine is, but nothing that names it or its user: result files get published."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "cpu": _cpu_model(),
        "logical_cores": psutil.cpu_count(logical=True),
        "physical_cores": psutil.cpu_count(logical=False),
        "caches_bytes": caches_bytes(),
        "memory_bytes": psutil.virtual_memory().total,
        "python": platform.python_version(),
        "packages": {
            **{name: _version(names) for name, names in _PACKAGES.items()},
            **{name: found for name in _EXTRAS if (found := _version((name,))) is not None},
        },
    }


def _cpu_model() -> str | None:
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == "model name" and value.strip():
            return value.strip()
    return platform.processor() or None


def _version(distributions: tuple[str, ...]) -> str | None:
    for name in distributions:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None


def caches_bytes(cpus: Path = _CPUS) -> dict[str, int] | None:
    """What the data caches of all cores hold together, by level, e.g. `{"L1": 98304}`.

    None where Linux does not say (https://docs.kernel.org/admin-guide/abi-testing-files.html).
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


def observe_machine(duration_s: float = OBSERVATION_S) -> MachineState:
    """Rest, and see what others do meanwhile; kernels' threads must have come to rest before."""
    processes = {process.pid: process for process in psutil.process_iter(["name"])}
    before, own_before = psutil.cpu_times(), _spent_s(psutil.Process())
    spent_before = {pid: _spent_s(process) for pid, process in processes.items()}
    started_s = time.monotonic()
    time.sleep(duration_s)
    elapsed_s = time.monotonic() - started_s
    after = psutil.cpu_times()
    own_s = _spent_s(psutil.Process()) - own_before
    shares = {
        pid: (_spent_s(process) - spent_before[pid]) / elapsed_s
        for pid, process in processes.items()
        if pid != os.getpid()
    }
    busiest = sorted(shares, key=lambda pid: shares[pid], reverse=True)[:_NAMED]
    stolen_s = getattr(after, "steal", 0.0) - getattr(before, "steal", 0.0)
    busy_s = _busy_s(after) - _busy_s(before) - own_s
    return MachineState(
        busy_cores=max(0.0, busy_s / elapsed_s),
        stolen_cores=max(0.0, stolen_s / elapsed_s),
        load_1min=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        frequency_mhz=_frequency_mhz(),
        busiest=tuple(
            f"{processes[pid].info['name'] or '?'} {shares[pid]:.0%}"
            for pid in busiest
            if shares[pid] >= _WORTH_NAMING
        ),
    )


def _busy_s(times: object) -> float:
    return sum(
        float(getattr(times, kind, 0.0)) for kind in ("user", "nice", "system", "irq", "softirq")
    )


def _spent_s(process: psutil.Process) -> float:
    with contextlib.suppress(psutil.Error):
        times = process.cpu_times()
        return float(times.user + times.system)
    return 0.0


def _frequency_mhz() -> float | None:
    # Absent on some systems, unreadable in some containers.
    with contextlib.suppress(Exception):
        frequency = psutil.cpu_freq()
        if frequency is not None and frequency.current > 0:
            return float(frequency.current)
    return None
