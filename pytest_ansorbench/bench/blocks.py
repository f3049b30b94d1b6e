"""Blocks: one repeat of a case, all its arms on one machine; and what carries blocks out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from pytest_ansorbench.bench.arms import Arm
from pytest_ansorbench.bench.history import RepeatHistory
from pytest_ansorbench.bench.prepared import RunPlan
from pytest_ansorbench.bench.progress import RunProgress
from pytest_ansorbench.bench.reference import StandIn
from pytest_ansorbench.records import Yardsticks
from pytest_ansorbench.storage.entries import (
    BlockEntry,
    LastCheckEntry,
    NoiseEntry,
    RecordedEntry,
    RoundEntry,
)

if TYPE_CHECKING:
    from pytest_ansorbench.workloads.case import Case, Task

ON_CLOCK: Final = (RoundEntry, LastCheckEntry, RecordedEntry)
"""What a search's clock ran for, and is done again if its process was stopped meanwhile."""


@dataclass(frozen=True, eq=False)
class Block:
    """One repeat of a case: what has to stay on one machine, and depends on nothing else."""

    label: str  # what the journal calls the case
    case: Case
    tasks: tuple[Task, ...]
    version: str  # hash of its programs, see `case_version`
    strategies: tuple[Arm, ...]  # the reference first
    plan: RunPlan
    seed: int  # of every run
    past: RepeatHistory | None = None  # as far as an interrupted session got; None if it begins
    stand_in: StandIn | None = None  # a recorded run in place of a new one of the reference
    yardsticks: Mapping[str, Yardsticks] = field(default_factory=dict)  # those known, by machine
    # Machines on which this session has measured those that it can.
    measured_on: frozenset[str] = frozenset()


class Watcher(Protocol):
    """Is told what goes on in blocks, outside of any clock."""

    def advanced(self, seed: int, run: RunProgress) -> None:
        """A run of a block has come further."""

    def note(self, what: str) -> None:
        """Work that is no trial begins."""


@dataclass(frozen=True, slots=True)
class Wrote:
    """A block has done something that has to be written down."""

    seed: int  # of the block
    entry: BlockEntry | NoiseEntry  # a line for the journal


@dataclass(frozen=True, slots=True)
class Ended:
    """A block is over: all its entries have been handed out."""

    seed: int


@dataclass(frozen=True, slots=True)
class Cut:
    """A block was cut short, in a step that counts for nothing.

    It has to be submitted again, with what it has written. One that has written its `FinalEntry`
    is over, and is not cut short any more.
    """

    seed: int
    reason: str


BlockEvent = Wrote | Ended | Cut


class Executor(Protocol):
    """Carries blocks out, one or several at a time.

    All of a case's blocks are over or cancelled before those of the next case are submitted.
    """

    @property
    def target(self) -> str:
        """TVM target that programs are compiled for, as JSON."""

    @property
    def machine(self) -> Mapping[str, Any]:
        """A machine that blocks are carried out on, see `Engine.machine`; known at any time."""

    @property
    def slots(self) -> int:
        """How many blocks can be carried out at a time now, at least 1."""

    def session_misfit(self, machine: Mapping[str, Any]) -> str:
        """Why a session that began on a machine cannot go on; empty if it can."""

    def block_misfit(self, machine: Mapping[str, Any]) -> str:
        """Why a block that was begun on a machine cannot go on; empty if it can.

        Raises:
            ElsewhereError: The case or a strategy can be made, or got, nowhere.
            EngineError: There is no machine any more.
        """

    def submit(self, block: Block, watcher: Watcher) -> None:
        """Have a block carried out as soon as there is a place for it.

        Raises:
            ElsewhereError, EngineError: Likewise.
        """

    def receive(self) -> BlockEvent:
        """Wait until something happens in one of the submitted blocks, or carry on with it.

        Raises:
            UntunedError: A program of the case does not work even untuned.
            ResumeError: A block's past is not of this case.
            EngineError: No block can be carried out any more.
        """

    def cancel(self) -> None:
        """Give up all blocks that are not over."""

    def finish(self) -> NoiseEntry | None:
        """Look at the machine a last time, if there is one machine and it has been busy."""

    def close(self) -> None:
        """End all processes. Does nothing if that is done."""
