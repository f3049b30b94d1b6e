"""The processes of a local engine, as the operating system sees them."""

from __future__ import annotations

import psutil

from tests.forked import wait_until


def server(engine):
    """The fork server."""
    return psutil.Process(engine.server_pid)


def workers(engine):
    """Its children, in the order in which they were forked."""
    return sorted(server(engine).children(), key=lambda child: child.pid)


def gone(pids):
    """Wait until processes have ended; a zombie, whose parent is still to look, has."""
    wait_until(lambda: all(map(ended, pids)), 30.0)


def ended(pid):
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
