"""A program in a process of its own, which compiles, runs and checks it, seen from the parent."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.measure.local.asking import Asking, WorkerDied
from pytest_ansorbench.measure.local.fork_server import Child
from pytest_ansorbench.measure.local.runnable import Runnable

if TYPE_CHECKING:
    from pytest_ansorbench.measure.program import Buildable
    from pytest_ansorbench.measure.settings import EngineSettings
    from pytest_ansorbench.workloads.case import Check


class Worker(Asking, Runnable):
    """One program in the process that was forked for it."""

    def __init__(
        self, child: Child, program: Buildable, check: Check | None, settings: EngineSettings
    ) -> None:
        Asking.__init__(self, child)
        Runnable.__init__(self, program, check, settings.flush_mb)
        self._has_arguments = False
        if settings.found_caches == "network":
            self.surroundings = program.surroundings

    def begin_build(
        self, operation: str, target: str, passes: Mapping[str, Any], timeout_s: float, text: bytes
    ) -> None:
        """Ask for machine code in its memory, `build`, or for an `object` file."""
        self.allow(timeout_s)
        request = {"op": operation, "kind": self.program.kind, "target": target, "passes": passes}
        with contextlib.suppress(WorkerDied):  # `receive` will find that out
            self.send(request, text)

    def allow(self, timeout_s: float) -> None:
        super().allow(timeout_s * self.program.functions)

    @property
    def is_there(self) -> bool:
        return not self.child.server.closed

    @property
    def peak_memory_mb(self) -> float:
        return self.child.peak_memory_mb

    def suspend(self) -> None:
        self.child.suspend()

    def resume(self) -> None:
        self.child.resume()

    def kill(self) -> None:
        self.child.kill()

    def discard(self) -> None:
        self.kill()
        super().discard()

    def code_bytes(self) -> int | None:
        """Bytes of its object file; None if it has none."""
        size: int | None = self.ask({"op": "size"})[0]["code_bytes"]
        return size

    def make_arguments(self) -> None:
        if not self._has_arguments:
            around = None if self.surroundings is None else asdict(self.surroundings)
            self.ask({"op": "arguments", "shapes": self.program.shapes, "surroundings": around})
        self._has_arguments = True
