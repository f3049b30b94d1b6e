"""A block at a worker: each journal entry is sent to the session as soon as it is written."""

from __future__ import annotations

import json
import math
import time
import traceback
import uuid
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, Protocol

from pytest_ansorbench.bench.blocks import ON_CLOCK, Watcher
from pytest_ansorbench.bench.interrupts import Stops
from pytest_ansorbench.bench.progress import RunProgress
from pytest_ansorbench.measure.engine import EngineError, UntunedError
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.storage import to_line
from pytest_ansorbench.storage.entries import Entry
from pytest_ansorbench.workloads import BadInputs

Outcome = Literal[
    "done",
    "unwanted",  # the session has cancelled the task
    "unfit",  # the worker, for any block of the session
    "unable",  # the worker, to make the case or a strategy
    "untuned",  # the case does not work even untuned
    "unresumable",  # the rounds to resume are of another case
    "broken",  # the engine
    "stopped",  # the worker's process, in the middle of a round
    "failed",  # any other error
]
"""How a block ended."""

_ADVANCE_S: Final = 1.0
"""Progress is sent once in so many seconds: each message waits for the scheduler."""


class UnfitError(Exception):
    """The worker can carry out no block of the session; the message says why."""


class UnableError(Exception):
    """The worker cannot make the case or a strategy; the message says why."""


_OUTCOMES: Final[Mapping[type[Exception], Outcome]] = {
    UnfitError: "unfit",
    UnableError: "unable",
    UntunedError: "untuned",
    BadInputs: "untuned",
    ResumeError: "unresumable",
    EngineError: "broken",
}


class Work(Protocol):
    """What a worker is to do, pickled on its way there."""

    def entries(self, watcher: Watcher) -> Generator[Entry, None, None]:
        """Carry it out. Its errors are those that `Outcome` names."""


@dataclass(frozen=True)
class Order:
    """A block on its way to a worker."""

    key: str  # what the session calls it
    queue: str  # name of the queue that its messages go to
    work: Work


def deliver(order: Order) -> None:
    """Carry out a block, as a task of Dask's at a worker.

    Entries and errors go through the queue as text, so that the session unpickles nothing that
    comes from a worker. It stops at the next entry once the session has cancelled the task, or is
    gone.
    """
    from distributed import Queue, get_client, get_worker

    worker = get_worker()
    task = str(worker.get_current_task())
    queue = Queue(order.queue, client=get_client())
    sender = _Sender(queue, order.key, str(worker.name))
    stops = Stops()
    worker.loop.add_callback(stops.watch)  # which runs in the main thread, as signals do
    try:
        sender.send("begun", worker.address)
        outcome, reason = _done(order.work, sender, lambda: _is_unwanted(worker, task), stops)
        if not _is_unwanted(worker, task):
            sender.send("ended", json.dumps({"outcome": outcome, "reason": reason}))
    finally:
        worker.loop.add_callback(stops.close)
        queue.close()


def _done(
    work: Work, sender: _Sender, is_unwanted: Callable[[], bool], stops: Stops
) -> tuple[Outcome, str]:
    """Send the entries of some work; how it ended, and why."""
    try:
        with closing(work.entries(sender)) as entries:
            for entry in entries:
                if is_unwanted():
                    return "unwanted", ""
                if stops.came() and isinstance(entry, ON_CLOCK):
                    return "stopped", "was stopped: its round is run again"
                sender.send("entry", to_line(entry))
        return "done", ""
    except Exception as error:
        for kind, outcome in _OUTCOMES.items():
            if isinstance(error, kind):
                return outcome, str(error)
        return "failed", traceback.format_exc()


def _is_unwanted(worker: Any, task: str) -> bool:
    """Whether the scheduler has cancelled the task, or forgotten it."""
    state = worker.state.tasks.get(task)
    return state is None or state.state == "cancelled"


class _Sender:
    """Sends messages, each tagged with the block and this attempt at it; a `Watcher`."""

    def __init__(self, queue: Any, key: str, worker: str) -> None:
        self._queue = queue
        self._tags = {"key": key, "attempt": uuid.uuid4().hex, "worker": worker}
        self._advanced_s = -math.inf

    def send(self, kind: str, text: str) -> None:
        """Returns when the scheduler has it."""
        self._queue.put({**self._tags, "kind": kind, "text": text})

    def advanced(self, seed: int, run: RunProgress) -> None:
        if time.monotonic() - self._advanced_s >= _ADVANCE_S:
            self._advanced_s = time.monotonic()
            self.send("advance", json.dumps(asdict(run)))

    def note(self, what: str) -> None:
        self.send("note", what)
