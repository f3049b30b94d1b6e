"""A program in a process of its own, which compiles, runs and checks it, seen from the parent."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ansorbench.measure.local.asking import Asking, WorkerDied, WrongOutput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_ansorbench.measure.local.fork_server import Child, Ended
    from pytest_ansorbench.measure.program import Buildable
    from pytest_ansorbench.measure.settings import EngineSettings
    from pytest_ansorbench.workloads.case import Check


class Worker(Asking):
    """One program in the process that was forked for it; `Runnable` by a `Runner`."""

    def __init__(
        self, child: Child, program: Buildable, check: Check | None, settings: EngineSettings
    ) -> None:
        super().__init__(child)
        self.program = program
        self.check = check
        self._flush_mb = settings.flush_mb
        self._has_arguments = False
        self.surroundings = program.surroundings if settings.found_caches == "network" else None

    def begin_build(
        self, operation: str, target: str, passes: Mapping[str, Any], timeout_s: float, text: bytes
    ) -> None:
        """Ask for the compilation; `receive` gives the reply.

        The operation is `build` for machine code in its memory, or `object` for an object file.
        """
        self.allow(timeout_s)
        request = {"op": operation, "kind": self.program.kind, "target": target, "passes": passes}
        with contextlib.suppress(WorkerDied):  # `receive` will find that out
            self.send(request, text)

    def allow(self, timeout_s: float) -> None:
        """Give it this many seconds from now for each of its functions."""
        super().allow(timeout_s * self.program.functions)

    @property
    def is_there(self) -> bool:
        return not self.child.server.closed

    @property
    def peak_memory_mb(self) -> float:
        return self.child.peak_memory_mb

    def get_ready(self) -> None:
        """Nothing: its process waits."""

    def suspend(self) -> None:
        self.child.suspend()

    def resume(self) -> None:
        self.child.resume()

    def kill(self) -> None:
        self.child.kill()

    def give_up(self, failure: Exception) -> Ended:
        return self.end()

    def code_bytes(self) -> int | None:
        """Bytes of its object file; None if it has none."""
        size: int | None = self.ask({"op": "size"})["code_bytes"]
        return size

    def make_arguments(self) -> None:
        if not self._has_arguments:
            around = None if self.surroundings is None else asdict(self.surroundings)
            request = {"op": "arguments", "shapes": self.program.shapes, "surroundings": around}
            self.ask(request)
        self._has_arguments = True

    def first_call(self) -> float:
        return float(self.ask({"op": "call"})["seconds"])

    def time(self, calls: int, samples: int = 1) -> tuple[float, ...]:
        request = {"op": "time", "calls": calls, "samples": samples}
        reply = self.ask({**request, "flush_mb": self._flush_mb})
        return tuple(float(seconds) for seconds in reply["seconds"])

    def verify(self) -> None:
        if wrong := self.ask({"op": "check"})["wrong"]:
            raise WrongOutput(wrong)

    def output(self) -> NDArray[Any]:
        self.send({"op": "output"})
        reply, payload = self.receive()
        return np.frombuffer(payload, reply["dtype"]).reshape(reply["shape"])
