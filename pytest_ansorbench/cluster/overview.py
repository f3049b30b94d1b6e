"""What the workers of a cluster are doing, for those who watch from outside."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import TracebackType
from typing import Final

from pytest_ansorbench.cluster.client import connected
from pytest_ansorbench.cluster.settings import RESOURCE, ClusterAddress
from pytest_ansorbench.measure.engine import EngineError

_KEY: Final = re.compile(r"ansor-bench-(?P<session>\w+)-(?P<seed>\d+)-\w+-(?P<case>.+)")


def block_key(session: str, case: str, seed: int, submission: str) -> str:
    """What the scheduler calls a block.

    Args:
        session: Tells sessions apart; letters and digits, like `submission`.
        case: Id of the case.
        seed: Seed of the repeat.
        submission: Tells submissions of one block apart.
    """
    return f"ansor-bench-{session}-{seed}-{submission}-{case}"


@dataclass(frozen=True)
class WorkerOverview:
    """A worker that takes blocks.

    Attributes:
        name: What it is called.
        session: The session that it works for; empty if it is free.
        case: Id of the case that it is at.
        seed: Seed of the repeat.
    """

    name: str
    session: str = ""
    case: str = ""
    seed: int | None = None


class ClusterWatch:
    """Follows what workers do; it only reads. A context manager.

    Attributes:
        address: The scheduler's.
    """

    def __init__(self, address: ClusterAddress, timeout_s: float = 10.0) -> None:
        """Connect.

        Raises:
            ToolchainError: Dask is not installed.
            EngineError: There is no scheduler.
        """
        self.address = address
        self._client = connected(address.scheduler, timeout_s)

    def __enter__(self) -> ClusterWatch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()

    def look(self) -> tuple[WorkerOverview, ...]:
        """The workers that take blocks, by name.

        Raises:
            EngineError: The scheduler is gone.
        """
        try:
            there = self._client.scheduler_info()["workers"]
            at_work = self._client.processing()
        except (OSError, TimeoutError) as error:
            raise EngineError(
                f"the scheduler at {self.address} is gone ({type(error).__name__})"
            ) from None
        found = []
        for address, info in there.items():
            if not info["resources"].get(RESOURCE):
                continue
            name, keys = str(info["name"]), map(str, at_work.get(address, ()))
            block = next(filter(None, map(_KEY.fullmatch, keys)), None)
            found.append(
                WorkerOverview(name)
                if block is None
                else WorkerOverview(name, block["session"], block["case"], int(block["seed"]))
            )
        return tuple(sorted(found, key=lambda one: one.name))
