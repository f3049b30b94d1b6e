"""A block at a worker: its entries go to the session that asked, each as soon as it is there."""

from __future__ import annotations

import json
import math
import time
import traceback
import uuid
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, Protocol

from pytest_ansorbench.bench.blocks import Watcher
from pytest_ansorbench.bench.progress import RunProgress
from pytest_ansorbench.measure.engine import EngineError, UntunedError
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.storage import to_line
from pytest_ansorbench.storage.entries import Entry

Outcome = Literal["done", "unwanted", "unfit", "untuned", "unresumable", "broken", "failed"]
"""How a block ended: as it should; given up by who asked; refused by the worker; with a program
that does not work; with rounds of another case; with a broken engine; with any other error."""


_ADVANCE_S: Final = 1.0
"""One trial in so many seconds is told of: the others would wait for the scheduler."""


class UnfitError(Exception):
    """The worker cannot do what it was asked; the message says why."""


class Work(Protocol):
    """What a worker is to do. It travels pickled."""

    def entries(self, watcher: Watcher) -> Generator[Entry, None, None]:
        """Do it.

        Raises:
            UnfitError: This worker cannot.
            UntunedError, ResumeError, EngineError: See `Executor.receive`.
        """
        ...


@dataclass(frozen=True)
class Order:
    """A block on its way to a worker.

    Attributes:
        key: What the session calls it.
        queue: Name of the queue that its messages go to.
        work: What is to be done.
    """

    key: str
    queue: str
    work: Work


def deliver(order: Order) -> None:
    """Do what was ordered; run by a worker as a task.

    All that comes of it, errors included, goes through the queue as text, so that the session has
    nothing to unpickle. It stops at the next entry once the session has cancelled the task, or is
    gone.
    """
    from distributed import Queue, get_client, get_worker

    worker = get_worker()
    task = str(worker.get_current_task())
    queue = Queue(order.queue, client=get_client())
    sender = _Sender(queue, order.key, str(worker.name))
    try:
        sender.send("begun", worker.address)
        outcome, reason = _done(order.work, sender, lambda: _is_unwanted(worker, task))
        if not _is_unwanted(worker, task):
            sender.send("ended", json.dumps({"outcome": outcome, "reason": reason}))
    finally:
        queue.close()


def _done(work: Work, sender: _Sender, is_unwanted: Callable[[], bool]) -> tuple[Outcome, str]:
    """Do the work and send its entries; how it ended, and why."""
    try:
        with closing(work.entries(sender)) as entries:
            for entry in entries:
                if is_unwanted():
                    return "unwanted", ""
                sender.send("entry", to_line(entry))
        return "done", ""
    except UnfitError as error:
        return "unfit", str(error)
    except UntunedError as error:
        return "untuned", str(error)
    except ResumeError as error:
        return "unresumable", str(error)
    except EngineError as error:
        return "broken", str(error)
    except Exception:
        return "failed", traceback.format_exc()


def _is_unwanted(worker: Any, task: str) -> bool:
    """Whether nobody waits for the task any more."""
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
