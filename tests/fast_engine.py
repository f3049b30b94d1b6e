"""An engine without processes or pauses, for tests of what is built on engines.

Programs are compiled and called for real, in this process; latencies are made up, equal for equal
programs, so that whatever depends on them can be repeated. A kernel that crashes or hangs takes
the tests with it. Where nothing depends on what programs compute they need not be compiled, which
takes most of the time of a short search.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from pytest_ansorbench.measure.engine import EngineError, UntunedError
from pytest_ansorbench.measure.local.compiled import Compiled, CompiledKernel, CompiledNetwork
from pytest_ansorbench.measure.outcomes import AfterSet, Built, Computed, Measured
from pytest_ansorbench.measure.policy import ComparingMeasurement, Measurement
from pytest_ansorbench.measure.program import Foreign, Program
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.measure.verification import fault
from pytest_ansorbench.records import MachineState, Remeasurement
from pytest_ansorbench.workloads.case import Check

KINDS = {"kernel": CompiledKernel, "network": CompiledNetwork}


class FastEngine:
    """Satisfies `Engine`.

    Attributes:
        target: TVM target.
        machine: What it says of its machine.
        restarts: What it says of its restarts.
        started: Whether it is started.
        fails_at: The build, counted from 1, in which it breaks; None for never.
        compiles: Whether it compiles programs; if not, all of them are right.
    """

    capacity = 8

    def __init__(
        self,
        target: Any,
        *,
        cpu: str = "made up",
        fails_at: int | None = None,
        compiles: bool = True,
    ) -> None:
        self.target = target
        self.machine: Mapping[str, Any] = {"cpu": cpu, "target": str(target)}
        self.restarts = 0
        self.started = False
        self.fails_at = fails_at
        self.compiles = compiles
        self._builds = itertools.count(1)

    def __enter__(self) -> FastEngine:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self) -> None:
        self.started = True

    def close(self) -> None:
        self.started = False

    def observe(self) -> MachineState:
        return MachineState(0.0, 0.0, None, None)

    def build(
        self, programs: Sequence[Program], check: Check | None, limit_s: float | None = None
    ) -> list[Built]:
        if not self.started:
            raise EngineError("not started")
        if next(self._builds) == self.fails_at:
            raise EngineError("planted")
        return [self._built(program, check) for program in programs]

    def run(
        self,
        built: Built,
        measurement: Measurement,
        *,
        best_s: float | None = None,
        incumbent: Built | None = None,
    ) -> Measured:
        if built.handle is None:
            return Measured.not_run(built)
        kernel: InProcess = built.handle
        compares = isinstance(measurement, ComparingMeasurement)
        if compares and incumbent is not None and best_s is not None:
            samples = measurement.compare(kernel, incumbent.handle, best_s)
        else:
            samples = measurement.measure(kernel, best_s)
        measured = Measured("ok", samples, build_s=built.build_s, run_s=sum(samples))
        if best_s is None or median(samples) < best_s:
            if wrong := kernel.wrong():
                return replace(measured, status="wrong-result", latencies_s=(), error=wrong)
            return replace(measured, kept=built if compares else None)
        return measured

    def discard(self, built: Built) -> None:
        """Nothing is held."""

    def measure_side_by_side(
        self, programs: Sequence[Program], check: Check | None, effort: SideBySide
    ) -> list[Remeasurement]:
        outcomes: Sequence[Remeasurement] = ()
        for after in self.measure_sets(programs, check, effort):
            outcomes = after.outcomes
        return [*outcomes]

    def measure_sets(
        self,
        programs: Sequence[Program],
        check: Check | None,
        effort: SideBySide,
        before: AfterSet | None = None,
    ) -> Iterator[AfterSet]:
        # Its latencies do not vary: the least is enough, unless the most is asked for.
        sets, turns = (
            span.least if effort.precision else span.most for span in (effort.sets, effort.turns)
        )
        outcomes = [*before.outcomes] if before else [None for _ in programs]
        number = max((one.sets[-1] + 1 for one in outcomes if one and one.sets), default=0)
        built = self.build(programs, check)
        while number < sets and any(one is None or one.status == "ok" for one in outcomes):
            orders = [
                (turn, effort.order(turn, len(programs)))
                for turn in range(number * turns, (number + 1) * turns)
            ]
            for index, so_far in enumerate(outcomes):
                places = [turn * len(programs) + order.index(index) for turn, order in orders]
                outcomes[index] = _with_set(so_far, built[index], number, places)
            number += 1
            yield AfterSet([*outcomes], 0.001 * number)

    def outputs(self, program: Program, check: Check) -> Computed:
        built = self._compiled(program, check)
        if built.handle is None:
            raise UntunedError(f"{built.status}: {built.error}")
        called = built.handle.called()
        given = tuple(output.copy() for output in called.outputs())
        call_s = built.handle.first_call()
        if check.fresh is None:
            return Computed(given, (), call_s)
        called.call_on(check.fresh)
        return Computed(given, tuple(called.outputs()), call_s)

    def _built(self, program: Program, check: Check | None) -> Built:
        if self.compiles and not isinstance(program, Foreign):
            return self._compiled(program, check)
        started_s = time.monotonic()
        kernel = InProcess(None, program, None)
        return Built("ok", time.monotonic() - started_s, handle=kernel)

    def _compiled(self, program: Program, check: Check | None) -> Built:
        started_s = time.monotonic()
        try:
            compiled = _compiled(_Key(program, self.target))
        except Exception as error:
            return Built("build-error", time.monotonic() - started_s, str(error) or "no reason")
        kernel = InProcess(compiled, program, check)
        return Built("ok", time.monotonic() - started_s, handle=kernel)


def _with_set(
    so_far: Remeasurement | None, built: Built, number: int, places: Sequence[int]
) -> Remeasurement:
    """A program after another set, with a slice at each of some places; if it failed, it is out."""
    if so_far is not None and so_far.status != "ok":
        return so_far
    if built.handle is None:
        return Remeasurement(None, built.status, (), built.error)
    if wrong := built.handle.wrong():
        return Remeasurement(None, "wrong-result", (), wrong)
    latencies_s, sets = built.handle.time(1, len(places)), (number,) * len(places)
    if so_far is None:
        return Remeasurement(None, "ok", latencies_s, "", sets, tuple(places))
    return replace(
        so_far,
        latencies_s=(*so_far.latencies_s, *latencies_s),
        sets=(*so_far.sets, *sets),
        places=(*so_far.places, *places),
    )


@dataclass(frozen=True, eq=False)
class _Key:
    """A program for a target; equal to others that are the same but for their identity."""

    program: Program
    target: Any

    def __hash__(self) -> int:
        from tvm_ffi import structural_hash

        return hash((self.program.kind, str(self.target), structural_hash(self.program.mod)))

    def __eq__(self, other: object) -> bool:
        from tvm_ffi import structural_equal

        return (
            isinstance(other, _Key)
            and (self.program.kind, str(self.target)) == (other.program.kind, str(other.target))
            and structural_equal(self.program.mod, other.program.mod)
        )


@functools.lru_cache(maxsize=256)
def _compiled(key: _Key) -> Compiled:
    """Compilation takes most of the time of many tests, and their programs are few."""
    return KINDS[key.program.kind](key.program.mod, _unoptimized(str(key.target)))


@functools.cache
def _unoptimized(target: str) -> Any:
    """The same target for kernels that run once: optimizing them would take longer."""
    from tvm.target import Target

    return Target({**Target(target).export(), "opt-level": 0})


class InProcess:
    """A `Stopwatch` that shows what its program's hash says."""

    def __init__(self, compiled: Compiled | None, program: Program, check: Check | None) -> None:
        from tvm_ffi import structural_hash

        self._compiled = compiled
        self._program = program
        self._check = check
        # Other libraries are nothing here: all are as fast.
        seed = 0 if isinstance(program, Foreign) else structural_hash(program.mod) % 2**63
        rng = np.random.default_rng(seed)
        self._latency_s = float(rng.uniform(1e-4, 1e-3))

    def first_call(self) -> float:
        return self._latency_s

    def time(self, calls: int, samples: int = 1) -> tuple[float, ...]:
        return (self._latency_s,) * samples

    def called(self) -> Compiled:
        assert self._compiled is not None
        self._compiled.take(self._program.shapes, self._check)
        self._compiled.call()
        return self._compiled

    def wrong(self) -> str:
        return "" if self._check is None else fault(self.called(), self._check)
