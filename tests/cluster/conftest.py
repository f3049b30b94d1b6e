"""A recorded case, and sessions that have it carried out once more: by a cluster, or here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from pytest_ansorbench.cluster.executor import ClusterExecutor
from pytest_ansorbench.cluster.pool import Pool
from tests.bench.conftest import session_in
from tests.bench.recorded import machine_of, record
from tests.cluster import dask_processes
from tests.cluster.replayed import Recorded, identify

REPEATS = 6
ANSWER = {
    "requirements": {"code": "this"},
    "target": "llvm",
    "machine": {"cpu": "another", "target": "llvm"},
}
"""What a worker says of itself that fits, on another machine than the recorded one."""


@pytest.fixture(scope="session")
def recorded(target, tmp_path_factory):
    """A session on a fast engine: its result, and the lines of its blocks by seed."""
    return record(target, tmp_path_factory.mktemp("recorded"), REPEATS)


@pytest.fixture(scope="package")
def three_workers(tmp_path_factory) -> Iterator[dask_processes.Cluster]:
    """Of tests that kill none."""
    folder = tmp_path_factory.mktemp("three")
    with dask_processes.cluster(folder, "one", "two", "three") as started:
        yield started


@pytest.fixture(scope="package")
def mortal(tmp_path_factory) -> Iterator[dask_processes.Cluster]:
    """A cluster whose workers may be killed; tests start as many as they need."""
    with dask_processes.cluster(tmp_path_factory.mktemp("mortal")) as started:
        yield started


@pytest.fixture(scope="package")
def impatient(tmp_path_factory) -> Iterator[dask_processes.Cluster]:
    """Likewise, with a scheduler that puts up with 5 s of silence, the least there is."""
    with dask_processes.cluster(tmp_path_factory.mktemp("impatient"), ttl="1s") as started:
        yield started


@contextmanager
def session_with(
    cluster, recorded, folder, *, patience_s=90.0, past=None, ask=None, notes=None, **recorded_as
):
    """A session whose blocks are replayed by a cluster.

    Yields:
        The session, and what makes the work of its blocks.
    """
    from distributed import Client

    work_of = Recorded(recorded[1], **recorded_as)
    said = notes if notes is not None else []

    def executor():
        client = Client(cluster.address, timeout=30.0, set_as_default=False)
        alike = partial(identify, {**ANSWER, "machine": machine_of(recorded)})
        pool = Pool(client, ask or alike, ANSWER["requirements"])
        return ClusterExecutor(client, pool, work_of, patience_s, said.append)

    with session_in(folder, executor, past) as session:
        yield session, work_of
