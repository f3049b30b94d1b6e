"""This machine's target, and a warm engine shared by all tests that search for real."""

from __future__ import annotations

import pytest

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.measure.local.engine import LocalEngine
from pytest_ansorbench.measure.settings import EngineSettings
from tests import lasting_servers as servers


@pytest.fixture(scope="session")
def target():
    """What to tune for, with the intrinsics that its schedule rules name."""
    found = resolve_target(None)
    register_intrinsics(found)
    return found


@pytest.fixture(scope="session")
def engine(target):
    """It starts with the first test that wants it."""
    with LocalEngine(target, EngineSettings(build_timeout_s=10, run_timeout_s=10)) as warm:
        yield warm


@pytest.fixture(scope="module")
def lasting_servers():
    """Engines that the tests of a module start find a fork server that is warm."""
    with servers.lasting_servers():
        yield
