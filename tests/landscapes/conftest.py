"""An engine to record landscapes on."""

from __future__ import annotations

import pytest

from tests.landscapes.recorded import made_up


@pytest.fixture
def made_up_engine(target):
    with made_up(target) as started:
        yield started
