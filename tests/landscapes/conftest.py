"""A landscape of a tiny matmul, recorded on an engine whose latencies are made up."""

from __future__ import annotations

import pytest

from pytest_ansorbench.landscapes.files import read_landscape
from tests.fast_engine import FastEngine
from tests.landscapes.recorded import MACHINE, recorded


@pytest.fixture
def made_up_engine(target):
    """It says what a machine is."""
    with FastEngine(target, compiles=False) as started:
        started.machine = {**started.machine, **MACHINE}
        yield started


@pytest.fixture(scope="session")
def landscape_file(target, tmp_path_factory):
    with FastEngine(target, compiles=False) as engine:
        engine.machine = {**engine.machine, **MACHINE}
        return recorded(engine, tmp_path_factory.mktemp("landscapes"))


@pytest.fixture(scope="session")
def landscape(landscape_file):
    return read_landscape(landscape_file)
