"""The engine of the tests is an engine, too."""

from __future__ import annotations

import pytest

from tests.fast_engine import FastEngine
from tests.measure.engine_contract import EngineContract, TurnsContract


@pytest.fixture(scope="module")
def engine(target):
    with FastEngine(target) as started:
        yield started


class TestContract(EngineContract):
    """What every engine has to do."""


class TestTurns(TurnsContract):
    """How programs take turns."""
