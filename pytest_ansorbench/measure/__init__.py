"""How a candidate becomes a latency: builder, runner, correctness check."""

from pytest_ansorbench.measure.engine import Engine
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

__all__ = [
    "Built",
    "Engine",
    "EngineSettings",
    "FixedMeasurement",
    "Measured",
    "Measurement",
    "RacingMeasurement",
    "Stopwatch",
    "WorkerError",
    "observe_machine",
    "register_intrinsics",
]
