"""Blocks carried out by the workers of a Dask cluster, several at a time."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from pytest_ansorbench.bench.blocks import Block, BlockEvent, Cut, Ended, Watcher, Wrote
from pytest_ansorbench.bench.progress import RunProgress
from pytest_ansorbench.cluster.courier import Order, Outcome, Work, deliver
from pytest_ansorbench.cluster.pool import Helper, Pool
from pytest_ansorbench.cluster.settings import RESOURCE
from pytest_ansorbench.cluster.workers import block_key
from pytest_ansorbench.codec import from_json
from pytest_ansorbench.measure.engine import ElsewhereError, EngineError, UntunedError
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.stats.noise_model import slice_ms_for
from pytest_ansorbench.storage import fingerprint, from_line, machine_difference
from pytest_ansorbench.storage.entries import FinalEntry, NoiseEntry

MOST_LOSSES: Final = 3
"""So often in a row, without a line of it, a block is cut short by its workers; then something is
wrong with it, and not with them."""

_PAUSE_S: Final = 0.1
_REFRESH_S: Final = 1.0

T = TypeVar("T")

WorkOf = Callable[[Block, Mapping[str, float]], Work]
"""Makes the work of a block, given lengths of slices that suit machines, by fingerprint."""


@dataclass
class _Submitted:
    """A block that is not over."""

    block: Block
    watcher: Watcher
    key: str
    future: Any
    workers: frozenset[str]  # addresses of those that may carry it out
    attempt: str = ""  # that is under way; empty before it begins
    address: str = ""  # of the worker that is at it; empty before it begins
    worker: str = ""  # name of that worker
    wrote: bool = False  # a line of it is here, which who begins it once more does not know
    waits: bool = False  # it was told that all of its workers are paused
    over: bool = False  # its last entry is here: it is over even if its worker is lost

    @property
    def what(self) -> str:
        return f"{self.block.case.id} with seed {self.block.seed}"

    @property
    def loss(self) -> str:
        """That its worker is gone, which has a name once it has begun."""
        return f"worker {self.worker} is gone" if self.worker else "its worker had not begun it"


@dataclass
class ClusterExecutor:
    """Carries blocks out at workers; an `Executor`.

    Each block is a task of the scheduler that takes the one `ansor_bench` of a worker. Its entries
    come back through a queue at the scheduler, in order. A worker that is gone, or has been silent
    for so long that the scheduler gives it up, cuts its block short.
    """

    client: Any  # closed in the end
    pool: Pool
    work_of: WorkOf
    patience_s: float  # to wait for a worker that fits
    note: Callable[[str], None] = lambda what: None  # which workers were refused, what was lost
    cluster: Any = None  # processes that were started for this session
    _submitted: dict[int, _Submitted] = field(default_factory=dict, init=False)
    _inbox: deque[Mapping[str, str]] = field(default_factory=deque, init=False)
    _happened: deque[BlockEvent] = field(default_factory=deque, init=False)
    _slices_ms: dict[str, float] = field(default_factory=dict, init=False)
    _refreshed_s: float = field(default=0.0, init=False)
    _told: set[str] = field(default_factory=set, init=False)
    _losses: dict[int, int] = field(default_factory=dict, init=False)  # in a row, by seed
    # Why workers cannot make the case under way, by address
    _unable: dict[str, str] = field(default_factory=dict, init=False)
    _is_made: bool = field(default=False, init=False)  # whether a worker has made it

    def __post_init__(self) -> None:
        from distributed import Queue

        self._session = uuid.uuid4().hex[:8]
        self._queue = Queue(f"ansor-bench-{self._session}", client=self.client)
        try:
            self._wait_for_workers()
        except BaseException:
            self.close()
            raise
        self.target = self.pool.target
        # Of the worker that was found first.
        self.machine = next(iter(self.pool.fit.values())).machine

    @property
    def slots(self) -> int:
        """As many as there are workers that fit, whether or not they are busy for others."""
        return max(1, len(self.pool.fit))

    def session_misfit(self, machine: Mapping[str, Any]) -> str:
        """Nothing: each repeat has a machine of its own."""
        return ""

    def block_misfit(self, machine: Mapping[str, Any]) -> str:
        """Why no worker can go on with what was begun on a machine."""
        differences = [machine_difference(machine, one.machine) for one in self._able()]
        return "" if "" in differences else f"no worker has its machine ({differences[0]})"

    def submit(self, block: Block, watcher: Watcher) -> None:
        """Hand a block out; one with a past goes to a machine like the one it is of."""
        past, fit = block.past, self._able()
        if past is not None:
            fit = [one for one in fit if not machine_difference(past.begun.machine, one.machine)]
        key = block_key(self._session, block.case.id, block.seed, uuid.uuid4().hex[:4])
        order = Order(key, self._queue.name, self.work_of(block, self._slices_ms))
        workers = sorted(one.address for one in fit)
        future = self.client.submit(
            deliver,
            order,
            key=key,
            workers=workers,
            resources={RESOURCE: 1},
            pure=False,
            retries=0,
        )
        self._submitted[block.seed] = _Submitted(block, watcher, key, future, frozenset(workers))

    def receive(self) -> BlockEvent:
        while not self._happened:
            if not self._asking(self._step):
                time.sleep(_PAUSE_S)
        return self._happened.popleft()

    def cancel(self) -> None:
        """Give all blocks up; workers stop at the end of their round."""
        for submitted in self._submitted.values():
            with contextlib.suppress(Exception):  # the scheduler may be gone, too
                submitted.future.cancel()
        self._submitted.clear()
        self._losses.clear()
        self._unable.clear()
        self._is_made = False
        self._inbox.clear()
        self._happened.clear()

    def finish(self) -> NoiseEntry | None:
        """Nothing: no worker is at rest for this session alone."""
        return None

    def close(self) -> None:
        """Leave the scheduler, and end processes that were started for this session."""
        with contextlib.suppress(Exception):  # whatever a lost connection raises
            self._queue.close()
        for one in (self.client, self.cluster):
            if one is not None:
                with contextlib.suppress(Exception):
                    one.close(timeout=10.0)

    def _asking(self, call: Callable[[], T]) -> T:
        """Do something that needs the scheduler: EngineError if that is gone."""
        from distributed.comm import CommClosedError

        try:
            self._check_client()
            answer = call()
            self._check_client()
        except (CommClosedError, OSError, asyncio.TimeoutError) as error:
            raise EngineError(
                f"the scheduler of the cluster is gone ({type(error).__name__}: {error})"
            ) from None
        return answer

    def _check_client(self) -> None:
        if self.client.status != "running":
            raise OSError(f"the connection is {self.client.status}")

    def _workers(self) -> list[Helper]:
        """Those that fit; if there is none, one is waited for."""
        if not self.pool.fit:
            self.note(f"waiting for a worker, {self.patience_s:g} s at most")
            self._wait_for_workers()
        return [*self.pool.fit.values()]

    def _able(self) -> list[Helper]:
        """Those that fit and can make the case, as far as is known: ElsewhereError if none can."""
        self._workers()
        if not self._fit_and_able() and self._is_made:  # by a worker that is gone
            self._wait_for_workers()
        able = self._fit_and_able()
        if not able:
            why = "; ".join(dict.fromkeys(self._unable.values()))
            raise ElsewhereError(f"no worker can carry out {why}")
        return able

    def _fit_and_able(self) -> list[Helper]:
        return [one for one in self.pool.fit.values() if one.address not in self._unable]

    def _wait_for_workers(self) -> None:
        """Wait until at least one worker fits: EngineError if none did in time.

        It does not count while one that may fit is busy.
        """
        deadline_s = time.monotonic() + self.patience_s
        told = False
        while True:
            self._asking(self._refresh)
            if self._fit_and_able():
                return
            if self._asking(self.pool.awaits_busy):
                if not told:
                    self.note("waiting for a worker: some are busy")
                told, deadline_s = True, time.monotonic() + self.patience_s
            elif time.monotonic() > deadline_s:
                paused = dict.fromkeys(self.pool.paused.values(), "paused, short of memory")
                refused = {**paused, **self.pool.refused}
                why = "; ".join(f"{name}: {why}" for name, why in refused.items())
                raise EngineError(
                    f"no worker that fits within {self.patience_s:g} s; workers have to declare "
                    f"the resource {RESOURCE}=1" + (f"; refused were {why}" if why else "")
                )
            time.sleep(_PAUSE_S)

    def _refresh(self) -> None:
        self.pool.refresh()
        self._refreshed_s = time.monotonic()
        self._tell()

    def _tell(self) -> None:
        """Say once of each worker why it is not used."""
        for name, reason in self.pool.refused.items():
            if name not in self._told:
                self._told.add(name)
                self.note(f"worker {name} is refused: {reason}")

    def _step(self) -> bool:
        """Take one message, or look for more, and whether there was anything.

        One at a time, so that an interrupt loses nothing that was handed out.
        """
        if not self._inbox:
            return self._poll()
        self._take(self._inbox.popleft())
        return True

    def _poll(self) -> bool:
        """Fetch messages, and whether there were any; see now and then which workers are there."""
        self._inbox.extend(self._queue.get(batch=True))
        if self._inbox:
            return True
        for submitted in list(self._submitted.values()):
            if submitted.future.status in ("error", "cancelled", "lost"):
                self._lose(submitted, submitted.loss)
        if time.monotonic() - self._refreshed_s > _REFRESH_S:
            self._refresh()
            self._redirect()
        return False

    def _take(self, message: Mapping[str, str]) -> None:
        submitted = next(
            (one for one in self._submitted.values() if one.key == message["key"]), None
        )
        if submitted is None:
            return  # of a block that was given up
        seed, kind = submitted.block.seed, message["kind"]
        if kind == "begun":
            # The scheduler may find another worker itself, faster than it is noticed here.
            if submitted.wrote:
                self._lose(submitted, submitted.loss)
                return
            if submitted.attempt:
                self._count_loss(submitted, submitted.loss)
            submitted.attempt, submitted.address = message["attempt"], message["text"]
            submitted.worker = message["worker"]
        elif message["attempt"] != submitted.attempt:
            return  # of a worker that was taken for dead
        elif kind == "note":
            submitted.watcher.note(message["text"])
        elif kind == "advance":
            run = from_json(RunProgress, json.loads(message["text"]))
            submitted.watcher.advanced(seed, run)
        elif kind == "ended":
            self._end(submitted, **json.loads(message["text"]))
        else:
            self._write(submitted, message)

    def _write(self, submitted: _Submitted, message: Mapping[str, str]) -> None:
        try:
            entry = from_line(message["text"])
        except ValueError as error:
            raise EngineError(
                f"worker {message['worker']} sent something else than an entry: {error}"
            ) from None
        if isinstance(entry, NoiseEntry):
            slice_ms = slice_ms_for(entry.trace)
            if slice_ms is not None:
                self._slices_ms[fingerprint(entry.machine)] = slice_ms
        else:
            self._losses.pop(submitted.block.seed, None)
        submitted.wrote = self._is_made = True
        submitted.over |= isinstance(entry, FinalEntry)
        self._happened.append(Wrote(submitted.block.seed, entry))  # type: ignore[arg-type]

    def _end(self, submitted: _Submitted, outcome: Outcome, reason: str) -> None:
        """A block is over, in one of the ways that `Outcome` names."""
        if outcome == "done":
            self._conclude(submitted)
        elif outcome == "unfit":
            self.pool.refuse(submitted.address, reason)
            self._tell()
            self._lose(submitted, f"worker {submitted.worker} does not fit: {reason}")
        elif outcome == "unable":
            self._unable[submitted.address] = f"{submitted.block.case.id}: {reason}"
            self.note(f"{submitted.what} is not for worker {submitted.worker}: {reason}")
            self._cut(submitted, reason)
        elif outcome == "untuned":
            raise UntunedError(reason)
        elif outcome == "unresumable":
            raise ResumeError(reason)
        elif outcome == "failed":
            raise ElsewhereError(f"{submitted.what} failed at worker {submitted.worker}:\n{reason}")
        elif outcome == "stopped":  # not by a fault of its own, however often
            self.note(f"{submitted.what} is handed out again: worker {submitted.worker} {reason}")
            self._cut(submitted, reason)
        else:
            self._lose(submitted, f"worker {submitted.worker}: {reason or outcome}")

    def _redirect(self) -> None:
        """Cut blocks short that no worker can carry out as things are."""
        fit = {one.address for one in self._workers()}
        for submitted in list(self._submitted.values()):
            if submitted.address and submitted.address not in fit:
                self._lose(submitted, submitted.loss)
            elif not submitted.address and not submitted.workers <= fit:
                self._cut(submitted, "waits for other workers: one of its own is gone")
            elif not submitted.address and submitted.workers <= self.pool.paused.keys():
                self._tell_wait(submitted)

    def _tell_wait(self, submitted: _Submitted) -> None:
        """Say once of a block that no worker can begin it for now."""
        if not submitted.waits:
            submitted.waits = True
            names = ", ".join(sorted(self.pool.paused[one] for one in submitted.workers))
            why = f"{submitted.what} waits: Dask has paused {names}, short of memory"
            self.note(why)
            submitted.watcher.note(why)

    def _conclude(self, submitted: _Submitted) -> None:
        """A block is over, and all of it is here."""
        seed = submitted.block.seed
        del self._submitted[seed]
        self._losses.pop(seed, None)
        self._happened.append(Ended(seed))

    def _lose(self, submitted: _Submitted, reason: str) -> None:
        """The worker of a block is lost to it: EngineError if that is too often."""
        if submitted.over:
            submitted.future.cancel()
            self._conclude(submitted)
            return
        self._count_loss(submitted, reason)
        self._cut(submitted, reason)

    def _count_loss(self, submitted: _Submitted, reason: str) -> None:
        seed = submitted.block.seed
        losses = self._losses[seed] = self._losses.get(seed, 0) + 1
        if losses > MOST_LOSSES:
            raise EngineError(f"{submitted.what} was lost {losses} times, at last because {reason}")
        self.note(f"{submitted.what} is handed out again: {reason}")

    def _cut(self, submitted: _Submitted, reason: str) -> None:
        submitted.future.cancel()
        del self._submitted[submitted.block.seed]
        self._happened.append(Cut(submitted.block.seed, reason))
