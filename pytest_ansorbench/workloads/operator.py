"""The base of every operator case: shapes in, one tensor program and its NumPy twin out."""

from __future__ import annotations

import abc
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ansorbench.workloads.case import Check, Task

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te


class Operator(abc.ABC):
    """An operator at one shape, in float32; a `Case` with a single task of weight one.

    Subclasses are frozen dataclasses whose fields are the shape. They say what the operator
    computes twice: as a tensor expression, which is tuned, and in NumPy, which every measured
    kernel must agree with. Neither importing a subclass nor making one imports TVM.
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

    @abc.abstractmethod
    def expression(self, *inputs: te.Tensor) -> te.Tensor:
        """The output as a tensor expression over placeholders of `input_shapes`."""

    @abc.abstractmethod
    def reference(self, *inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        """The output in NumPy, for inputs of `input_shapes`."""

    def __str__(self) -> str:
        return self.id

    def inputs(self) -> tuple[NDArray[np.float32], ...]:
        """Random inputs in [-1, 1), the same in every process: seeded by the id."""
        rng = np.random.default_rng(zlib.crc32(self.id.encode()))
        return tuple(
            rng.uniform(-1.0, 1.0, shape).astype(np.float32) for shape in self.input_shapes
        )

    def check(self) -> Check:
        """Inputs, expected output and tolerance; see `tolerance`."""
        inputs = self.inputs()
        expected = self.reference(*inputs)
        return Check(inputs, expected, *tolerance(expected, self.reduction_length))

    def tasks(self) -> tuple[Task, ...]:
        """One task: the operator itself."""
        from tvm import IRModule, te

        placeholders = [
            te.placeholder(shape, "float32", name=f"input{i}")
            for i, shape in enumerate(self.input_shapes)
        ]
        output = self.expression(*placeholders)
        func = te.create_prim_func([*placeholders, output])
        func = func.with_attr("global_symbol", "main").with_attr("tirx.noalias", True)
        mod = IRModule({"main": func})
        return (Task(name=self.id, mod=mod, flops=self.flops, check=self.check()),)


def tolerance(expected: NDArray[Any], reduction_length: int) -> tuple[float, float]:
    """Allowed relative and absolute error of a float32 output.

    The absolute one is relative to the output's typical size (its root mean square), so that
    it means the same for a softmax as for a convolution. It grows like a random walk: a
    float32 sum of n random terms, added one after the other, is off by up to about
    sqrt(n) * eps (see Higham, Accuracy and Stability of Numerical Algorithms, section
    4.2). The worst of a few thousand outputs is off by 1.5 times that; allowed is 4 times.
    A kernel that leaves out one term in a hundred is far outside.
    """
    relative = 4.0 * float(np.finfo(np.float32).eps) * reduction_length**0.5
    # Exponentials and roots have an error of their own, however short the sum.
    return max(relative, 1e-5), relative * typical_size(expected)


def typical_size(array: NDArray[Any]) -> float:
    """Root mean square of an array's elements."""
    return float(np.sqrt(np.mean(np.square(array, dtype=np.float64))))
