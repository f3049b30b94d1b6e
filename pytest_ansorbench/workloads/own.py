"""A user's own operator in a few lines: a tensor expression or a TensorIR function, made a case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ansorbench.causes import first_line
from pytest_ansorbench.workloads.case import Check, Task
from pytest_ansorbench.workloads.checking import Arrays, Outputs, best_check
from pytest_ansorbench.workloads.dataflow import Rounding, flops_of, task_inputs
from pytest_ansorbench.workloads.inputs import GivenInputs, draws
from pytest_ansorbench.workloads.signature import (
    BadProgram,
    arguments_of,
    check_program,
    outputs_of,
)

if TYPE_CHECKING:
    from tvm import IRModule, te
    from tvm.tirx import PrimFunc

Reference = Callable[..., Any]
"""A function in NumPy: input arrays in, the output out, or a tuple or list of several."""


def from_te(
    name: str,
    function: Callable[[], Sequence[te.Tensor]],
    reference: Reference | None = None,
    *,
    inputs: GivenInputs | None = None,
) -> OwnOperator:
    """A tensor expression as a case.

    Args:
        name: Its id.
        function: Returns the tensors that `te.create_prim_func` takes: all inputs, then all
            outputs. It is called when the case runs, so that it alone needs to import TVM.
        reference: The same in NumPy. Without one, the untuned program says what is right.
        inputs: What it is called with, by the names of its arguments; see `from_onnx`.

    Raises:
        ValueError: The name is no text.
    """
    return OwnOperator(name, function, reference, inputs)


def from_tir(
    name: str,
    prim_func: PrimFunc | IRModule | Callable[[], PrimFunc | IRModule],
    reference: Reference | None = None,
    *,
    inputs: GivenInputs | None = None,
) -> OwnOperator:
    """A TensorIR function as a case.

    Args:
        name: Its id.
        prim_func: The function, a module with it as `main`, or a function that returns one of
            these, which is called when the case runs. Its last arguments are the outputs.
        reference: The same in NumPy. Without one, the untuned program says what is right.
        inputs: What it is called with, by the names of its arguments; see `from_onnx`.

    Raises:
        ValueError: The name is no text.
    """
    return OwnOperator(name, prim_func, reference, inputs)


@dataclass(frozen=True)
class OwnOperator:
    """What `from_te` and `from_tir` make: a `Case` with a single task of weight one.

    Attributes:
        id: Stable identifier.
        source: The program, or a function that returns it or its tensors.
        reference: What it computes, in NumPy; None if nobody says.
        inputs: What it is called with; drawn by default.
    """

    id: str
    source: Any
    reference: Reference | None = None
    inputs: GivenInputs | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise ValueError(f"bad name {self.id!r}: expected a text, e.g. 'scaled-add-n1024'")

    def __str__(self) -> str:
        return self.id

    @cached_property
    def flops(self) -> int:
        """Floating-point operations of one call as TVM counts them, at least 1."""
        return flops_of(self._program())

    def tasks(self) -> tuple[Task, ...]:
        """One task: the operator itself.

        Raises:
            BadProgram: There is no program, it cannot be tuned, or the reference computes
                something of another shape.
        """
        mod = self._program()
        check = None if self.reference is None else self._check(mod, self.reference)
        return (Task(self.id, mod, flops_of(mod), check=check, inputs=self.inputs),)

    def _program(self) -> IRModule:
        """The program: BadProgram if it cannot be tuned."""
        from tvm import IRModule
        from tvm.tirx import PrimFunc

        made = self.source
        if callable(made) and not isinstance(made, IRModule | PrimFunc):
            made = made()
        if not isinstance(made, IRModule | PrimFunc):
            made = self._function(made)
        if isinstance(made, PrimFunc):
            made = made.with_attr("global_symbol", "main").with_attr("tirx.noalias", True)
            made = IRModule({"main": made})
        check_program(made, repr(self.id))
        return made

    def _function(self, tensors: Any) -> PrimFunc:
        from tvm import te

        try:
            # A tensor gives something at any index: going through one never ends.
            if not isinstance(tensors, Sequence):
                raise TypeError(f"expected a sequence, not a {type(tensors).__name__}")
            return te.create_prim_func([*tensors])
        except Exception as error:  # TVM raises many types
            raise BadProgram(
                f"the tensors of {self.id!r} make no program: {first_line(error)}; return all "
                "inputs, then all outputs, e.g. [x, y]"
            ) from None

    def _check(self, mod: IRModule, reference: Reference) -> Check:
        arguments = arguments_of(mod)[-outputs_of(mod) :]

        def outputs(inputs: Arrays) -> Arrays:
            # A reference may work in place.
            found = reference(*(array.copy() for array in inputs))
            several = found if isinstance(found, tuple) else (found,)
            if isinstance(found, list):  # which may be a single output
                alike = len({np.shape(one) for one in found}) == 1
                several = (found,) if alike and len(arguments) == 1 else tuple(found)
            self._require_shapes([np.shape(one) for one in several], arguments)
            return tuple(
                np.asarray(one).astype(dtype)
                for one, (dtype, _) in zip(several, arguments, strict=True)
            )

        def compute(check: Check) -> Outputs:
            assert check.fresh is not None
            with np.errstate(all="ignore"):  # inputs may be others than it is made for
                return outputs(check.inputs), outputs(check.fresh.inputs)

        found = best_check(draws(task_inputs(mod), self.inputs), compute, Rounding.of(mod))
        assert found is not None
        share, check = found
        if not share:
            names = ", ".join(repr(one.name) for one in task_inputs(mod))
            raise BadProgram(
                f"the reference of {self.id!r} returns the same for all inputs tried, or no "
                f"numbers; give {names}, e.g. inputs={{'x': (0, 10)}}"
            )
        return check

    def _require_shapes(
        self, shapes: Sequence[tuple[int, ...]], arguments: Sequence[tuple[str, tuple[int, ...]]]
    ) -> None:
        expected = [shape for _, shape in arguments]
        if list(shapes) != expected:
            raise BadProgram(
                f"the reference of {self.id!r} returns outputs of the shapes "
                f"{', '.join(map(str, shapes))}; expected {', '.join(map(str, expected))}, as the "
                "program has them"
            )
