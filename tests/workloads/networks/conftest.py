"""This machine's target, with the intrinsics that its schedule rules name."""

import pytest

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure import register_intrinsics


@pytest.fixture(scope="session")
def target():
    found = resolve_target(None)
    register_intrinsics(found)
    return found
