"""The one way in which saved kernels are made again, for the command and for `--ansor-kernels`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.environment import MisfitError
from pytest_ansorbench.measure.engine import Engine, EngineError, UntunedError
from pytest_ansorbench.measure.local.toolchains import local_toolchains
from pytest_ansorbench.measure.noise_probe import observe_noise
from pytest_ansorbench.measure.program import KernelJob, SavedKernel
from pytest_ansorbench.measure.settings import Caches, EngineSettings
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.measure.toolchain import Toolchain
from pytest_ansorbench.measure.untuned import task_check
from pytest_ansorbench.packed import PackedError
from pytest_ansorbench.records import NoiseTrace, Remeasurement, Result
from pytest_ansorbench.records.rebuilt_kernels import (
    RECORDED,
    KernelSide,
    RebuiltKernel,
    RebuiltKernels,
)
from pytest_ansorbench.storage import machine_difference
from pytest_ansorbench.travel import definition, project_paths
from pytest_ansorbench.winners import Winner, fastest_by
from pytest_ansorbench.workloads import BadProgram
from pytest_ansorbench.workloads.case import Case, Check, Task

if TYPE_CHECKING:
    from tvm import IRModule


class NoReferenceError(ValueError):
    """Recorded latencies are no reference for today's; the message says how they were measured."""


class TargetsError(ValueError):
    """Kernels were made for several targets; the message names them."""


class Rebuilding:
    """Makes kernels of results again, some at a time, with toolchains that stay open.

    A single toolchain is compared with recorded latencies. Then the machine's noise is looked at
    before the first kernel and after the last, as it was when the result was measured.
    """

    def __init__(
        self,
        results: Sequence[Result],
        winners: Sequence[Winner],
        toolchains: Sequence[Toolchain],
        *,
        target: str | None = None,
        settings: EngineSettings | None = None,
        noise_check_s: float = 2.0,
        root: Path = Path(),
    ) -> None:
        """Check what there is; nothing is started.

        Cases that another interpreter has to make are defined in the project at `root`. Without
        `settings` they are `as_recorded`; cores only where recorded latencies are the reference.

        Raises:
            NoReferenceError: The winners' latencies were recorded on another machine, on other
                cores or with other caches.
            TargetsError: No `target` is given, and the winners were made for several.
            ToolchainError: Something is missing or does not fit.
        """
        machines = {name: one for result in results for name, one in result.machines.items()}
        targets = dict.fromkeys(str(machines[one.machine].get("target")) for one in winners)
        if target is None and len(targets) > 1:
            raise TargetsError(f"kernels were made for different targets, {' and '.join(targets)}")
        target = target or next(iter(targets))
        self._root = root
        self._recorded = len(toolchains) == 1
        own = settings or as_recorded(results, winners)
        if settings is None and not self._recorded:
            own = replace(own, cores=None)  # this may be another machine
        if self._recorded and (difference := other_cores(results, own.cores)):
            raise NoReferenceError(f"were measured on other cores ({difference})")
        try:
            self._toolchains = local_toolchains(target, own, toolchains)
        except MisfitError as error:
            if settings is not None or error.setting != "cores":
                raise
            raise NoReferenceError(
                f"were measured on other cores ({error.value}: {error.problem})"
            ) from None
        self._noise_check_s = noise_check_s if self._recorded else 0.0
        if self._recorded:
            if difference := another_machine(results, winners, self._toolchains.own.machine):
                raise NoReferenceError(f"were measured on another machine ({difference})")
            if difference := other_caches(winners, own.found_caches):
                raise NoReferenceError(f"were measured with other caches ({difference})")
        self.rebuilt = RebuiltKernels(
            created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            toolchains={},
            kernels=(),
            noise_then=noise_then(results, winners) if self._recorded else (),
        )

    def start(self) -> None:
        """Start all toolchains.

        Raises:
            EngineError: One of them does not start.
        """
        self._toolchains.start()
        self.rebuilt = replace(self.rebuilt, toolchains=dict(self._toolchains.machines))
        self._look()

    def make(
        self,
        rows: Sequence[Sequence[Winner]],
        effort: SideBySide,
        case_of: Callable[[Winner], Case | None],
        note: Callable[[str], None] = lambda text: None,
    ) -> tuple[RebuiltKernel, ...]:
        """Make some kernels, each row by all toolchains; what an interrupt leaves is kept too.

        A schedule that no longer applies, a kernel that does not compile, crashes, hangs or is
        wrong costs itself alone.

        Args:
            rows: Of each task a winner for each toolchain.
            effort: How long, and how surely, kernels are measured.
            case_of: The case of a winner; its tasks say what is right, as long as their programs
                are those of the result. Without one, the unscheduled program does. A TVM that
                cannot read the result's program has it make its own.
            note: Is told how far it is.

        Raises:
            EngineError: An engine cannot go on.
        """
        cases = {one.case: case_of(one) for one, *_ in rows}

        @cache
        def tasks_of(name: str) -> tuple[Task, ...]:
            case = cases[name]
            return () if case is None else case.tasks()

        definitions = {
            name: None if case is None else definition(case, self._root)
            for name, case in cases.items()
        }
        paths = project_paths(self._root)
        jobs = [
            KernelJob(
                tuple(
                    SavedKernel(one.program, one.schedule, definitions[one.case], paths, one.place)
                    for one in row
                ),
                _check(row[0], self._toolchains.own, tasks_of),
            )
            for row in rows
        ]
        made: dict[int, RebuiltKernel] = {}
        try:
            for place, sides in self._toolchains.rebuild(jobs, effort, note):
                made[place] = self._kernel(rows[place][0], sides)
        finally:
            kernels = tuple(made[place] for place in sorted(made))
            self.rebuilt = replace(self.rebuilt, kernels=(*self.rebuilt.kernels, *kernels))
        return kernels

    def finish(self) -> None:
        """Look at the machine's noise a last time; kernels are not lost if that fails or is cut."""
        with suppress(EngineError, KeyboardInterrupt):
            self._look()
        self._noise_check_s = 0.0

    def close(self) -> None:
        """End all processes."""
        self._toolchains.close()

    def _kernel(self, winner: Winner, sides: Sequence[KernelSide]) -> RebuiltKernel:
        return RebuiltKernel(
            case=winner.case,
            task=winner.task.name,
            place=winner.place,
            tasks=winner.tasks,
            strategy=winner.strategy,
            seed=winner.seed,
            flops=winner.task.flops,
            sides=(*([recorded_side(winner)] if self._recorded else []), *sides),
        )

    def _look(self) -> None:
        if self._noise_check_s:
            seen = observe_noise(self._toolchains.own, self._noise_check_s)
            if seen is not None:
                self.rebuilt = replace(self.rebuilt, noise_now=(*self.rebuilt.noise_now, seen))


