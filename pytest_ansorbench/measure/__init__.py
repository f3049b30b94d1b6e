"""How a candidate becomes a latency: builder, runner, correctness check."""

from pytest_ansorbench.measure.engine import Engine
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.measure.outcomes import Built, Measured
from pytest_ansorbench.measure.policy import FixedMeasurement
from pytest_ansorbench.measure.worker import WorkerError

__all__ = [
    "Built",
    "Engine",
    "FixedMeasurement",
    "Measured",
    "WorkerError",
    "register_intrinsics",
]
