"""The shape of what is tuned: a case is a list of tasks, a task is one tensor program."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeGuard, runtime_checkable

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import IRModule

    from pytest_ansorbench.workloads.inputs import GivenInputs, Input, Ways


@dataclass(frozen=True)
class Output:
    """One output as it should be.

    Attributes:
        expected: The reference, in the output's data type or a wider one.
        rtol: Allowed relative error.
        atol: Allowed absolute error.
        few: Share of the elements that may be further off, by a few steps of 8 bits.
    """

    expected: NDArray[Any]
    rtol: float
    atol: float
    few: float = 0.0


@dataclass(frozen=True)
class Check:
    """Inputs and the outputs they must give: what tells a fast kernel from a wrong one.

    Attributes:
        inputs: One array per input of the kernel, in order of its arguments.
        expected: The reference output, or a tuple of several, in order; none are known if it is
            empty.
        rtol: Allowed relative error, or that of each output.
        atol: Allowed absolute error, or that of each output.
        fresh: Other inputs with their outputs, which no kernel is timed on: each would-be winner
            is called with them once, so that it cannot do with an answer that it has seen.
        drawn: Where the inputs come from, e.g. `[-1, 1)`; empty if nobody said.
        few: See `Output.few`.
    """

    inputs: tuple[NDArray[Any], ...]
    expected: NDArray[Any] | tuple[NDArray[Any], ...]
    rtol: float | tuple[float, ...] = 0.0
    atol: float | tuple[float, ...] = 0.0
    fresh: Check | None = None
    drawn: str = ""
    few: float = 0.0

    @property
    def outputs(self) -> tuple[Output, ...]:
        """Each output with its tolerance.

        Raises:
            ValueError: There are not as many tolerances as outputs.
        """
        expected = self.expected if isinstance(self.expected, tuple) else (self.expected,)
        tolerances = [
            of_each if isinstance(of_each, tuple) else (of_each,) * len(expected)
            for of_each in (self.rtol, self.atol)
        ]
        return tuple(
            Output(array, rtol, atol, self.few)
            for array, rtol, atol in zip(expected, *tolerances, strict=True)
        )


PREFETCH: Final = "ansor_bench.prefetch"
"""Annotation of a block, of any value: what it reads last, an argument of its function, comes from
memory, and is fetched ahead where the schedule has a place for that."""


@dataclass(frozen=True)
class Surroundings:
    """What the network around a task does to the caches between two of the task's calls.

    Attributes:
        given: Which of the task's arguments the network itself is given, by index, weights above
            all: they were last read an inference ago, while the other inputs have just been
            written.
        touched_bytes: Bytes of memory that an inference reads or writes, about.
    """

    given: tuple[int, ...]
    touched_bytes: int


@dataclass(frozen=True)
class Task:
    """One tensor program to tune.

    Attributes:
        name: Name within the case.
        mod: The program, an unscheduled TensorIR module with one function `main`, whose
            arguments are the inputs followed by the output.
        flops: Floating-point operations of one call, at least 1.
        weight: How often the case calls it.
        check: Inputs and expected outputs, or None if no reference is known.
        inputs: What its untuned program, the reference where no other is known, is called with;
            drawn by default.
        outputs: How many of its last arguments are outputs, where it calls foreign code, which does
            not tell.
        surroundings: The network around it, for engines that measure a call as it is there; None
            for an operator, or if that is not known.
    """

    name: str
    mod: IRModule
    flops: int
    weight: int = 1
    check: Check | None = None
    inputs: GivenInputs | None = None
    outputs: int | None = None
    surroundings: Surroundings | None = None


@runtime_checkable
class Case(Protocol):
    """What one test tunes. Anything with an id, a FLOP count and tasks is a case."""

    @property
    def id(self) -> str:
        """Stable identifier, e.g. `matmul-b1-m512-n512-k512`; equal ids, equal programs."""

    @property
    def flops(self) -> int:
        """Floating-point operations of one execution."""

    def tasks(self) -> tuple[Task, ...]:
        """The tensor programs to tune. Imports TVM."""


@runtime_checkable
class NetworkCase(Case, Protocol):
    """A case of several tasks that make up one program, which is judged end to end."""

    def program(self) -> IRModule:
        """The whole program. Imports TVM.

        Returns:
            A Relax module with a function `main`, whose operators are legalized and fused into
            TensorIR functions; each of `tasks()` is one of these.
        """

    def arguments(self) -> tuple[NDArray[Any], ...]:
        """Arguments of `main`: its inputs, then its weights."""


@runtime_checkable
class DrawnNetwork(NetworkCase, Protocol):
    """A network that is given inputs on which its outputs say something.

    Any other `NetworkCase` is given its `arguments()` as they are.
    """

    def weights(self) -> tuple[NDArray[Any], ...]:
        """The last arguments of `main`, which are no inputs."""

    def draws(self, inputs: Sequence[Input]) -> Ways:
        """Ways to come by the inputs, in the order in which they are tried."""


@runtime_checkable
class RewrittenNetwork(DrawnNetwork, Protocol):
    """A network whose program may be another than its model says, and has to compute the same."""

    @property
    def original(self) -> DrawnNetwork | None:
        """The network as its model says; None if that is what it is."""


def is_case(value: Any) -> TypeGuard[Case]:
    """Whether a value has the attributes of a case.

    Before Python 3.12 `isinstance` would read them, and reading a model's FLOP count opens its
    file.
    """
    if isinstance(value, type):  # a class of cases is none itself
        return False
    return all(_has(value, name) for name in ("id", "flops", "tasks"))


def _has(value: Any, name: str) -> bool:
    try:
        inspect.getattr_static(value, name)
    except AttributeError:
        return False
    return True


def case_version(case: Case, tasks: Sequence[Task]) -> str:
    """Tell versions of a case apart: what was measured on another program is no baseline.

    The version covers each task's program, as TVM hashes its structure, with weight and FLOP
    count. A case may say otherwise: if it has a `version`, that counts instead, e.g. where a new
    TVM lowers the same expression to another program.
    """
    from tvm_ffi import structural_hash

    said = getattr(case, "version", None)
    if said is not None:
        return str(said)
    parts = [[structural_hash(task.mod), task.weight, task.flops] for task in tasks]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]
