"""What travels to a worker, and what a worker refuses."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path

import pytest

from pytest_ansorbench.bench import YardstickPlan
from pytest_ansorbench.bench.blocks import Block
from pytest_ansorbench.cluster.courier import UnableError, UnfitError
from pytest_ansorbench.cluster.pool import requirements
from pytest_ansorbench.cluster.work import LiveWork, SiteSettings, packed
from pytest_ansorbench.measure.local.machine import describe_machine
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.workloads.case import case_version
from tests.bench.conftest import ONE, RUNS
from tests.cluster.replayed import cores_of, read
from tests.faults import Doubling

SITE = SiteSettings(None, EngineSettings(), 0.0, YardstickPlan(), {})


def block(case=None, strategies=(ONE,)):
    case = case or Doubling()
    tasks = tuple(case.tasks())
    return Block(case.id, case, tasks, case_version(case, tasks), strategies, RUNS, seed=3)


def work(data, **wanted):
    expected = {**requirements(describe_machine()), **wanted}
    return LiveWork(SITE, expected, data, {})


def test_a_block_travels_without_its_tasks_and_has_them_again():
    sent = block()
    found = work(packed(sent, Path.cwd() / "nowhere"))._unpacked()
    assert (found.case, found.seed, found.plan) == (sent.case, 3, sent.plan)
    assert [task.name for task in found.tasks] == [task.name for task in sent.tasks]
    assert [one.name for one in found.strategies] == ["one"]


def test_another_toolchain_is_refused_by_name():
    with pytest.raises(UnfitError, match=r"apache-tvm 0\.\d+.* and not 0\.1"):
        work(packed(block(), Path("nowhere")), **{"apache-tvm": "0.1"})._unpacked()


def test_another_version_of_the_case_is_refused():
    other = dataclasses.replace(block(), version="other")
    with pytest.raises(UnableError, match=r"it is version \w+ there and not other"):
        work(packed(other, Path("nowhere")))._unpacked()


def test_what_cannot_be_read_there_is_refused():
    with pytest.raises(UnableError, match="cannot be made there"):
        work(b"nothing")._unpacked()


def test_other_libraries_run_on_the_cores_of_their_worker(three_workers):
    from distributed import Client

    last = max(os.sched_getaffinity(0))
    target = '{"kind": "llvm", "num-cores": 1}'
    shared_out = dataclasses.replace(SITE, target=target, cores={"two": (last,)})
    asked = LiveWork(shared_out, {}, b"", {})
    with Client(three_workers.address, set_as_default=False) as client:
        found = {
            name: client.submit(cores_of, asked, workers=[name], pure=False).result(timeout=60.0)
            for name in ("one", "two")
        }
    assert found == {"one": None, "two": (last,)}


MODULE = """
import dataclasses
from tests.faults import Doubling

class Own(Doubling):
    id = "own"

class Locked(Doubling):
    id = "locked"
    def __reduce__(self):
        raise TypeError("it stays here")
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A module that no other process can import."""
    (tmp_path / "of_a_project.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    import of_a_project

    yield of_a_project
    del sys.modules["of_a_project"]


def test_classes_of_the_project_go_with_the_block(project, tmp_path, three_workers):
    from distributed import Client

    data = packed(block(project.Own()), tmp_path)
    with Client(three_workers.address, set_as_default=False) as client:
        assert client.submit(read, data).result(timeout=60.0) == ("Own", "own", 1)
    # What is not of the project is not sent along.
    elsewhere = packed(block(project.Own()), tmp_path / "elsewhere")
    assert len(elsewhere) < len(data)


def test_what_cannot_be_sent_is_named(project, tmp_path):
    with pytest.raises(ValueError, match="locked or one of its strategies cannot be sent"):
        packed(block(project.Locked()), tmp_path)
