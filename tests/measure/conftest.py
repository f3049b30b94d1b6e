"""A warm engine with little patience, shared by the tests that plant faults in it."""

from __future__ import annotations

import pytest

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.local.engine import LocalEngine
from pytest_ansorbench.measure.settings import EngineSettings
from tests.faults import Doubling

pytest.register_assert_rewrite("tests.measure.engine_contract")


@pytest.fixture(scope="package")
def engine():
    settings = EngineSettings(build_timeout_s=3, run_timeout_s=3)
    with LocalEngine(resolve_target(None), settings) as warm:
        yield warm


@pytest.fixture
def check():
    return Doubling().check()
