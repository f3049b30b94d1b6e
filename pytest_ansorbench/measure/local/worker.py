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

    from pytest_ansorbench.measure.local.fork_server import Child
    from pytest_ansorbench.measure.program import Buildable
    from pytest_ansorbench.measure.settings import EngineSettings
    from pytest_ansorbench.workloads.case import Check


class Worker(Asking):
    """One program in its process, which ends with `end`; a `Stopwatch` for measurement policies.

    Attributes:
        child: The process.
        program: What it compiles, should that have to be done again.
        check: Inputs and expected output, if known.
        surroundings: The network whose doings precede each timed call; None for none.
    """

    def __init__(
        self, child: Child, program: Buildable, check: Check | None, settings: EngineSettings
    ) -> None:
        """Take charge of a process that has been forked for this program.

        Args:
            child: The process.
            program: What to compile.
            check: Inputs and expected output that the process was forked with.
            settings: Say how calls are to find the caches.
        """
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

        Args:
            operation: What is to come of it: `build` for machine code in its memory, `object` for
                an object file.
            target: TVM target as JSON.
            passes: Options of TVM's `PassContext`.
            timeout_s: Seconds it may take for each of the program's functions.
            text: The program as TVM's JSON.
        """
        self.allow(timeout_s)
        request = {"op": operation, "kind": self.program.kind, "target": target, "passes": passes}
        with contextlib.suppress(WorkerDied):  # `receive` will find that out
            self.send(request, text)

    def allow(self, timeout_s: float) -> None:
        """Give it this many seconds from now for each of its functions."""
        super().allow(timeout_s * self.program.functions)

    def suspend(self) -> None:
        """Keep it from using any core until `resume`."""
        self.child.suspend()

    def resume(self) -> None:
        """Let it go on."""
        self.child.resume()

    def code_bytes(self) -> int | None:
        """Bytes of its object file; None if it has none."""
        size: int | None = self.ask({"op": "size"})["code_bytes"]
        return size

    def make_arguments(self) -> None:
        """Make the arrays it is called with, once; a network has those of its check."""
        if not self._has_arguments:
            around = None if self.surroundings is None else asdict(self.surroundings)
            request = {"op": "arguments", "shapes": self.program.shapes, "surroundings": around}
            self.ask(request)
        self._has_arguments = True

    def first_call(self) -> float:
        """See `Stopwatch.first_call`."""
        return float(self.ask({"op": "call"})["seconds"])

    def time(self, calls: int, samples: int = 1) -> tuple[float, ...]:
        """See `Stopwatch.time`."""
        request = {"op": "time", "calls": calls, "samples": samples}
        reply = self.ask({**request, "flush_mb": self._flush_mb})
        return tuple(float(seconds) for seconds in reply["seconds"])

    def verify(self) -> None:
        """Compare its output with the reference, and look at the memory around it.

        Raises:
            WrongOutput: Something is wrong.
        """
        if wrong := self.ask({"op": "check"})["wrong"]:
            raise WrongOutput(wrong)

    def output(self) -> NDArray[Any]:
        """What its last call wrote."""
        self.send({"op": "output"})
        reply, payload = self.receive()
        return np.frombuffer(payload, reply["dtype"]).reshape(reply["shape"])
