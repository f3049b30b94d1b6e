"""A warm engine with little patience, shared by the tests that plant faults in it."""

from __future__ import annotations

import pytest

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.local.engine import LocalEngine
from pytest_ansorbench.measure.settings import EngineSettings
from tests.forked_servers import forked_servers

pytest.register_assert_rewrite("tests.measure.engine_contract")


@pytest.fixture(scope="package", autouse=True)
def _quick_start():
    """Fork servers are forked off one process that has imported TVM."""
    with forked_servers():
        yield


@pytest.fixture(scope="package")
def engine(_quick_start):
    settings = EngineSettings(build_timeout_s=3, run_timeout_s=3)
    with LocalEngine(resolve_target(None), settings) as warm:
        yield warm
