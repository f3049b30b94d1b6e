"""This machine's target, and a warm engine shared by all tests that search for real."""

from __future__ import annotations

import functools
import os

import pytest
from hypothesis import settings

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.measure.local.engine import LocalEngine
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.strategies import XGBoostModel
from tests import lasting_servers as servers
from tests.forked_servers import forked_servers

# Workers share two cores. Threads that busy-wait take from the other one, a kernel's for a
# fifth of a second after each call; pytest-xdist hands these on before its workers start any.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("TVM_THREAD_POOL_SPIN_COUNT", "0")

# A third of Hypothesis' own number: each run draws other examples, and some take 30 ms.
settings.register_profile("suite", max_examples=30)
settings.load_profile("suite")


@pytest.fixture(scope="session")
def target():
    """What to tune for, with the intrinsics that its schedule rules name."""
    found = resolve_target(None)
    register_intrinsics(found)
    return found


@pytest.fixture(scope="session")
def landscape_file(target, tmp_path_factory):
    """A landscape of a tiny matmul, recorded on an engine whose latencies are made up."""
    from tests.landscapes.recorded import made_up, recorded

    with made_up(target) as engine:
        return recorded(engine, tmp_path_factory.mktemp("landscapes"))


@pytest.fixture(scope="session")
def landscape(landscape_file):
    from pytest_ansorbench.landscapes.files import read_landscape

    return read_landscape(landscape_file)


@pytest.fixture(scope="session", autouse=True)
def _forked_servers():
    """Fork servers and hosts are forked off one process that has imported TVM."""
    with forked_servers():
        yield


@pytest.fixture(scope="session", autouse=True)
def _few_trees():
    """MetaSchedule's model is done after 3 rounds of training without a gain, not after 50."""
    start = XGBoostModel.start

    @functools.wraps(start)
    def started(policy):
        model = start(policy)
        model._inst.early_stopping_rounds = 3
        return model

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(XGBoostModel, "start", started)
        yield


@pytest.fixture(scope="session")
def engine(target):
    """It starts with the first test that wants it."""
    with LocalEngine(target, EngineSettings(build_timeout_s=10, run_timeout_s=10)) as warm:
        yield warm


@pytest.fixture(scope="session")
def fast_engine(target):
    """Its latencies are made up: for all tests that do not ask how one measures."""
    from tests.fast_engine import FastEngine

    with FastEngine(target) as started:
        yield started


@pytest.fixture(scope="session")
def unbuilding_engine(target):
    """It takes every program for right, and compiles none."""
    from tests.fast_engine import FastEngine

    with FastEngine(target, compiles=False) as started:
        yield started


@pytest.fixture(scope="module")
def lasting_servers():
    """Engines that the tests of a module start find a fork server that is warm."""
    with servers.lasting_servers():
        yield
