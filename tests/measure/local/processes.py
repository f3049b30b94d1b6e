"""The processes of a local engine, as the operating system sees them."""

from __future__ import annotations

import time

import psutil


def server(engine):
    """The fork server."""
    return psutil.Process(engine.server_pid)


def workers(engine):
    """Its children, in the order in which they were forked."""
    return sorted(server(engine).children(), key=lambda child: child.pid)


def gone(pids):
    """Wait until processes have ended; a zombie, whose parent is still to look, has."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        alive = [pid for pid in pids if psutil.pid_exists(pid)]
        if all(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE for pid in alive):
            return
        time.sleep(0.05)
    raise AssertionError(f"still alive: {alive}")
