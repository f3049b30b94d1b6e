"""Kernels on a device with memory of its own: here it is TVM's CPU, to which all is copied."""

from __future__ import annotations

import pytest

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.local.engine import LocalEngine
from pytest_ansorbench.measure.settings import EngineSettings
from tests.measure.engine_contract import EngineContract, TurnsContract, measured


class OnDevice(LocalEngine):
    """An engine whose kernels run on copies."""

    device = "cpu"


@pytest.fixture(scope="module")
def engine():
    settings = EngineSettings(build_timeout_s=3, run_timeout_s=3)
    with OnDevice(resolve_target(None), settings) as warm:
        yield warm


@pytest.mark.slow
class TestContract(EngineContract):
    """What every engine has to do."""


@pytest.mark.slow
class TestTurns(TurnsContract):
    """How programs take turns."""


@pytest.mark.parametrize(
    ("kind", "status", "reason"),
    [
        ("overrun", "wrong-result", "outside of its output"),
        ("crash", "run-error", "SIGABRT"),
    ],
)
def test_a_faulty_kernel_fails_alone(engine, check, kind, status, reason):
    before, faulty, after = measured(engine, ["fine", kind, "fine"], check)
    assert (before.status, after.status) == ("ok", "ok")
    assert faulty.status == status
    assert reason in faulty.error
