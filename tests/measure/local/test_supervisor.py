"""A fork server that dies is replaced, but not for ever."""

from __future__ import annotations

import psutil
import pytest

from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.local.fork_server import ForkServer
from pytest_ansorbench.measure.local.supervisor import Supervisor


class Stillborn(ForkServer):
    """A server that is dead as soon as it is started."""

    def __init__(self):
        super().__init__(threads=1, memory_limit_mb=100)
        psutil.Process(self.pid).kill()

    def wait_until_warm(self):
        """It never is."""


def test_servers_that_die_in_a_row_end_it():
    supervisor = Supervisor(Stillborn)
    with pytest.raises(EngineError, match="died 4 times in a row"):
        for _ in range(10):
            supervisor.replace(supervisor.server)
    assert supervisor.restarts == 4
    assert not supervisor.server.closed
    supervisor.close()


def test_a_success_in_between_starts_the_count_anew():
    supervisor = Supervisor(Stillborn)
    for _ in range(5):
        supervisor.replace(supervisor.server)
        supervisor.note_success()
    assert supervisor.restarts == 5
    supervisor.close()


def test_a_server_is_replaced_once():
    supervisor = Supervisor(Stillborn)
    dead = supervisor.server
    supervisor.replace(dead)
    supervisor.replace(dead)
    assert supervisor.restarts == 1
    supervisor.close()


def test_closed_it_starts_another():
    supervisor = Supervisor(Stillborn)
    first = supervisor.server
    supervisor.close()
    supervisor.close()
    assert supervisor.server is not first
    supervisor.close()


class Idle(ForkServer):
    """A server that is there at once, and forks nothing."""

    def __init__(self):
        self.closed = False

    def fork(self, role="worker"):
        return role

    def close(self):
        self.closed = True

    def wait_until_warm(self):
        """It always is."""


def test_a_server_that_nothing_was_forked_from_is_a_new_one():
    supervisor = Supervisor(Idle)
    supervisor.renew()
    first = supervisor.server
    supervisor.renew()
    assert supervisor.server is first
    supervisor.fork(None)
    supervisor.renew()
    assert first.closed
    assert supervisor.server is not first
    assert not supervisor.server.closed
