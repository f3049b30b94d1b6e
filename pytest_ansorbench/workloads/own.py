"""A user's own operator in a few lines: a tensor expression or a TensorIR function, made a case."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.workloads.case import Check, Task
from pytest_ansorbench.workloads.operator import tolerance
from pytest_ansorbench.workloads.signature import (
    BadProgram,
    arguments_of,
    check_program,
    outputs_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import IRModule, te
    from tvm.tirx import PrimFunc

Reference = Callable[..., Any]
"""A function in NumPy: input arrays in, the output out, or a tuple of several outputs."""


def from_te(
    name: str, function: Callable[[], Sequence[te.Tensor]], reference: Reference | None = None
) -> OwnOperator:
    """A tensor expression as a case.

    Args:
        name: Its id.
        function: Returns the tensors that `te.create_prim_func` takes: all inputs, then all
            outputs. It is called when the case runs, so that it alone needs to import TVM.
        reference: The same in NumPy. Without one, the untuned program says what is right.

    Raises:
        ValueError: The name is no text.
    """
    return OwnOperator(name, function, reference)


def from_tir(
    name: str,
    prim_func: PrimFunc | IRModule | Callable[[], PrimFunc | IRModule],
    reference: Reference | None = None,
) -> OwnOperator:
    """A TensorIR function as a case.

    Args:
        name: Its id.
        prim_func: The function, a module with it as `main`, or a function that returns one of
            these, which is called when the case runs. Its last arguments are the outputs.
        reference: The same in NumPy. Without one, the untuned program says what is right.

    Raises:
        ValueError: The name is no text.
    """
    return OwnOperator(name, prim_func, reference)


@dataclass(frozen=True)
class OwnOperator:
    """What `from_te` and `from_tir` make: a `Case` with a single task of weight one.

    Attributes:
        id: Stable identifier.
        source: The program, or a function that returns it or its tensors.
        reference: What it computes, in NumPy; None if nobody says.
    """

    id: str
    source: Any
    reference: Reference | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise ValueError(f"bad name {self.id!r}: expected a text, e.g. 'scaled-add-n1024'")

    def __str__(self) -> str:
        return self.id

    @cached_property
    def flops(self) -> int:
        """Floating-point operations of one call as TVM counts them, at least 1."""
        return _flops(self._program())

    def tasks(self) -> tuple[Task, ...]:
        """One task: the operator itself.

        Raises:
            BadProgram: There is no program, it cannot be tuned, or the reference computes
                something of another shape.
        """
        mod = self._program()
        check_program(mod, repr(self.id))
        check = None if self.reference is None else self._check(mod, self.reference)
        return (Task(name=self.id, mod=mod, flops=_flops(mod), check=check),)

    def _program(self) -> IRModule:
        from tvm import IRModule
        from tvm.tirx import PrimFunc

        made = self.source
        if callable(made) and not isinstance(made, IRModule | PrimFunc):
            made = made()
        if isinstance(made, IRModule):
            return made
        if not isinstance(made, PrimFunc):
            made = self._function(made)
        made = made.with_attr("global_symbol", "main").with_attr("tirx.noalias", True)
        return IRModule({"main": made})

    def _function(self, tensors: Any) -> PrimFunc:
        from tvm import te

        try:
            return te.create_prim_func([*tensors])
        except Exception as error:  # TVM raises many types
            cause = (str(error).splitlines() or [type(error).__name__])[0]
            raise BadProgram(
                f"the tensors of {self.id!r} make no program: {cause}; return all inputs, then "
                "all outputs, e.g. [x, y]"
            ) from None

    def _check(self, mod: IRModule, reference: Reference) -> Check:
        arguments = arguments_of(mod)
        first = len(arguments) - outputs_of(mod)
        for low in _LOWEST:
            inputs = _drawn(self.id, arguments[:first], low)
            # A reference may work in place, and be asked what it cannot say.
            with np.errstate(all="ignore"):
                found = reference(*(array.copy() for array in inputs))
            outputs = tuple(map(np.asarray, found if isinstance(found, tuple) else [found]))
            if all(np.isfinite(one).all() for one in outputs):
                break
        shapes, expected = [one.shape for one in outputs], [shape for _, shape in arguments[first:]]
        if shapes != expected:
            raise BadProgram(
                f"the reference of {self.id!r} returns outputs of the shapes "
                f"{', '.join(map(str, shapes))}; expected {', '.join(map(str, expected))}, as the "
                "program has them"
            )
        terms = max(1, _flops(mod) // (2 * max(1, sum(one.size for one in outputs))))
        allowed = [tolerance(one, terms) for one in outputs]
        if len(outputs) == 1:
            return Check(inputs, outputs[0], *allowed[0])
        several: Any = (outputs, *zip(*allowed, strict=True))
        return Check(inputs, *several)


_LOWEST: Final = (-1.0, 0.1)
"""Roots and logarithms want positive numbers."""


def _drawn(
    name: str, shapes: Sequence[tuple[str, tuple[int, ...]]], low: float
) -> tuple[NDArray[Any], ...]:
    """Random inputs in [low, 1), the same in every process: seeded by the name."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return tuple(rng.uniform(low, 1.0, shape).astype(dtype) for dtype, shape in shapes)


def _flops(mod: IRModule) -> int:
    from tvm.s_tir.analysis import estimate_tir_flops

    # What only moves data still has a throughput to be compared by.
    return max(1, int(estimate_tir_flops(mod)))
