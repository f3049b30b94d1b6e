"""Runs compiled candidates, one at a time, in a process of their own."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_ansorbench.measure.outcomes import Measured
from pytest_ansorbench.measure.worker import (
    WARM_UP_TIMEOUT_S,
    Worker,
    WorkerDied,
    WorkerError,
    WorkerTimeout,
)

if TYPE_CHECKING:
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo

    from pytest_ansorbench.measure.policy import FixedMeasurement

#: A worker keeps every library it loaded mapped; 500 of them are some 50 MB.
RUNS_PER_WORKER: Final = 500


class LocalRunner:
    """A lasting process on this machine that times kernels.

    A candidate that crashes or stalls the process costs that candidate; the next one finds a
    new process.
    """

    def __init__(self, folder: Path, *, name: str, threads: int, timeout_s: float) -> None:
        """Start the process; the first call that needs it waits until it is warm.

        Args:
            folder: Where its log goes.
            name: What to call the log.
            threads: Threads that a kernel may use.
            timeout_s: Seconds a candidate may take, all its samples together.
        """
        self._logs = (folder / f"{name}-{n}.log" for n in itertools.count())
        self._threads = threads
        self._timeout_s = timeout_s
        self._worker = self._new_worker()
        self._warm = False

    def wait_until_warm(self) -> None:
        """Wait for a process that is starting.

        Raises:
            WorkerError: It did not start; the message holds the cause.
        """
        if self._warm:
            return
        try:
            reply = self._worker.receive(WARM_UP_TIMEOUT_S)
        except WorkerError as error:
            raise WorkerError(f"a run worker did not start: {error}") from None
        if "error" in reply:
            raise WorkerError(f"a run worker did not warm up: {reply['error']}")
        self._warm = True

    def run(
        self,
        artifact: Path,
        args_info: Sequence[ArgInfo],
        measurement: FixedMeasurement,
        check: Path | None,
    ) -> Measured:
        """Time a kernel and check its output.

        Args:
            artifact: The shared library.
            args_info: The kernel's arguments, inputs then output.
            measurement: How long to run it.
            check: Inputs and expected output, as `save_check` wrote them; without, inputs are
                random and the output goes unchecked.

        Returns:
            The outcome. A worker that dies is replaced before the call returns.

        Raises:
            WorkerError: The worker, or a replacement for it, did not start.
        """
        self.wait_until_warm()
        self._worker.send(
            {
                "op": "run",
                "artifact": str(artifact),
                "arguments": [
                    [str(dtype), [int(extent) for extent in shape]]
                    for _, dtype, shape in (info.as_json() for info in args_info)
                ],
                "number": measurement.number,
                "repeat": measurement.repeat,
                "min_repeat_ms": measurement.min_repeat_ms,
                "check": None if check is None else str(check),
            }
        )
        try:
            reply = self._worker.receive(self._timeout_s)
        except (WorkerTimeout, WorkerDied) as error:
            self._replace_worker()
            timed_out = isinstance(error, WorkerTimeout)
            return Measured("run-timeout" if timed_out else "run-error", error=str(error))
        if "error" in reply:
            return Measured("run-error", error=str(reply["error"]))
        if "wrong" in reply:
            return Measured("wrong-result", error=str(reply["wrong"]))
        return Measured("ok", tuple(reply["latencies_s"]))

    def refresh(self) -> None:
        """Replace the worker if it has run enough."""
        if self._worker.requests > RUNS_PER_WORKER:
            self._replace_worker()

    def close(self) -> None:
        """Kill the worker."""
        self._worker.kill()

    def _replace_worker(self) -> None:
        self._worker.kill()
        self._worker = self._new_worker()
        self._warm = False
        self.wait_until_warm()

    def _new_worker(self) -> Worker:
        return Worker(next(self._logs), threads=self._threads, work="run")
