"""All workers are found, however many there are."""

from __future__ import annotations

import signal
import socket
from functools import partial

import pytest
from distributed import Client

from pytest_ansorbench.cluster import workers
from pytest_ansorbench.cluster.pool import Pool
from pytest_ansorbench.cluster.settings import ClusterAddress
from pytest_ansorbench.cluster.workers import ClusterWatch, connected
from pytest_ansorbench.measure.engine import EngineError
from tests.cluster import dask_processes
from tests.cluster.conftest import ANSWER
from tests.cluster.replayed import identify
from tests.forked import wait_until
from tests.measure.remote.devices import free_port


def test_more_than_five_workers_are_found(mortal, monkeypatch):
    """Of which some versions of `distributed` tell, unless they are asked for more."""
    monkeypatch.setattr(Client.scheduler_info, "__defaults__", (5,))
    mortal.top_up(6)
    with ClusterWatch(ClusterAddress.parse(mortal.address)) as watch:
        wait_until(lambda: len(watch.look()) >= 6, timeout_s=20.0)
    with Client(mortal.address, set_as_default=False) as client:
        pool = Pool(client, partial(identify, ANSWER), ANSWER["requirements"])
        wait_until(lambda: pool.refresh() or len(pool.fit) >= 6, timeout_s=20.0)


def test_a_worker_that_comes_back_at_its_address_is_used_again(tmp_path):
    port = free_port()
    with (
        dask_processes.cluster(tmp_path) as cluster,
        Client(cluster.address, set_as_default=False) as client,
    ):
        pool = Pool(client, partial(identify, ANSWER), ANSWER["requirements"])
        for name in ("first", "second"):
            cluster.start_worker(name, "--worker-port", str(port))
            wait_until(lambda: pool.refresh() or pool.fit, timeout_s=20.0)
            [address] = pool.fit
            assert address == f"tcp://127.0.0.1:{port}"
            cluster.send(name, signal.SIGKILL)
            wait_until(lambda: pool.refresh() or not pool.fit, timeout_s=20.0)


def test_what_listens_and_says_nothing_is_no_scheduler(monkeypatch):
    monkeypatch.setattr(workers, "_GREETING_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(EngineError, match=rf"no Dask scheduler at {address} within 0\.1 s"):
            connected(address, 0.1)


def test_what_an_encrypted_connection_lacks_is_told():
    with pytest.raises(EngineError, match=r"no Dask scheduler at tls://.* TLS configuration"):
        connected("tls://127.0.0.1:9", 1.0)
