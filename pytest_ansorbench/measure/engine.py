"""Everything that turns candidates into latencies, for one session on this machine."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final

import psutil

from pytest_ansorbench.measure.builder import BuilderPool
from pytest_ansorbench.measure.check import save_check
from pytest_ansorbench.measure.outcomes import Built, Measured
from pytest_ansorbench.measure.policy import FixedMeasurement
from pytest_ansorbench.measure.runner import LocalRunner

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo
    from tvm.target import Target

    from pytest_ansorbench.workloads.case import Check


#: After a kernel, TVM's pool of threads busy-waits for the next one: 300,000 turns, 0.15 s of
#: CPU here. A kernel that another process starts meanwhile measured twice its latency.
SETTLE_S: Final = 0.3


_PREFIX: Final = "ansor-bench-"


class Engine:
    """Warm build and run workers with a folder for their files; a context manager.

    Leaving it kills the workers and removes the folder, whatever happened inside. All arms of
    an experiment share one engine, so that none is measured by other means than the others.

    Attributes:
        target: What candidates are compiled for.
    """

    def __init__(
        self, target: Target, *, build_workers: int, build_timeout_s: float, run_timeout_s: float
    ) -> None:
        """Start the workers and wait until they are warm.

        Args:
            target: What to compile for; its `num-cores` is the number of kernel threads.
            build_workers: Processes that compile.
            build_timeout_s: Seconds a candidate may take to compile.
            run_timeout_s: Seconds a candidate may take to be measured.

        Raises:
            WorkerError: A worker did not start; the message holds the cause.
        """
        self.target = target
        self._threads = int(target.attrs["num-cores"])
        self._run_timeout_s = run_timeout_s
        _remove_leftovers()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        self._checks: dict[int, tuple[Check, Path]] = {}
        self._builder: BuilderPool | None = None
        self._runner: LocalRunner | None = None
        try:
            self._builder = BuilderPool(
                target, self._folder, workers=build_workers, timeout_s=build_timeout_s
            )
            self._runner = self._start_runner("runner")
            self._builder.wait_until_warm()
            self._runner.wait_until_warm()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def build(self, mods: Sequence[IRModule]) -> list[Built]:
        """Compile candidates in parallel; one outcome per module, in order."""
        assert self._builder is not None
        return self._builder.build(mods)

    def run(
        self,
        built: Built,
        args_info: Sequence[ArgInfo],
        measurement: FixedMeasurement,
        check: Check | None,
    ) -> Measured:
        """Measure one built candidate, and remove its artifact.

        Args:
            built: The candidate; if building failed, so did the trial.
            args_info: The kernel's arguments.
            measurement: How long to run it.
            check: Inputs and expected output, if known.

        Returns:
            The trial's outcome.
        """
        if built.artifact is None:
            return Measured(built.status, error=built.error)
        assert self._runner is not None
        try:
            return self._runner.run(built.artifact, args_info, measurement, self._saved(check))
        finally:
            built.artifact.unlink(missing_ok=True)

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
        samples all processes come to rest.

        Args:
            winners: Scheduled module and arguments per arm; None for an arm without a winner.
            check: Inputs and expected output, if known.
            samples: Samples a kernel; each is a `FixedMeasurement` of its own.

        Returns:
            One outcome per winner, in order; None where there was no winner.
        """
        present = [winner for winner in winners if winner is not None]
        built = self.build([mod for mod, _ in present])
        outcomes = [Measured(each.status, error=each.error) for each in built]
        runners: list[LocalRunner] = []
        try:
            for arm in range(len(present)):
                runners.append(self._start_runner(f"fresh-{arm}"))
            for runner in runners:
                runner.wait_until_warm()
            for turn in range(samples + 1):
                for arm, (_, args_info) in enumerate(present):
                    artifact, so_far = built[arm].artifact, outcomes[arm]
                    if artifact is None or so_far.status != "ok":
                        continue
                    time.sleep(SETTLE_S)
                    sample = runners[arm].run(
                        artifact, args_info, FixedMeasurement(), self._saved(check)
                    )
                    if sample.status != "ok":
                        outcomes[arm] = sample
                    elif turn > 0:  # the first finds cold caches and a sleeping core
                        outcomes[arm] = Measured("ok", so_far.latencies_s + sample.latencies_s)
        finally:
            for runner in runners:
                runner.close()
            for each in built:
                if each.artifact is not None:
                    each.artifact.unlink(missing_ok=True)
        in_order = iter(outcomes)
        return [None if winner is None else next(in_order) for winner in winners]

    def refresh(self) -> None:
        """Replace workers that have served long enough. To be called outside the clock."""
        assert self._builder is not None
        assert self._runner is not None
        self._builder.refresh()
        self._runner.refresh()

    def close(self) -> None:
        """Kill the workers and remove the folder."""
        if self._builder is not None:
            self._builder.close()
        if self._runner is not None:
            self._runner.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start_runner(self, name: str) -> LocalRunner:
        return LocalRunner(
            self._folder, name=name, threads=self._threads, timeout_s=self._run_timeout_s
        )

    def _saved(self, check: Check | None) -> Path | None:
        if check is None:
            return None
        if id(check) not in self._checks:
            path = self._folder / f"check-{len(self._checks)}.npz"
            save_check(check, path)
            # Kept with the check itself, so that its id stays its own.
            self._checks[id(check)] = (check, path)
        return self._checks[id(check)][1]


def _remove_leftovers() -> None:
    """Remove folders of processes that were killed before they could do so themselves."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)
