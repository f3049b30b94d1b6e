"""The workers of a cluster as its scheduler tells of them: what they are doing."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pytest_ansorbench.causes import last_line
from pytest_ansorbench.cluster.settings import RESOURCE, ClusterAddress
from pytest_ansorbench.environment import ToolchainError
from pytest_ansorbench.measure.engine import EngineError

_GREETING_S: Final = 10.0
"""Seconds for a scheduler to greet beyond those to connect to it."""
_KEY: Final = re.compile(r"ansor-bench-(?P<session>\w+)-(?P<seed>\d+)-\w+-(?P<case>.+)")


def check_dask() -> None:
    try:
        import distributed  # noqa: F401 -- whether it can be imported
    except ImportError as error:
        raise ToolchainError(
            f"cannot import distributed ({error}): pip install 'pytest-ansorbench[cluster]'"
        ) from None


def connected(scheduler: str, timeout_s: float) -> Any:
    """A client of a scheduler, e.g. `tcp://127.0.0.1:8786`, to be closed by the caller."""
    check_dask()
    from distributed import Client

    class Limited(Client):  # type: ignore[misc]
        """Dask waits for ever for the greeting of what listens, such as a dashboard."""

        def start(self, **how: Any) -> None:
            try:
                super().start(**how, callback_timeout=timeout_s + _GREETING_S)
            except BaseException:
                self.close()
                raise

    try:
        return Limited(scheduler, timeout=timeout_s, set_as_default=False)
    # TypeError: `tls://` without certificates. RuntimeError: no `tls://` where Dask is to encrypt.
    except (OSError, asyncio.TimeoutError, TypeError, RuntimeError) as error:
        raise EngineError(
            f"no Dask scheduler at {scheduler} within {timeout_s:g} s "
            f"({type(error).__name__}: {last_line(error)}); start one with dask scheduler"
        ) from None


def block_key(session: str, case: str, seed: int, submission: str) -> str:
    """What the scheduler calls a submission of a block; sessions are letters and digits."""
    return f"ansor-bench-{session}-{seed}-{submission}-{case}"


def workers_of(client: Any) -> dict[str, Mapping[str, Any]]:
    """What the scheduler knows of workers that take blocks, by address; OSError if it is gone.

    `Client.scheduler_info` tells of five at most (2025.4 to 2026.6), and gives what the client has
    in memory, which its own periodic look, at five or none, may have replaced meanwhile.
    """
    there = client.sync(client.scheduler.identity)["workers"]
    return {address: info for address, info in there.items() if info["resources"].get(RESOURCE)}


def blocks_under_way(client: Any) -> dict[str, list[re.Match[str]]]:
    """By address of those that have any, a worker's blocks; OSError if the scheduler is gone.

    It is at one of them, and the others wait for it: the scheduler does not tell which.
    """
    found = {}
    for address, keys in client.processing().items():
        blocks = [block for key in map(str, keys) if (block := _KEY.fullmatch(key))]
        if blocks:
            found[address] = blocks
    return found


@dataclass(frozen=True)
class WorkerActivity:
    """A worker that takes blocks, and one that it is at or that waits for it."""

    name: str
    session: str = ""  # that it works for; empty if it is free
    case: str = ""
    seed: int | None = None


class ClusterWatch:
    """Follows what workers do; it only reads."""

    def __init__(self, address: ClusterAddress, timeout_s: float = 10.0) -> None:
        self.address = address
        self._client = connected(address.scheduler, timeout_s)

    def __enter__(self) -> ClusterWatch:
        return self

    def __exit__(self, *error: object) -> None:
        self._client.close()

    def look(self) -> tuple[WorkerActivity, ...]:
        """The workers that take blocks, by name, each once for each block that it has."""
        try:
            there = workers_of(self._client)
            at_work = blocks_under_way(self._client)
        except (OSError, asyncio.TimeoutError) as error:
            raise EngineError(
                f"the scheduler at {self.address} is gone ({type(error).__name__})"
            ) from None
        found: list[WorkerActivity] = []
        for address, info in there.items():
            name = str(info["name"])
            found += [
                WorkerActivity(name, block["session"], block["case"], int(block["seed"]))
                for block in at_work.get(address, ())
            ] or [WorkerActivity(name)]
        return tuple(
            sorted(found, key=lambda one: (one.name, one.session, one.case, one.seed or 0))
        )
