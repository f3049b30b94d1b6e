"""Projects to run pytest on, and an engine that takes no time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from pytest_ansorbench.measure.local import toolchains
from pytest_ansorbench.strategies import Evolution, StockEvolution
from tests.fast_engine import FastEngine
from tests.plugin.project import CASES, CONFTEST, Project
from tests.recorded import replayed_once


@pytest.fixture(scope="module", autouse=True)
def _warm(lasting_servers):
    """Sessions of this process need not start servers."""


@pytest.fixture(scope="package", autouse=True)
def _judged_once():
    """Sessions of this process that replay the same runs share what they think of them."""
    with replayed_once():
        yield


@pytest.fixture
def project(tmp_path):
    """One with a case, and strategies that propose what they are told to."""
    return with_a_case(tmp_path)


def with_a_case(root):
    made = Project(root)
    made.write("conftest.py", CONFTEST)
    made.write("test_cases.py", CASES)
    return made


def beside_another(project):
    """The same project, its case beside another one."""
    both = "from tests.bench.conftest import Another\nfrom tests.faults"
    project.replace("test_cases.py", "from tests.faults", both)
    project.replace("test_cases.py", "[Doubling()]", "[Doubling(), Another()]")
    return project


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """A project whose case was searched, and the result of that."""
    made = with_a_case(tmp_path_factory.mktemp("searched"))
    searched_fast(made)
    return made


def searched_fast(made, *words):
    """Search a project's cases without measuring anything, into `saved.json`."""
    with measuring_fast():
        outcome = made.bench("--ansor-json=saved.json", *words)
    assert outcome.code == 0, outcome.text
    return outcome


@pytest.fixture
def saved(project):
    """One case of a saved result."""
    return project.replaying("SAVED[:1]")


@pytest.fixture
def everything(project):
    """All three cases of it."""
    return project.replaying("SAVED")


@pytest.fixture
def fast_engine():
    """Sessions of this process compile and call kernels here, and make latencies up."""
    with measuring_fast():
        yield


@pytest.fixture
def unbuilding_engine():
    """Likewise, and compile nothing: all programs are taken for right."""
    with measuring_fast(compiles=False):
        yield


@pytest.fixture
def small_populations(monkeypatch):
    """Genetic searches breed few programs: their own populations, of 512, take eight seconds."""
    small = {"population": 16, "generations": 1, "min_unmeasured": 4}

    def smaller(start):
        return lambda self, setup: start(replace(self, **small), setup)

    for search in (StockEvolution, Evolution):
        monkeypatch.setattr(search, "start", smaller(search.start))


@contextmanager
def measuring_fast(*, compiles: bool = True, fails_at: int | None = None) -> Iterator[None]:
    checked = toolchains.local_engine

    def engine(*settings):
        own = checked(*settings)
        made = FastEngine(own.target, compiles=compiles, fails_at=fails_at)
        made.machine = own.machine
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toolchains, "local_engine", engine)
        yield
