"""Workers on one machine share out its cores."""

from __future__ import annotations

import asyncio
import json

import psutil
import pytest

from pytest_ansorbench.bench import YardstickPlan
from pytest_ansorbench.cluster.connect import _connected, _shared_out
from pytest_ansorbench.cluster.settings import ClusterAddress
from pytest_ansorbench.cluster.work import SiteSettings
from pytest_ansorbench.environment import MisfitError
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.settings import EngineSettings


def site(target=None, cores=(0, 1, 2, 3)):
    return SiteSettings(target, EngineSettings(cores=cores), 0.0, YardstickPlan(), {})


def test_one_worker_has_the_machine():
    assert _shared_out(site(), 1) == site()


@pytest.mark.parametrize(
    ("workers", "shares"),
    [(2, {"0": (0, 1), "1": (2, 3)}), (3, {"0": (0,), "1": (1,), "2": (2,)})],
)
def test_each_worker_has_cores_of_its_own(workers, shares):
    shared = _shared_out(site(), workers)
    assert {name: tuple(cores) for name, cores in shared.cores.items()} == shares
    target = json.loads(shared.target)
    assert target == {"kind": "llvm", "num-cores": len(shares["0"])}


@pytest.mark.parametrize("target", ["llvm", '{"kind": "llvm", "mcpu": "x86-64-v3"}'])
def test_the_rest_of_the_target_stays(target):
    shared = json.loads(_shared_out(site(target), 2).target)
    assert shared.pop("num-cores") == 2
    assert shared == (json.loads(target) if target.startswith("{") else {"kind": target})


@pytest.mark.parametrize("target", ['{"kind": "llvm", "num-cores": 1}', "aws/cpu/c5.large"])
def test_threads_that_were_asked_for_stay(target):
    assert _shared_out(site(target), 2).target == target


@pytest.mark.parametrize(
    ("target", "workers", "message"),
    [
        (None, 5, "5 workers share 4 cores, and a kernel runs on 1 threads"),
        ('{"kind": "llvm", "num-cores": 4}', 2, "2 workers share 4 cores.* on 4 threads"),
        ("aws/cpu/c5.2xlarge", 2, "2 workers share 4 cores.* on 4 threads"),
        ("nvidia/nvidia-a100", 2, "2 workers would share this machine's GPU"),
        ("opencl", 1, "only CPUs and CUDA can be measured so far"),
    ],
)
def test_more_than_there_is_is_refused(target, workers, message):
    with pytest.raises(MisfitError, match=message):
        _shared_out(site(target), workers)


def test_workers_that_cannot_be_connected_to_are_ended():
    with pytest.raises(EngineError, match=r"no Dask scheduler at .* within 1e-06 s"):
        _connected(ClusterAddress(workers=1), 1e-6)
    children = psutil.Process().children(recursive=True)
    assert not [one for one in children if "spawn_main" in " ".join(one.cmdline())]


def test_workers_that_do_not_start_in_time_are_told_of(monkeypatch):
    """Python 3.10 has two classes of such errors, and Dask raises asyncio's."""

    def late(**how):
        raise asyncio.TimeoutError("Nanny start timed out")

    monkeypatch.setattr("distributed.LocalCluster", late)
    with pytest.raises(EngineError, match=r"workers did not start .* start timed out"):
        _connected(ClusterAddress(workers=1), 1.0)
