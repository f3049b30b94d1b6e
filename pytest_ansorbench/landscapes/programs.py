"""Design spaces of tasks as TVM makes them, and programs of a landscape's points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.landscapes.records import Configuration, Landscape
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.packed import unpack_program
from pytest_ansorbench.search.sketches import SketchIndex, has_choices
from pytest_ansorbench.strategies import ProgramMaker, ScheduledProgram, TargetSpace
from pytest_ansorbench.strategies.decisions.space import Point
from pytest_ansorbench.strategies.decisions.traced import TracedDesign
from pytest_ansorbench.workloads.case import Task

if TYPE_CHECKING:
    from tvm.target import Target

_CONTEXT_SEED: Final = 1


class UnrecordableError(ValueError):
    """A case that has no landscape; the message says why."""


def design_of(task: Task, target: Target) -> tuple[TracedDesign, tuple[str, ...]]:
    """The design space of a task with fingerprints of its sketches.

    Raises:
        UnrecordableError: It leaves nothing to decide.
    """
    from tvm.s_tir.meta_schedule import TuneContext

    context = TuneContext(
        task.mod,
        target=target,
        space_generator=TargetSpace().start(target),
        task_name=task.name,
        rand_state=_CONTEXT_SEED,
    )
    sketches = context.generate_design_space()
    if not has_choices(sketches):
        raise UnrecordableError("it leaves nothing to decide")
    design = TracedDesign.of(sketches, ProgramMaker(context))
    return design, SketchIndex(sketches).fingerprints


def design_anew(landscape: Landscape) -> tuple[TracedDesign, tuple[str, ...]]:
    """The same of a landscape's task, for the target that it was recorded for.

    Raises:
        ToolchainError: This TVM does not know the target.
        PackedError: The task's program cannot be read.
        UnrecordableError: It leaves nothing to decide.
    """
    subject, task = landscape.subject, landscape.subject.task
    target = resolve_target(str(subject.machine.get("target", "")))
    register_intrinsics(target)
    mod = unpack_program(subject.program)
    return design_of(Task(task.name, mod, task.flops, task.weight), target)


def point_of(design: TracedDesign, configuration: Configuration) -> Point:
    """A landscape's point in the whole design space."""
    return design.point({"sketch": configuration.sketch, "decisions": configuration.decisions})


def program_of(design: TracedDesign, configuration: Configuration) -> ScheduledProgram | None:
    """The program of a landscape's point."""
    return design.program(point_of(design, configuration))


def program_hash(program: ScheduledProgram) -> str:
    """Of its structure, the same in any process with the same TVM."""
    return f"{program.fingerprint % (1 << 64):016x}"
