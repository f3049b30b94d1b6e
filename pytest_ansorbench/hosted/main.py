"""The host itself: searches that another process steps through, with this interpreter's TVM.

Started as `python -m pytest_ansorbench.hosted.main FD` with one end of a socket as file
descriptor FD. It measures by a fork server of its own, which ends with it.
"""

from __future__ import annotations

import itertools
import socket
import sys
from collections.abc import Sequence
from typing import Any

from pytest_ansorbench.codec import from_json, to_json
from pytest_ansorbench.hosted.process import PROTOCOL
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.local.channel import Channel, ChannelClosed, answer
from pytest_ansorbench.measure.local.engine import LocalEngine, local_engine
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.records import LastRanking
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.search.loop import Search
from pytest_ansorbench.storage.entries import RoundEntry
from pytest_ansorbench.strategies import Registry
from pytest_ansorbench.workloads import CASES


def main(arguments: Sequence[str]) -> None:
    """Serve until the parent closes its end, which is also what its death does."""
    channel = Channel(socket.socket(fileno=int(arguments[0])))
    channel.send({"protocol": PROTOCOL})
    host = _Host(channel)
    operations = ("open", "begin", "step", "rank", "close")
    try:
        answer(channel, {name: getattr(host, name) for name in operations}, _refused)
    except ChannelClosed:
        pass
    finally:
        host.end()


def _refused(error: Exception) -> dict[str, Any]:
    """What the host cannot do although it is well; anything else ends it."""
    if not isinstance(error, EngineError | RuntimeError | ValueError):
        raise error
    return {"error": str(error), "kind": "resume" if isinstance(error, ResumeError) else "engine"}


class _Host:
    """The searches under way, and the engine that they share."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._engine: LocalEngine | None = None
        self._searches: dict[int, Search] = {}
        self._numbers = itertools.count(1)

    def open(self, target: str, settings: dict[str, Any]) -> dict[str, Any]:
        cores = settings["cores"] and tuple(settings["cores"])
        self._engine = local_engine(target, EngineSettings(**{**settings, "cores": cores}))
        self._engine.start()
        return {}

    def begin(
        self,
        case: str,
        strategy: str,
        resumed: list[Any],
        ranking: dict[str, Any] | None,
        **run: Any,
    ) -> dict[str, Any]:
        """Begin a search with the seed and the budget of a run."""
        assert self._engine is not None
        found = next(one for one in CASES if one.id == case)
        number = next(self._numbers)
        self._searches[number] = Search(
            found,
            found.tasks(),
            Registry().get(strategy),
            self._engine,
            on_trial=lambda search: self._channel.send({"trial": to_json(search.trials[-1])}),
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

    def end(self) -> None:
        if self._engine is not None:
            self._engine.close()


if __name__ == "__main__":
    main(sys.argv[1:])
