"""The base of every operator case: shapes in, one tensor program and its NumPy twin out."""

from __future__ import annotations

import abc
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ansorbench.arrays import is_float
from pytest_ansorbench.workloads.case import Check, Task
from pytest_ansorbench.workloads.inputs import FLOAT_RANGES, Draw, Input
from pytest_ansorbench.workloads.tolerance import tolerance

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te


class Operator(abc.ABC):
    """An operator at one shape; a `Case` with a single task of weight one.

    Subclasses are frozen dataclasses whose fields are the shape. They say what the operator
    computes twice: as a tensor expression, which is tuned, and in NumPy, which every measured
    kernel must agree with. Neither importing a subclass nor making one imports TVM. Inputs and
    output are float32 unless a subclass says otherwise.
    """

    @property
    @abc.abstractmethod
    def id(self) -> str:
        """Stable identifier, e.g. `conv2d-n1-h14-w14-ci256-co256-k3-s1-p1`."""

    @property
    @abc.abstractmethod
    def flops(self) -> int:
        """Floating-point operations of one call; a multiply-add counts as two."""

    @property
    @abc.abstractmethod
    def reduction_length(self) -> int:
        """Terms summed for one output element; the tolerance grows with it."""

    @property
    @abc.abstractmethod
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shape of each input, in order of the kernel's arguments."""

    @property
    def input_dtypes(self) -> tuple[str, ...]:
        """Data type of each input, e.g. `float32`, `bfloat16`, `int8`."""
        return ("float32",) * len(self.input_shapes)

    @property
    def input_bounds(self) -> tuple[int | None, ...]:
        """For each input of indices, of how many elements they are; None for any other."""
        return (None,) * len(self.input_shapes)

    @property
    def output_dtype(self) -> str:
        """Data type of the output."""
        return "float32"

    @property
    def sum_dtype(self) -> str:
        """Data type that the terms of an output element are summed in."""
        return self.output_dtype

    @abc.abstractmethod
    def expression(self, *inputs: te.Tensor) -> te.Tensor:
        """The output as a tensor expression over placeholders of `input_shapes`."""

    @abc.abstractmethod
    def reference(self, *inputs: NDArray[Any]) -> NDArray[Any]:
        """The output in NumPy, for inputs of `input_shapes`, in its data type or a wider one."""

    def __str__(self) -> str:
        return self.id

    def inputs(self) -> tuple[NDArray[Any], ...]:
        """Random inputs, the same in every process.

        Floats are in [-1, 1), indices within their bounds, numbers of 8 bits all that there are.
        """
        return self._drawn(self.id)

    def check(self) -> Check:
        """Inputs, expected output and tolerance, and fresh ones; see `workloads.tolerance`."""
        return self._checked(self.inputs(), self._checked(self._drawn(f"{self.id} afresh")))

    def _drawn(self, seed: str) -> tuple[NDArray[Any], ...]:
        return Draw(self._described(), FLOAT_RANGES[0])(zlib.crc32(seed.encode()))

    def _described(self) -> list[Input]:
        about = zip(self.input_dtypes, self.input_shapes, self.input_bounds, strict=True)
        return [Input(dtype, shape, bound=bound) for dtype, shape, bound in about]

    def _checked(self, inputs: tuple[NDArray[Any], ...], fresh: Check | None = None) -> Check:
        expected = self.reference(*inputs)
        allowed = tolerance(
            expected, self.reduction_length, dtype=self.output_dtype, accumulator=self.sum_dtype
        )
        drawn = ", ".join(dict.fromkeys(map(_range_of, self._described())))
        return Check(inputs, expected, *allowed, fresh, drawn=drawn)

    def tasks(self) -> tuple[Task, ...]:
        """One task: the operator itself."""
        from tvm import IRModule, te

        placeholders = [
            te.placeholder(shape, dtype, name=f"input{i}")
            for i, (shape, dtype) in enumerate(
                zip(self.input_shapes, self.input_dtypes, strict=True)
            )
        ]
        output = self.expression(*placeholders)
        func = te.create_prim_func([*placeholders, output])
        func = func.with_attr("global_symbol", "main").with_attr("tirx.noalias", True)
        mod = IRModule({"main": func})
        return (Task(name=self.id, mod=mod, flops=self.flops, check=self.check()),)


def _range_of(one: Input) -> str:
    """What `Draw` draws an input from."""
    kind = np.dtype(one.dtype)
    if is_float(kind):
        return "[-1, 1)"
    if one.bound is not None:
        return f"[0, {one.bound})"
    return f"all of {one.dtype}" if kind.itemsize == 1 else "[-128, 128)"
