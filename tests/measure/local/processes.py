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
    while alive := [pid for pid in pids if not ended(pid)]:
        assert time.monotonic() < deadline, f"still alive: {alive}"
        time.sleep(0.05)


def ended(pid):
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