def another_machine(
    results: Sequence[Result], winners: Iterable[Winner], machine: Mapping[str, Any]
) -> str:
    """In what the winners' machines differ from this one, e.g. `cpu: A is now B`; empty if none."""
    machines = {name: one for result in results for name, one in result.machines.items()}
    for fingerprint in dict.fromkeys(winner.machine for winner in winners):
        if difference := machine_difference(machines[fingerprint], machine):
            return difference
    return ""


def other_caches(winners: Iterable[Winner], now: Caches) -> str:
    """How the winners found the caches, if not as kernels do now, e.g. `cold is now warm`."""
    for winner in winners:
        if winner.caches != now:
            return f"{winner.caches} is now {now}"
    return ""


def other_cores(results: Iterable[Result], now: Sequence[int] | None) -> str:
    """On which cores a result was measured, if not on today's, e.g. `1 is now any`."""
    for result in results:
        then = result.settings.get("cores")
        if (then and list(then)) != (now and list(now)):
            was, is_now = (",".join(map(str, one)) if one else "any" for one in (then, now))
            return f"{was} is now {is_now}"
    return ""


def as_recorded(results: Sequence[Result], winners: Iterable[Winner]) -> EngineSettings:
    """The first result's cores, the widest limits of any, and caches as winners found them.

    They are cold if all winners found them cold, after a copy of as many megabytes; else warm.
    """
    settings = EngineSettings(
        cores=tuple(results[0].settings.get("cores") or ()) or None,
        **{
            name: max(one.settings.get(name) or getattr(EngineSettings, name) for one in results)
            for name in ("build_timeout_s", "run_timeout_s", "memory_limit_mb")
        },
    )
    if any(winner.caches != "cold" for winner in winners):
        return settings
    flush_mb = max(result.settings.get("flush_cache_mb") or 0 for result in results)
    return replace(settings, caches="cold", flush_cache_mb=flush_mb)


def noise_then(results: Sequence[Result], winners: Iterable[Winner]) -> tuple[NoiseTrace, ...]:
    """How fast a fixed kernel was on the machines that winners were measured on."""
    machines = {winner.machine for winner in winners}
    return tuple(
        seen.trace for result in results for seen in result.noise if seen.machine in machines
    )


def recorded_side(winner: Winner) -> KernelSide:
    """What a result recorded of a kernel."""
    if winner.measured is None or not winner.measured.sets:
        return KernelSide(
            RECORDED, Remeasurement(None, "run-error", (), "not measured again at the time")
        )
    return KernelSide(RECORDED, winner.measured)


def _check(
    winner: Winner, engine: Engine, tasks_of: Callable[[str], Sequence[Task]]
) -> Check | None:
    """What a kernel has to compute; None if nobody knows."""
    try:
        program = winner.unscheduled()
    except PackedError:
        return None  # this toolchain's own failure to read it is told when it is built
    task = _task(tasks_of(winner.case), winner, program)
    if task.check is not None:
        return task.check
    try:
        return task_check(engine, task)
    except (UntunedError, BadProgram):
        return None


def _task(tasks: Sequence[Task], winner: Winner, program: IRModule) -> Task:
    """The task of a case, if its program is still the one that was tuned; else a bare one."""
    from tvm_ffi import structural_equal

    if winner.place < len(tasks) and structural_equal(tasks[winner.place].mod, program):
        return tasks[winner.place]
    return Task(winner.task.name, program, winner.task.flops)


def fastest(winners: Iterable[Winner]) -> list[Winner]:
    """The fastest schedule of each task, in order of the tasks' appearance."""
    return [*fastest_by(winners, lambda one: (one.case, one.place)).values()]


def fastest_of_arms(winners: Sequence[Winner], arms: Sequence[str]) -> list[tuple[Winner, ...]]:
    """Of each task that all of some arms have tuned, each arm's fastest schedule.

    Programs have to be equal: an arm that tuned another version of a task has not tuned it.
    """
    of_arm = [
        {(one.case, one.place): one for one in fastest(w for w in winners if w.strategy == arm)}
        for arm in arms
    ]
    rows = []
    for task in of_arm[0]:
        row = tuple(known[task] for known in of_arm if task in known)
        if len(row) == len(arms) and len({one.program for one in row}) == 1:
            rows.append(row)
    return rows
