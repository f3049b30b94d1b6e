"""A machine that blocks are carried out on, one after another."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.bench.blocks import (
    ON_CLOCK,
    Block,
    BlockEvent,
    Cut,
    Ended,
    Watcher,
    Wrote,
)
from pytest_ansorbench.bench.interrupts import Stops
from pytest_ansorbench.bench.prepared import PreparedCase, prepare
from pytest_ansorbench.bench.progress import RunProgress
from pytest_ansorbench.bench.repeat import run_repeat
from pytest_ansorbench.bench.yardsticks import YardstickPlan, taking_turns
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.noise_probe import observe_noise
from pytest_ansorbench.stats.noise_model import slice_ms_for
from pytest_ansorbench.storage import fingerprint, machine_difference
from pytest_ansorbench.storage.entries import BlockEntry, NoiseEntry, YardsticksEntry

if TYPE_CHECKING:
    from pytest_ansorbench.measure.engine import Engine
    from pytest_ansorbench.records import Moment

_MOST_STOPS: Final = 3
"""So often in a row a step is done again in which the session was stopped."""
_Entries = Generator[BlockEntry | NoiseEntry, None, None]


@dataclass(eq=False)
class Site:
    """An engine, how steady its machine is, and the baselines there.

    The engine is started by the first block. The machine's noise is measured before the first
    block that begins here: one that goes on after an interrupt may have to get on in the few
    seconds that its session lives.
    """

    engine: Engine
    _: KW_ONLY
    storage: Path  # folder where the machine's peak is kept
    noise_check_s: float = 0.0  # of measuring the machine's noise; 0 for none
    slice_ms: float | None = None  # that suits the machine's noise, if that is known
    yardsticks: YardstickPlan = field(default_factory=YardstickPlan)
    is_used: bool = field(default=False, init=False)  # whether a block was carried out
    _has_looked: bool = field(default=False, init=False)
    _prepared: tuple[str, PreparedCase] | None = field(default=None, init=False)
    _folder: TemporaryDirectory[str] | None = field(default=None, init=False)

    def close(self) -> None:
        """End all processes, and remove what peers have kept."""
        self.engine.close()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def carry_out(self, block: Block, watcher: Watcher) -> _Entries:
        try:
            self.engine.start()
            is_known = self._has_looked or self.slice_ms is not None
            if self.noise_check_s and block.past is None and not is_known:
                watcher.note(f"{block.case.id}  looking at how steady the machine is")
                noise = self.look("start")
                self._has_looked = True
                if noise is not None:
                    self.slice_ms = slice_ms_for(noise.trace)
                    yield noise
            self.is_used = True
            prepared = self._prepare(block, watcher)
            machine = fingerprint(self.engine.machine)
            yardsticks = self.yardsticks.of(prepared, self.engine.target, watcher.note)
            is_met = yardsticks.is_met_by(block.yardsticks.get(machine))
            if not is_met and machine not in block.measured_on:
                found = yardsticks.measured(prepared, self.engine, self.storage, watcher.note)
                yield YardsticksEntry(block.label, found)
            yield from self._repeat(block, prepared, watcher)
        except EngineError:
            self.engine.close()
            raise
        except (Exception, GeneratorExit):  # between two requests
            raise
        except BaseException:
            # Ctrl-C, or a time limit such as pytest-timeout's, may have cut a request short.
            self.engine.close()
            raise

    def look(self, moment: Moment) -> NoiseEntry | None:
        """Measure the machine's noise; None if that cannot be done, or is not asked for."""
        if not self.noise_check_s:
            return None
        observed = datetime.now(timezone.utc).isoformat(timespec="seconds")
        trace = observe_noise(self.engine, self.noise_check_s)
        return None if trace is None else NoiseEntry(self.engine.machine, moment, observed, trace)

    def _prepare(self, block: Block, watcher: Watcher) -> PreparedCase:
        """The block's case, with outputs that were made once for all blocks of it."""
        if self._prepared is None or self._prepared[0] != block.label:
            prepared = prepare(block.case, block.tasks, self.engine, watcher.note)
            if taking_turns(self.yardsticks.implementations):
                peers = self.yardsticks.peers(prepared, self.engine, self._new_folder())
                prepared = replace(prepared, peers=peers)
            self._prepared = block.label, prepared
        return self._prepared[1]

    def _new_folder(self) -> Path:
        """An empty one, which is removed at the end."""
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="ansor-bench-")
        return Path(mkdtemp(dir=self._folder.name))

    def _repeat(
        self, block: Block, prepared: PreparedCase, watcher: Watcher
    ) -> Iterator[BlockEntry]:
        plan, past = block.plan, block.past
        return run_repeat(
            prepared,
            block.seed,
            block.strategies,
            plan if self.slice_ms is None else plan.with_slices(self.slice_ms),
            self.engine,
            label=block.label,
            # By the seed, so that a shard's repeats begin as they would among all others.
            lead=block.seed,
            rounds=past.rounds if past else None,
            rankings=past.rankings if past else {},
            winners=past.winners if past else None,
            leads=past.leads if past else {},
            stand_in=block.stand_in,
            on_trial=lambda search: watcher.advanced(block.seed, RunProgress.of(search)),
            on_finals=lambda: watcher.note(f"{block.case.id}  measuring what was found, in turn"),
        )


class LocalExecutor:
    """Carries blocks out here, one at a time; an `Executor`."""

    slots = 1

    def __init__(self, site: Site) -> None:
        self._site = site
        self._block: tuple[int, _Entries] | None = None
        self._stops = Stops()
        self._done_again = 0

    @property
    def target(self) -> str:
        return str(self._site.engine.target)

    @property
    def machine(self) -> Mapping[str, Any]:
        return self._site.engine.machine

    def session_misfit(self, machine: Mapping[str, Any]) -> str:
        return machine_difference(machine, self.machine)

    block_misfit = session_misfit

    def submit(self, block: Block, watcher: Watcher) -> None:
        assert self._block is None
        self._stops.watch()
        self._block = block.seed, self._site.carry_out(block, watcher)

    def receive(self) -> BlockEvent:
        """Carry on with the block until it has something to be written down."""
        assert self._block is not None
        seed, entries = self._block
        for entry in entries:
            was_stopped = self._stops.came()
            if was_stopped and isinstance(entry, ON_CLOCK):
                self._done_again += 1
                if self._done_again <= _MOST_STOPS:
                    self.cancel()
                    return Cut(seed, "was stopped: its round is run again")
            self._done_again = 0
            return Wrote(seed, entry)
        self._block = None
        return Ended(seed)

    def cancel(self) -> None:
        block, self._block = self._block, None
        if block is not None:
            block[1].close()

    def finish(self) -> NoiseEntry | None:
        """Look at the machine a last time, if anything was measured on it.

        Nothing else is left to be interrupted, and nothing depends on this look.
        """
        if not self._site.is_used:
            return None
        try:
            return self._site.look("end")
        except (EngineError, KeyboardInterrupt):
            return None

    def close(self) -> None:
        self._stops.close()
        self._site.close()
