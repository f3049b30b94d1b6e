"""Makes saved kernels again and measures them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from pytest_ansorbench.measure.engine import Engine, UntunedError
from pytest_ansorbench.measure.outcomes import Rebuilt
from pytest_ansorbench.measure.program import KernelJob, SavedKernel
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.measure.untuned import task_check
from pytest_ansorbench.packed import PackedError
from pytest_ansorbench.records import Remeasurement
from pytest_ansorbench.records.rebuilt_kernels import RECORDED, KernelSide, RebuiltKernel
from pytest_ansorbench.winners import Winner
from pytest_ansorbench.workloads.case import Case, Check, Task

if TYPE_CHECKING:
    from tvm import IRModule


class Toolchains(Protocol):
    """Builds a kernel with each of several toolchains and measures them in turn."""

    @property
    def own(self) -> Engine:
        """The engine of this interpreter's toolchain."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the toolchains, the reference first."""
        ...

    @property
    def machines(self) -> Mapping[str, Mapping[str, Any]]:
        """By name, what each toolchain is."""
        ...

    def rebuild(
        self, jobs: Sequence[KernelJob], effort: SideBySide, note: Callable[[str], None]
    ) -> Iterator[tuple[int, tuple[Rebuilt, ...]]]:
        """Places of jobs as they are done, each with one outcome a toolchain.

        Raises:
            EngineError: An engine cannot go on.
        """
        ...


def compare_kernels(
    winners: Sequence[Sequence[Winner]],
    toolchains: Toolchains,
    effort: SideBySide,
    *,
    recorded: bool,
    case_of: Callable[[str], Case | None],
    note: Callable[[str], None] = lambda text: None,
) -> Iterator[tuple[int, RebuiltKernel]]:
    """Places among the winners, and kernels, as they are made.

    A schedule that no longer applies, a kernel that does not compile, crashes, hangs or is wrong
    costs itself alone.

    Args:
        winners: Of each task one for each toolchain.
        toolchains: What to make kernels with.
        effort: How long, and how surely, kernels are measured.
        recorded: Whether the latencies that the result recorded are the reference.
        case_of: The case of an id; its tasks say what is right, as long as their programs are
            those of the result. Without one, the unscheduled program does.
        note: Is told how far it is.

    Raises:
        EngineError: An engine cannot go on.
    """

    @cache
    def tasks_of(name: str) -> tuple[Task, ...]:
        case = case_of(name)
        return () if case is None else case.tasks()

    jobs = [
        KernelJob(
            tuple(SavedKernel(one.program, one.schedule, one.case, one.place) for one in of_task),
            _check(of_task[0], toolchains.own, tasks_of),
        )
        for of_task in winners
    ]
    for place, rebuilt in toolchains.rebuild(jobs, effort, note):
        winner = winners[place][0]
        sides = [
            KernelSide(name, one.measured.remeasured(None), one.build_s, one.code_bytes)
            for name, one in zip(toolchains.names, rebuilt, strict=True)
        ]
        kernel = RebuiltKernel(
            case=winner.case,
            task=winner.task.name,
            place=winner.place,
            tasks=winner.tasks,
            strategy=winner.strategy,
            seed=winner.seed,
            flops=winner.task.flops,
            sides=(*([recorded_side(winner)] if recorded else []), *sides),
        )
        yield place, kernel


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
    except UntunedError:
        return None


def _task(tasks: Sequence[Task], winner: Winner, program: IRModule) -> Task:
    """The task of a case, if its program is still the one that was tuned; else a bare one."""
    from tvm_ffi import structural_equal

    if winner.place < len(tasks) and structural_equal(tasks[winner.place].mod, program):
        return tasks[winner.place]
    return Task(winner.task.name, program, winner.task.flops)
