"""A warm engine with little patience, shared by the tests that plant faults in it."""

from __future__ import annotations

import pytest

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure import Engine


@pytest.fixture(scope="package")
def engine():
    with Engine(resolve_target(None), build_workers=2, build_timeout_s=3, run_timeout_s=3) as warm:
        yield warm
