"""A builder for MetaSchedule's own functions whose processes outlast a batch.

TVM's `LocalBuilder` starts new processes for every batch, since they leak memory, and each of them
parses all of TVM's tensor intrinsics before its first program, which takes many seconds. A search
with large batches pays that a few times; one with small batches would do little else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.cores import usable_cores
from pytest_ansorbench.measure.intrinsics import register_intrinsics

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.s_tir.meta_schedule.builder import Builder, BuilderInput, BuilderResult
    from tvm.target import Target


def lasting_builder(
    *, workers: int | None = None, timeout_s: float = 30.0, programs: int = 256
) -> Builder:
    """The `builder` argument of `ms.tune_tir`, `ms.relax_integration.tune_relax` and their like.

    It compiles and exports as `LocalBuilder` does, but parses the intrinsics of the target alone.
    Its processes end with it.

    Args:
        workers: Processes, by default one for each core that this process may use.
        timeout_s: Seconds that a program may take to compile. A process's first program has to
            wait until TVM is imported there, within this time.
        programs: Programs that a process compiles before a new one takes its place, because of
            the memory that it leaks.

    Raises:
        ValueError: A number is below 1, or no number of seconds.
    """
    from tvm.ir.utils import derived_object
    from tvm.s_tir.meta_schedule.builder import BuilderResult as Result
    from tvm.s_tir.meta_schedule.builder import PyBuilder
    from tvm.s_tir.meta_schedule.builder.local_builder import PopenPoolExecutor, StatusKind

    count = usable_cores().count if workers is None else workers
    for name, value, example in (("workers", count, 2), ("programs", programs, 256)):
        if value < 1:
            raise ValueError(f"bad {name} {value}: expected at least 1, e.g. {example}")
    if not timeout_s > 0.0:
        raise ValueError(f"bad timeout_s {timeout_s}: expected seconds above 0, e.g. 30.0")

    @derived_object
    class LastingBuilder(PyBuilder):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self._pool = PopenPoolExecutor(count, timeout_s, maximum_process_uses=programs)

        def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
            outcomes = self._pool.map_with_error_catching(
                _built, [(one.mod, one.target) for one in build_inputs]
            )
            return [self._result(outcome) for outcome in outcomes]

        def _result(self, outcome: Any) -> BuilderResult:
            if outcome.status == StatusKind.COMPLETE:
                return Result(outcome.value, None)
            # Frames of the traceback refer to the pool and would keep its processes alive.
            error = outcome.value.with_traceback(None)
            if outcome.status == StatusKind.TIMEOUT:
                return Result(None, f"compiled for more than {timeout_s:g} s")
            return Result(None, str(error))

    return LastingBuilder()


def _built(program: tuple[IRModule, Target]) -> str:
    """Compile a program in a worker; the path of the artifact, which TVM removes."""
    from tvm.s_tir.meta_schedule.builder.local_builder import default_build, default_export

    mod, target = program
    register_intrinsics(target)  # before `default_build` imports all of them
    path: str = default_export(default_build(mod, target, None))
    return path
