"""Sums of products in a choice of data types."""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from pytest_ansorbench.arrays import is_float
from pytest_ansorbench.workloads.operator import Operator
from pytest_ansorbench.workloads.operators.shape import BadShape, Shaped, require_one_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te

FLOATS: Final[Mapping[str, tuple[str, ...]]] = {
    "float32": ("float32", "float64"),
    "float64": ("float64",),
    "float16": ("float32", "float16"),
    "bfloat16": ("float32", "bfloat16"),
}
"""Types of inputs, and those that their products may be summed in, the default first."""

ALL: Final[Mapping[str, tuple[str, ...]]] = {
    **FLOATS,
    "int8": ("int32", "int64"),
    "uint8": ("int32", "int64"),
}

WIDE: Final[Mapping[str, tuple[str, ...]]] = {dtype: sums[:1] for dtype, sums in FLOATS.items()}
"""Those of operators with exponentials or roots, which are computed in the default alone."""


@dataclass(frozen=True, kw_only=True)
class Typed(Shaped, Operator):
    """An operator that sums products of its inputs.

    Of whole numbers the output has the accumulator's type, of floats that of the inputs. The inputs
    of a `uint8` operator are as CPUs multiply them, and as quantized layers have them: the first
    one is unsigned, weights and all others are `int8`. Indices are `int32`.

    Attributes:
        dtype: Data type of the inputs: float32, float64, float16, bfloat16, int8 or uint8.
        accumulator: Data type that inputs are cast to, multiplied and summed in. None is the
            default: float32 for floats of at most 32 bits, float64 for float64, int32 for whole
            numbers.
    """

    dtype: str = "float32"
    accumulator: str | None = None

    # By data type, those that it may be summed in, the default first.
    accumulators: ClassVar[Mapping[str, Sequence[str]]] = ALL
    # The id without data types, with names of fields in place of their values.
    form: ClassVar[str]

    def __post_init__(self) -> None:
        require_one_of("dtype", self.dtype, [*self.accumulators])
        default, *_ = choices = self.accumulators[self.dtype]
        if self.accumulator is not None:
            require_one_of("accumulator", self.accumulator, choices)
        if self.accumulator == default:  # equal programs are equal cases
            object.__setattr__(self, "accumulator", None)
        super().__post_init__()
        self._require_room()

    def _require_room(self) -> None:
        """Check that no sum of products of whole numbers, the first two inputs, overflows."""
        if is_float(np.dtype(self.dtype)):
            return
        factors = self.input_dtypes[:2]
        limits = [np.iinfo(dtype) for dtype in factors]
        largest = math.prod(max(-int(limit.min), int(limit.max)) for limit in limits)
        most = int(np.iinfo(self.sum_dtype).max) // largest
        if self.reduction_length > most:
            products = " * ".join(factors)
            raise BadShape(
                "accumulator",
                self.sum_dtype,
                f"a type that holds {self.reduction_length} products of {products}, "
                f"of which {self.sum_dtype} holds {most}",
                self.accumulators[self.dtype][-1],
            )

    @property
    def shape_id(self) -> str:
        """The id without data types."""
        return self.form.format_map(vars(self))

    @property
    def id(self) -> str:
        types = self.dtype, self.accumulator
        if types == ("float32", None):
            return self.shape_id
        return "-".join((self.shape_id, *filter(None, types)))

    @property
    def input_dtypes(self) -> tuple[str, ...]:
        others = "int8" if self.dtype == "uint8" else self.dtype
        numbers = (self.dtype, *(others for _ in self.input_shapes[1:]))
        return tuple(
            dtype if bound is None else "int32"
            for dtype, bound in zip(numbers, self.input_bounds, strict=True)
        )

    @property
    def sum_dtype(self) -> str:
        return self.accumulator or self.accumulators[self.dtype][0]

    @property
    def output_dtype(self) -> str:
        return self.dtype if is_float(np.dtype(self.dtype)) else self.sum_dtype

    @abc.abstractmethod
    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        """The output in `sum_dtype`, as a tensor expression."""

    @abc.abstractmethod
    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """The output in NumPy. Sums of whole numbers are exact in float64, too."""

    def product(self, left: Any, right: Any) -> Any:
        """A product of two elements in `sum_dtype`: the form that TVM's own operators have."""
        return left.astype(self.sum_dtype) * right.astype(self.sum_dtype)

    def expression(self, *inputs: te.Tensor) -> te.Tensor:
        """The sums, and a stage that casts them where the output has another type."""
        from tvm import te

        total = self.sums(*inputs)
        if self.output_dtype == self.sum_dtype:
            return total
        return te.compute(
            total.shape, lambda *index: total(*index).astype(self.output_dtype), name="cast"
        )

    def reference(self, *inputs: NDArray[Any]) -> NDArray[Any]:
        """Computed in float64, given in `sum_dtype`."""
        return self.exact(*(array.astype(np.float64) for array in inputs)).astype(self.sum_dtype)
