"""An engine whose latencies are made up, to record landscapes on."""

from __future__ import annotations

import pytest

from tests.fast_engine import FastEngine
from tests.landscapes.recorded import MACHINE


@pytest.fixture
def made_up_engine(target):
    """It says what a machine is."""
    with FastEngine(target, compiles=False) as started:
        started.machine = {**started.machine, **MACHINE}
        yield started
