"""A strategy: a name and a choice of policies, one for each thing a search decides.

A policy is a frozen dataclass that holds parameters and no state. Its `start` makes the object
that does the work for one run, so that nothing of one run leaks into another.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pytest_ansorbench.measure.policy import FixedMeasurement, Measurement
from pytest_ansorbench.strategies.build_limit import BuildLimit
from pytest_ansorbench.strategies.checks import require_method
from pytest_ansorbench.strategies.cost_model import CostModelPolicy, XGBoostModel
from pytest_ansorbench.strategies.last_check import LastCheck
from pytest_ansorbench.strategies.proposer import ProposerPolicy
from pytest_ansorbench.strategies.scheduling import TaskScheduler

if TYPE_CHECKING:
    from tvm.s_tir.meta_schedule.space_generator import SpaceGenerator


@dataclass(frozen=True)
class Strategy:
    """A search: its name in tables and its policies, each stock unless said otherwise.

    Two strategies that differ in one policy differ in nothing else; that is what makes an
    ablation of them worth reading.

    Attributes:
        name: Lower-case name, as `--ansor-strategy` takes it.
        proposer: How candidates are chosen.
        cost_model: What scores candidates before measurement.
        measurement: How long a candidate is run.
        build_limit: When a candidate that compiles for long is given up; None for when the engine
            says so.
        description: One line for listings.
        last_check: How the fastest few are compared before the run names its winner; None for
            no such check.
        scheduler: Which task of a network comes next; None for what the session says.

    Raises:
        ValueError: A policy lacks its protocol's method, or `last_check` or `build_limit` is none.
    """

    name: str
    proposer: ProposerPolicy
    cost_model: CostModelPolicy = field(default_factory=XGBoostModel)
    measurement: Measurement = field(default_factory=FixedMeasurement)
    description: str = ""
    last_check: LastCheck | None = None
    scheduler: TaskScheduler | None = None
    build_limit: BuildLimit | None = None

    def __post_init__(self) -> None:
        require_method(self, "proposer", "start", example="StockEvolution()")
        require_method(self, "cost_model", "start", example="XGBoostModel()")
        require_method(self, "measurement", "measure", example="FixedMeasurement()")
        if self.scheduler is not None:
            require_method(self, "scheduler", "next_task", example="GradientScheduler()")
        if not isinstance(self.last_check, LastCheck | None):
            raise ValueError(f"bad last_check {self.last_check!r}: expected LastCheck() or None")
        if not isinstance(self.build_limit, BuildLimit | None):
            raise ValueError(f"bad build_limit {self.build_limit!r}: expected BuildLimit() or None")

    def space(self) -> SpaceGenerator:
        """MetaSchedule's design space, with the stock rules of the TVM target it is used for."""
        from tvm.s_tir.meta_schedule.space_generator import PostOrderApply

        return PostOrderApply()


def control_of(reference: Strategy) -> Strategy:
    """The reference under another name: a comparison of the two shows nothing but noise."""
    return replace(
        reference,
        name=f"{reference.name}-again",
        description=f"a control: {reference.name} a second time",
    )
