"""The host itself: searches that another process steps through, with this interpreter's TVM.

Started as `python -m pytest_ansorbench.hosted.main FD` with one end of a socket as file
descriptor FD. It measures by a fork server of its own, which ends with it.
"""

from __future__ import annotations

import itertools
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_ansorbench.codec import from_json, to_json
from pytest_ansorbench.hosted.process import PROTOCOL
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.local.channel import Channel, ChannelClosed
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
    try:
        while True:
            message, _ = channel.receive()
            try:
                answer = host.answer(message)
            except ResumeError as error:
                answer = {"error": str(error), "kind": "resume"}
            except (EngineError, RuntimeError, ValueError) as error:
                answer = {"error": str(error), "kind": "engine"}
            channel.send(answer)
    except ChannelClosed:
        pass
    finally:
        host.close()


class _Host:
    """The searches under way, and the engine that they share."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._engine: LocalEngine | None = None
        self._searches: dict[int, Search] = {}
        self._numbers = itertools.count(1)

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        operation = message["op"]
        if operation == "open":
            return self._open(str(message["target"]), message["settings"])
        if operation == "begin":
            return self._begin(message)
        search = self._searches[int(message["search"])]
        if operation == "step":
            search.step()
            return {"round": to_json(search.last_round(str(message["label"])))}
        if operation == "rank":
            search.rank()
            return {"last_check": to_json(search.last_check(str(message["label"])))}
        search.close()
        del self._searches[int(message["search"])]
        return {}

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()

    def _open(self, target: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        cores = settings["cores"]
        self._engine = local_engine(
            target,
            EngineSettings(**{**settings, "cores": None if cores is None else tuple(cores)}),
        )
        self._engine.start()
        return {}

    def _begin(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        assert self._engine is not None
        case = next(one for one in CASES if one.id == asked["case"])
        ranking = asked["ranking"]
        number = next(self._numbers)
        self._searches[number] = Search(
            case,
            case.tasks(),
            Registry().get(str(asked["strategy"])),
            self._engine,
            seed=int(asked["seed"]),
            budget_trials=int(asked["budget_trials"]),
            round_trials=int(asked["round_trials"]),
            on_trial=lambda search: self._channel.send({"trial": to_json(search.trials[-1])}),
            resumed=tuple(from_json(RoundEntry, entry) for entry in asked["resumed"]),
            ranking=None if ranking is None else from_json(LastRanking, ranking),
        )
        return {"search": number}


if __name__ == "__main__":
    main(sys.argv[1:])
