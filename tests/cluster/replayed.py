"""Blocks whose entries are on record: what a cluster does with them, without any measuring."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from pytest_ansorbench.bench.blocks import Block
from pytest_ansorbench.cluster.courier import UnableError, UnfitError
from pytest_ansorbench.cluster.work import LiveWork
from pytest_ansorbench.measure.engine import EngineError, UntunedError
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.storage import from_line

ERRORS = {
    "unfit": UnfitError,
    "unable": UnableError,
    "untuned": UntunedError,
    "unresumable": ResumeError,
    "broken": EngineError,
    "failed": ZeroDivisionError,
}


def identify(answer: Mapping[str, object]) -> Mapping[str, object]:
    """What a worker says of itself: whatever it is to say."""
    return answer


def identify_by_name(answers: Mapping[str, Mapping[str, object]]) -> Mapping[str, object]:
    """Likewise, for each worker something else."""
    from distributed import get_worker

    return answers[str(get_worker().name)]


def pause(dask_worker, is_paused):
    """Have a worker do as when its memory is nearly full, or no longer is."""
    from distributed.core import Status

    dask_worker.status = Status.paused if is_paused else Status.running


def read(data: bytes) -> tuple[str, str, int]:
    """The case of a packed block, made at a worker: its class, its name and how many tasks."""
    import cloudpickle

    case = cloudpickle.loads(data).case
    return type(case).__name__, case.id, len(case.tasks())


def cores_of(work: LiveWork) -> Sequence[int] | None:
    """Cores that other libraries run on at a worker."""
    with closing(work._site()) as site:
        return site.yardsticks.cores


@dataclass(frozen=True)
class Fault:
    """What goes wrong, after some entries of a block.

    Attributes:
        kind: `dies`, `hangs`, or how the block ends, see `courier.Outcome`.
        after: After how many entries.
        seed: In which block.
        marker: A file that is there once it has happened, so that it happens once; None for
            every time.
    """

    kind: str
    after: int = 2
    seed: int = 0
    marker: str | None = None

    def happen(self) -> None:
        if self.marker is not None:
            try:
                Path(self.marker).touch(exist_ok=False)
            except FileExistsError:
                return
        if self.kind == "dies":
            os._exit(1)
        if self.kind == "hangs":
            time.sleep(600.0)
        raise ERRORS[self.kind](f"it is {self.kind}")


@dataclass(frozen=True)
class ReplayedWork:
    """The entries of a block, handed out after a pause each."""

    seed: int
    lines: tuple[str, ...]
    pause_s: float = 0.0
    faults: tuple[Fault, ...] = ()
    begun: str | None = None

    def entries(self, watcher):
        for place, line in enumerate(self.lines):
            self._go_wrong(place)
            if self.begun is not None:
                Path(f"{self.begun}-{self.seed}-{place}").touch()
            time.sleep(self.pause_s)
            watcher.note(f"entry {place}")
            yield from_line(line)
        self._go_wrong(len(self.lines))

    def _go_wrong(self, place):
        for fault in self.faults:
            if (fault.seed, fault.after) == (self.seed, place):
                fault.happen()


@dataclass(frozen=True)
class Recorded:
    """Makes the work of blocks out of lines of a journal, by seed."""

    lines: Mapping[int, tuple[str, ...]]
    pause_s: float = 0.0
    faults: tuple[Fault, ...] = ()
    begun: str | None = None
    seen: list[Block] = field(default_factory=list)

    def __call__(self, block: Block, slices_ms: Mapping[str, float]) -> ReplayedWork:
        from tests.bench.recorded import lines_of  # which workers have no need of

        self.seen.append(block)
        lines = self.lines[block.seed][lines_of(block.past) :]
        return ReplayedWork(block.seed, lines, self.pause_s, self.faults, self.begun)
