"""How a candidate becomes a latency: builder, runner, correctness check."""

from pytest_ansorbench.measure.engine import Engine, UntunedError
from pytest_ansorbench.measure.fork_server import WorkerError
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.measure.machine_state import observe_machine
from pytest_ansorbench.measure.outcomes import Built, Measured
from pytest_ansorbench.measure.policy import (
    FixedMeasurement,
    Measurement,
    RacingMeasurement,
    Stopwatch,
)
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.untuned import network_check, task_check

__all__ = [
    "Built",
    "Engine",
    "EngineSettings",
    "FixedMeasurement",
    "Measured",
    "Measurement",
    "RacingMeasurement",
    "Stopwatch",
    "UntunedError",
    "WorkerError",
    "network_check",
    "observe_machine",
    "register_intrinsics",
    "task_check",
]
