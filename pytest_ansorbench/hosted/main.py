"""The host itself: searches that another process steps through, with this interpreter's TVM.

Started as `python -m pytest_ansorbench.hosted.main FD` with one end of a socket as file
descriptor FD. It measures by a fork server of its own, which ends with it.
"""

from __future__ import annotations

import itertools
import socket
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.arrays import pack_arrays
from pytest_ansorbench.causes import ToolchainError
from pytest_ansorbench.codec import from_json, to_json
from pytest_ansorbench.hosted.agreement import digest, shape_of
from pytest_ansorbench.hosted.process import PROTOCOL
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.local.channel import Channel, ChannelClosed, answer, words_of
from pytest_ansorbench.measure.local.engine import local_engine
from pytest_ansorbench.measure.local.interpreter import end_with_parent
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.untuned import task_check
from pytest_ansorbench.packed import pack_program
from pytest_ansorbench.records import LastRanking
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.search.loop import Search
from pytest_ansorbench.storage.entries import RoundEntry
from pytest_ansorbench.strategies import BadModel
from pytest_ansorbench.strategies.errors import StrategyError
from pytest_ansorbench.strategies.scheduling import SCHEDULERS
from pytest_ansorbench.travel import StayError, arrived
from pytest_ansorbench.workloads import BadInputs, BadProgram
from pytest_ansorbench.workloads.case import NetworkCase

if TYPE_CHECKING:
    from pytest_ansorbench.workloads.case import Case, Task


def main(arguments: Sequence[str]) -> None:
    """Serve until the parent closes its end, which is also what its death does."""
    channel = Channel(socket.socket(fileno=int(arguments[0])))
    channel.send({"protocol": PROTOCOL})
    host = _Host(channel)
    operations = ("open", "case", "begin", "step", "rank", "close")
    with suppress(ChannelClosed), host.ending:
        answer(channel, {name: getattr(host, name) for name in operations}, _refused)


def _refused(error: Exception) -> dict[str, Any]:
    """What the host cannot do although it is well; with a traceback if that was unforeseen."""
    kinds: Mapping[str, tuple[type[Exception], ...]] = {
        "resume": (ResumeError,),
        "stay": (StayError,),
        "engine": (EngineError, ToolchainError),
        "failed": (StrategyError, BadModel, BadProgram, BadInputs),
    }
    for kind, known in kinds.items():
        if isinstance(error, known):
            return {"error": str(error), "kind": kind}
    return {"error": traceback.format_exc(), "kind": "failed"}


class _Host:
    """The searches under way, the case that was asked for last, and the engine that all share."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.ending = ExitStack()
        self._root = Path()
        self._cases: dict[int, tuple[Case, Sequence[Task]]] = {}
        self._searches: dict[int, Search] = {}
        self._numbers = itertools.count(1)

    def open(
        self, target: str, settings: dict[str, Any], root: str, paths: list[str]
    ) -> dict[str, Any]:
        """Start an engine; then modules of the project at `root` are found in `paths`."""
        cores = settings["cores"] and tuple(settings["cores"])
        self._engine = local_engine(target, EngineSettings(**{**settings, "cores": cores}))
        self.ending.callback(self._engine.close)
        self._engine.start()
        self._root = Path(root)
        # Last, so that TVM is this interpreter's own whatever the project has.
        sys.path[:0] = [path for path in paths if path not in sys.path]
        return {}

    def case(self, case: Any, name: str) -> dict[str, Any]:
        """Make a case, and say what it is."""
        found: Case = arrived(case, self._root)
        if found.id != name:
            raise StayError(f"its id is {found.id!r} there; let the id depend on fields alone")
        try:
            tasks = self._checked(found)
            whole = _whole(found)
        except Exception as error:  # whatever a user's code raises, or TVM
            raise StayError(f"its tasks cannot be made there: {words_of(error)}") from None
        number = next(self._numbers)
        self._cases = {number: (found, tasks)}
        expected = [
            () if task.check is None else [output.expected for output in task.check.outputs]
            for task in tasks
        ]
        return {
            "case": number,
            "tasks": [
                {
                    "program": pack_program(task.mod),
                    "shape": shape_of(task),
                    "outputs": len(arrays),
                }
                for task, arrays in zip(tasks, expected, strict=True)
            ],
            "network": whole,
            "payload": pack_arrays(array for arrays in expected for array in arrays),
        }

    def begin(
        self,
        case: int,
        strategy: Any,
        scheduler: str,
        resumed: list[Any],
        ranking: dict[str, Any] | None,
        **run: Any,
    ) -> dict[str, Any]:
        """Begin a search with the seed and the budget of a run."""
        found, tasks = self._cases[case]
        chosen = arrived(strategy, self._root)
        number = next(self._numbers)
        self._searches[number] = Search(
            found,
            tasks,
            chosen,
            self._engine,
            scheduler=chosen.scheduler or SCHEDULERS[scheduler],
            on_trial=self._tell,
            resumed=tuple(from_json(RoundEntry, entry) for entry in resumed),
            ranking=None if ranking is None else from_json(LastRanking, ranking),
            **run,
        )
        return {"search": number}

    def step(self, search: int, label: str) -> dict[str, Any]:
        self._searches[search].step()
        return {"round": to_json(self._searches[search].last_round(label))}

    def rank(self, search: int, label: str) -> dict[str, Any]:
        self._searches[search].rank()
        return {"last_check": to_json(self._searches[search].last_check(label))}

    def close(self, search: int) -> dict[str, Any]:
        self._searches.pop(search).close()
        return {}

    def _tell(self, search: Search) -> None:
        """Say that a trial is over."""
        assert search.current is not None
        task = search.tasks.index(search.current)
        self._channel.send({"trial": to_json(search.trials[-1]), "task": task})

    def _checked(self, case: Case) -> Sequence[Task]:
        """The tasks of a case; those of a network get their checks from their untuned programs."""
        if not isinstance(case, NetworkCase):
            return case.tasks()
        return [
            replace(task, check=task.check or task_check(self._engine, task))
            for task in case.tasks()
        ]


def _whole(case: Case) -> dict[str, Any]:
    """A network in one; nothing for an operator."""
    if not isinstance(case, NetworkCase):
        return {}
    mod = case.program()
    return {
        "program": pack_program(mod),
        "functions": len(mod.get_global_vars()),
        "arguments": [*map(digest, case.arguments())],
    }


if __name__ == "__main__":
    end_with_parent()  # in the middle of a round, too
    main(sys.argv[1:])
