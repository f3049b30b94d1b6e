"""Looks at what else the machine is doing, while the bench itself does nothing."""

from __future__ import annotations

import contextlib
import os
import time
from typing import Final

import psutil

from pytest_ansorbench.records import MachineState

#: Long enough for the clock tick of process times, 10 ms on Linux, to tell 5% from nothing.
OBSERVATION_S: Final = 0.25
_NAMED: Final = 3
#: A process that took less than this share of a core is not worth a name.
_WORTH_NAMING: Final = 0.1


def observe_machine(duration_s: float = OBSERVATION_S) -> MachineState:
    """Rest, and see what goes on meanwhile.

    Args:
        duration_s: Seconds to rest; kernels' threads must have come to rest before.

    Returns:
        What was seen. Processes that may not be looked at count, but have no name.
    """
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
    """Seconds that all cores together spent on something."""
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
