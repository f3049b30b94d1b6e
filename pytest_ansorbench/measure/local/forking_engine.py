"""What engines have in common whose processes are forks of a server on this machine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pytest_ansorbench.measure.local.builder import Builder
from pytest_ansorbench.measure.local.fork_server import ForkServer
from pytest_ansorbench.measure.local.runner import Runner
from pytest_ansorbench.measure.local.side_by_side import BuildSet, TurnTaking
from pytest_ansorbench.measure.local.supervisor import Supervisor
from pytest_ansorbench.measure.outcomes import AfterSet, Built, Computed, Measured
from pytest_ansorbench.measure.policy import Measurement
from pytest_ansorbench.measure.program import Buildable, Program
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.records import Remeasurement

if TYPE_CHECKING:
    from tvm.target import Target

    from pytest_ansorbench.workloads.case import Check

_Started = TypeVar("_Started", bound="ForkingEngine")


class ForkingEngine(ABC):
    """An engine whose processes are forks of one warm server; all of `Engine` but its machine."""

    capacity: Final = 64

    def __init__(self, target: Target, settings: EngineSettings) -> None:
        """Prepare; nothing is started."""
        self.target = target
        self.supervisor = Supervisor(self._new_server)
        self.runner = Runner(self.supervisor, self._restored, settings)
        self._settings = settings
        self._builder = self._new_builder()

    @property
    def restarts(self) -> int:
        return self.supervisor.restarts

    def __enter__(self: _Started) -> _Started:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self) -> None:
        assert self.supervisor.server

    def close(self) -> None:
        self._builder.close()
        self.supervisor.close()

    def build(
        self, programs: Sequence[Buildable], check: Check | None, limit_s: float | None = None
    ) -> list[Built]:
        return self._builder.build(programs, check, limit_s)

    def run(
        self,
        built: Built,
        measurement: Measurement,
        *,
        best_s: float | None = None,
        incumbent: Built | None = None,
    ) -> Measured:
        return self.runner.run(built, measurement, best_s, incumbent)

    def discard(self, built: Built) -> None:
        if built.handle is not None:
            built.handle.discard()

    def measure_side_by_side(
        self, programs: Sequence[Buildable], check: Check | None, effort: SideBySide
    ) -> list[Remeasurement]:
        outcomes: Sequence[Remeasurement] = ()
        for after in self.measure_sets(programs, check, effort):
            outcomes = after.outcomes
        return [*outcomes]

    def measure_sets(
        self,
        programs: Sequence[Buildable],
        check: Check | None,
        effort: SideBySide,
        before: AfterSet | None = None,
    ) -> Iterator[AfterSet]:
        return TurnTaking(
            len(programs),
            effort,
            self.runner,
            self._set_of(programs, check),
            [self.supervisor],
            before,
        ).measure()

    def outputs(self, program: Program, check: Check) -> Computed:
        return self.runner.outputs(lambda: self.build([program], check)[0])

    @abstractmethod
    def _new_server(self) -> ForkServer: ...

    @abstractmethod
    def _new_builder(self) -> Builder: ...

    @abstractmethod
    def _set_of(self, programs: Sequence[Buildable], check: Check | None) -> BuildSet:
        """Makes sets of processes of some programs."""

    @abstractmethod
    def _restored(self, program: Any) -> Built:
        """Replace the fork server, which has died, and the program that it cost."""
