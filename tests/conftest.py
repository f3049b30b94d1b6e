"""A warm engine shared by all tests that search for real; it starts with the first of them."""

from __future__ import annotations

import pytest

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure import Engine, EngineSettings, register_intrinsics


@pytest.fixture(scope="session")
def engine():
    target = resolve_target(None)
    register_intrinsics(target)
    with Engine(target, EngineSettings(build_timeout_s=10, run_timeout_s=10)) as warm:
        yield warm
