"""Everything that turns candidates into latencies, for one session on this machine."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from multiprocessing.connection import wait
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.measure.arguments import Shapes, shapes_of
from pytest_ansorbench.measure.check import dump_check
from pytest_ansorbench.measure.fork_server import ForkServer, ServerDied, WorkerError
from pytest_ansorbench.measure.kernel import (
    Kernel,
    KernelDied,
    KernelError,
    KernelTimeout,
    Program,
    WrongOutput,
)
from pytest_ansorbench.measure.outcomes import Built, Measured
from pytest_ansorbench.measure.policy import ColdMeasurement, FixedMeasurement, Measurement
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.records import TrialStatus

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import IRModule
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo
    from tvm.target import Target

    from pytest_ansorbench.workloads.case import Check

#: After a kernel, TVM's pool of threads busy-waits for the next one: 300,000 turns, 0.15 s of
#: CPU here. A kernel that another process starts meanwhile measured twice its latency.
SETTLE_S: Final = 0.3

#: A server that dies is replaced, but not for ever.
_MOST_RESTARTS_IN_A_ROW: Final = 3

#: Failures of a run that have a status of their own.
_RUN_STATUS: Final[Mapping[type[Exception], TrialStatus]] = {
    KernelTimeout: "run-timeout",
    WrongOutput: "wrong-result",
}


class UntunedError(RuntimeError):
    """A program that cannot be compiled or run even as it is; the message says why."""


class Engine:
    """Compiles and measures candidates, each in a process of its own; a context manager.

    The processes are forks of one warm server. To build, up to `build_workers` of them compile
    at a time, to machine code in their own memory: no file, no linker. Then they wait, and
    `run` lets one at a time make its arguments, run, compare its output, and exit. All arms of
    an experiment share one engine, so that none is measured by other means than the others.

    Attributes:
        target: What candidates are compiled for.
        restarts: How often the fork server had to be replaced.
    """

    #: Candidates to build before they are run, at most: each holds some 16 MB until then.
    capacity: Final = 64

    def __init__(
        self,
        target: Target,
        settings: EngineSettings = EngineSettings(),  # noqa: B008 - frozen
    ) -> None:
        """Start the fork server and wait until it is warm.

        Args:
            target: What to compile for; its `num-cores` is the number of kernel threads.
            settings: How to build and run.

        Raises:
            WorkerError: The server did not start; the message holds the cause.
        """
        from tvm.ir import save_json

        self.target = target
        self.restarts = 0
        self._serialize: Callable[[IRModule], str] = save_json
        self._settings = settings
        self._threads = int(target.attrs["num-cores"])
        self._build_workers = settings.build_workers or self._threads
        self._loaded: Check | None = None
        self._restarts_in_a_row = 0
        self._server = self._new_server()

    @property
    def server_pid(self) -> int:
        """Process id of the fork server, whose children the candidates' processes are."""
        return self._server.pid

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def build(self, mods: Sequence[IRModule], check: Check | None) -> list[Built]:
        """Compile candidates in parallel.

        Args:
            mods: The scheduled modules; no more than `capacity`, lest memory runs out.
            check: Inputs and expected output, if known; the candidates are forked with them.

        Returns:
            One outcome per module, in order. Each compiled one holds a process until it is
            run, discarded, or the engine closed.

        Raises:
            WorkerError: The fork server died and cannot be started again.
        """
        return self._build([self._program(mod) for mod in mods], check)

    def run(
        self,
        built: Built,
        args_info: Sequence[ArgInfo],
        measurement: Measurement,
        *,
        best_s: float | None = None,
    ) -> Measured:
        """Measure one built candidate, and end its process.

        Args:
            built: The candidate; if building failed, so did the trial.
            args_info: The kernel's arguments, inputs then output.
            measurement: How long to run it.
            best_s: Latency of the run's best valid trial so far; None if there is none.

        Returns:
            The trial's outcome. A candidate that would be the best so far is `ok` only if its
            output is right; under `check="all"`, any candidate.

        Raises:
            WorkerError: The fork server died and cannot be started again.
        """
        if built.kernel is None:
            return _not_run(built)
        started_s = time.monotonic()
        outcome = self._run(built.kernel, shapes_of(args_info), measurement, best_s)
        return replace(outcome, build_s=built.build_s, run_s=time.monotonic() - started_s)

    def discard(self, built: Built) -> None:
        """End the process of a candidate that will not be run; does nothing if it has ended."""
        if built.kernel is not None:
            built.kernel.child.kill()
            with contextlib.suppress(ServerDied):
                built.kernel.end()

    def remeasure(
        self,
        winners: Sequence[tuple[IRModule, Sequence[ArgInfo]] | None],
        check: Check | None,
        *,
        samples: int,
    ) -> list[Measured | None]:
        """Measure finished kernels against each other: each in a fresh process, in turn.

        Sample by sample the kernels alternate, so that a drift of the machine's speed meets
        all of them alike; each has a process of its own that has run nothing else. Between
        samples all processes come to rest. Outputs are compared at the end.

        Args:
            winners: Scheduled module and arguments per arm; None for an arm without a winner.
            check: Inputs and expected output, if known.
            samples: Samples a kernel; each is a `FixedMeasurement` of its own.

        Returns:
            One outcome per winner, in order; None where there was no winner.

        Raises:
            WorkerError: The fork server died and cannot be started again.
        """
        present = [winner for winner in winners if winner is not None]
        programs = [self._program(mod) for mod, _ in present]
        shapes = [shapes_of(args_info) for _, args_info in present]
        in_order = iter(self._remeasure(programs, shapes, check, samples))
        return [None if winner is None else next(in_order) for winner in winners]

    def remeasure_networks(
        self, programs: Sequence[IRModule], check: Check, *, samples: int
    ) -> list[Measured]:
        """Measure whole networks against each other, as `remeasure` does with kernels.

        Args:
            programs: Fused Relax modules with their functions scheduled, one an arm.
            check: Their arguments and expected output.
            samples: Samples a network.

        Returns:
            One outcome per program, in order.

        Raises:
            WorkerError: The fork server died and cannot be started again.
        """
        networks = [self._network(program) for program in programs]
        return self._remeasure(networks, [()] * len(networks), check, samples)

    def output_of_kernel(
        self, mod: IRModule, args_info: Sequence[ArgInfo], check: Check
    ) -> NDArray[Any]:
        """Compile a kernel as it is, call it once on a check's inputs, and return its output.

        Raises:
            UntunedError: It cannot be compiled or run.
            WorkerError: The fork server died and cannot be started again.
        """
        return self._output(self._program(mod), shapes_of(args_info), check)

    def output_of_network(self, program: IRModule, check: Check) -> NDArray[Any]:
        """`output_of_kernel` for a fused Relax module."""
        return self._output(self._network(program), (), check)

    def close(self) -> None:
        """End all processes."""
        self._server.close()

    def _program(self, mod: IRModule) -> Program:
        return Program(self._serialize(mod).encode())

    def _network(self, program: IRModule) -> Program:
        functions = len(program.get_global_vars())
        return Program(self._serialize(program).encode(), "network", functions)

    def _output(self, program: Program, shapes: Shapes, check: Check) -> NDArray[Any]:
        while True:
            [built] = self._build([program], check)
            kernel = built.kernel
            if kernel is None:
                raise UntunedError(f"{built.status}: {built.error}")
            try:
                return self._output_of(kernel, shapes)
            except ServerDied:
                self._restart()

    def _output_of(self, kernel: Kernel, shapes: Shapes) -> NDArray[Any]:
        outputs = []

        def call() -> tuple[float, ...]:
            kernel.make_arguments(shapes)
            seconds = kernel.first_call()
            outputs.append(kernel.output())
            return (seconds,)

        outcome = self._attempt(kernel, call)
        if outcome.status != "ok":
            raise UntunedError(outcome.error)
        kernel.end()
        return outputs[0]

    def _remeasure(
        self,
        programs: Sequence[Program],
        shapes: Sequence[Shapes],
        check: Check | None,
        samples: int,
    ) -> list[Measured]:
        while True:
            built = self._build(programs, check)
            try:
                return self._take_turns(built, shapes, samples)
            except ServerDied:
                self._restart()

    def _build(self, programs: Sequence[Program], check: Check | None) -> list[Built]:
        waiting = deque(range(len(programs)))
        busy: dict[Kernel, tuple[int, float]] = {}
        outcomes: dict[int, Built] = {}
        while waiting or busy:
            try:
                while waiting and len(busy) < self._build_workers:
                    started_s = time.monotonic()
                    kernel = self._begin_build(programs[waiting[0]], check)
                    busy[kernel] = (waiting.popleft(), started_s)
                for kernel in _ready(list(busy)):
                    job, started_s = busy[kernel]
                    outcomes[job] = self._built(kernel, started_s)
                    del busy[kernel]
            except ServerDied:
                # Its children died with it, which is no fault of theirs.
                waiting.extendleft(sorted((job for job, _ in busy.values()), reverse=True))
                busy.clear()
                self._restart()
        return [outcomes[job] for job in range(len(programs))]

    def _begin_build(self, program: Program, check: Check | None) -> Kernel:
        if check is not self._loaded:
            self._server.load(b"" if check is None else dump_check(check))
            self._loaded = check
        child = self._server.fork()
        kernel = Kernel(child, program, check, flush_cache_mb=self._settings.flush_cache_mb)
        kernel.begin_build(str(self.target), self._settings.build_timeout_s)
        return kernel

    def _built(self, kernel: Kernel, started_s: float) -> Built:
        try:
            kernel.receive()
        except (KernelError, KernelTimeout, KernelDied) as failure:
            ended = kernel.end()
            return Built(
                "build-timeout" if isinstance(failure, KernelTimeout) else "build-error",
                None,
                time.monotonic() - started_s,
                error=str(failure) or ended.cause,
                peak_memory_mb=ended.peak_memory_mb,
            )
        return Built("ok", kernel, time.monotonic() - started_s)

    def _run(
        self, kernel: Kernel, shapes: Shapes, measurement: Measurement, best_s: float | None
    ) -> Measured:
        """Measure a candidate; if the fork server has died, compile it again first."""
        while True:
            try:
                outcome = self._measured(kernel, shapes, measurement, best_s)
            except ServerDied:
                if kernel.child.server is self._server:
                    self._restart()
                [built] = self._build([kernel.program], kernel.check)
                if built.kernel is None:
                    return _not_run(built)
                kernel = built.kernel
            else:
                self._restarts_in_a_row = 0
                return outcome

    def _measured(
        self, kernel: Kernel, shapes: Shapes, measurement: Measurement, best_s: float | None
    ) -> Measured:
        def work() -> tuple[float, ...]:
            kernel.make_arguments(shapes)
            policy = ColdMeasurement() if self._settings.flush_cache_mb else measurement
            samples = policy.measure(kernel, best_s)
            if not samples or min(samples) <= 0.0:
                raise ValueError(
                    f"bad measurement policy {policy!r}: expected samples above 0 s, got {samples}"
                )
            wins = best_s is None or statistics.median(samples) < best_s
            if wins or self._settings.check == "all":
                kernel.verify()
            return samples

        outcome = self._attempt(kernel, work)
        if outcome.status != "ok":
            return outcome
        return replace(outcome, peak_memory_mb=kernel.end().peak_memory_mb)

    def _take_turns(
        self, built: Sequence[Built], all_shapes: Sequence[Shapes], samples: int
    ) -> list[Measured]:
        outcomes = [Measured("ok") if each.kernel else _not_run(each) for each in built]
        final = ColdMeasurement(samples=1) if self._settings.flush_cache_mb else FixedMeasurement()
        shapes = {each.kernel: of_each for each, of_each in zip(built, all_shapes, strict=True)}

        def attempt(arm: int, work: Callable[[Kernel], tuple[float, ...]]) -> None:
            kernel, so_far = built[arm].kernel, outcomes[arm]
            if kernel is None or so_far.status != "ok":
                return
            outcome = self._attempt(kernel, lambda: work(kernel))
            if outcome.status == "ok":
                outcome = replace(outcome, latencies_s=so_far.latencies_s + outcome.latencies_s)
            outcomes[arm] = outcome

        def first(kernel: Kernel) -> tuple[float, ...]:
            kernel.make_arguments(shapes[kernel])
            final.measure(kernel, None)  # finds a sleeping core
            return ()

        def sample(kernel: Kernel) -> tuple[float, ...]:
            time.sleep(SETTLE_S)
            return final.measure(kernel, None)

        def last(kernel: Kernel) -> tuple[float, ...]:
            kernel.verify()
            return ()

        for work in (first, *[sample] * samples, last):
            for arm in range(len(built)):
                attempt(arm, work)
        for each, outcome in zip(built, outcomes, strict=True):
            if each.kernel is not None and outcome.status == "ok":
                each.kernel.end()
        return outcomes

    def _attempt(self, kernel: Kernel, work: Callable[[], tuple[float, ...]]) -> Measured:
        """Do something with a kernel; if that fails, its process has ended."""
        kernel.allow(self._settings.run_timeout_s)
        try:
            return Measured("ok", work())
        except (KernelError, KernelTimeout, KernelDied, WrongOutput) as failure:
            ended = kernel.end()
            return Measured(
                _RUN_STATUS.get(type(failure), "run-error"),
                error=str(failure) or ended.cause,
                peak_memory_mb=ended.peak_memory_mb,
            )

    def _restart(self) -> None:
        self.restarts += 1
        self._restarts_in_a_row += 1
        self._server.close()
        if self._restarts_in_a_row > _MOST_RESTARTS_IN_A_ROW:
            raise WorkerError(
                f"the fork server died {self._restarts_in_a_row} times in a row: is something "
                "killing it, or is the machine out of memory?"
            )
        self._server = self._new_server()
        self._loaded = None

    def _new_server(self) -> ForkServer:
        server = ForkServer(
            threads=self._threads,
            memory_limit_mb=self._settings.memory_limit_mb,
            cores=self._settings.cores,
        )
        try:
            server.wait_until_warm()
        except BaseException:
            server.close()
            raise
        return server


def _not_run(built: Built) -> Measured:
    """The outcome of a candidate that failed to compile."""
    return Measured(
        built.status,
        error=built.error,
        build_s=built.build_s,
        peak_memory_mb=built.peak_memory_mb,
    )


def _ready(busy: Sequence[Kernel]) -> list[Kernel]:
    """Wait until some kernels have a reply, or have none in time; these kernels."""
    patience_s = min(kernel.patience_s for kernel in busy)
    replied = wait([kernel.child.channel.fileno() for kernel in busy], patience_s)
    return [k for k in busy if k.child.channel.fileno() in replied or not k.patience_s]
