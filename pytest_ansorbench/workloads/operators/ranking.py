"""Which elements of a row are the largest: a reduction to indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pytest_ansorbench.workloads.operators.shape import BadShape
from pytest_ansorbench.workloads.operators.typed import ALL, Typed

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te


@dataclass(frozen=True, kw_only=True)
class _Ranking(Typed):
    """Indices of elements of each row of an m by n matrix, as int32, in which they are summed.

    Attributes:
        m: Rows.
        n: Columns, e.g. the words that a language model chooses from.
    """

    m: int
    n: int

    accumulators: ClassVar[Mapping[str, Sequence[str]]] = {dtype: ("int32",) for dtype in ALL}

    @property
    def reduction_length(self) -> int:
        return self.n

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        return ((self.m, self.n),)

    @property
    def output_dtype(self) -> str:
        return self.sum_dtype


@dataclass(frozen=True, kw_only=True)
class ArgMax(_Ranking):
    """The index of the largest element of each row, the first of equal ones, as int32.

    The input is (m, n), the output (m,). FLOP: a comparison for each element.
    """

    form: ClassVar[str] = "argmax-m{m}-n{n}"

    @property
    def flops(self) -> int:
        return self.m * self.n

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import topi

        (data,) = inputs
        wide, *_ = ALL[self.dtype]
        if wide != self.dtype:
            # TVM begins with the type's least number at index -1, and keeps it in a row of those;
            # it compiles no such reduction of bfloat16.
            data = topi.cast(data, wide)
        return topi.argmax(data, axis=1)

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        (data,) = inputs
        return np.asarray(np.argmax(data, axis=1), np.float64)


@dataclass(frozen=True, kw_only=True)
class TopK(_Ranking):
    """The indices of the largest elements of each row, the largest first, as int32.

    The input is (m, n), the output (m, k). Of equal elements the first comes first. An element's
    place is how many others come before it, so that two plain reductions make the output, which
    schedules apply to; TVM's own `topi.topk` calls foreign code, which cannot be tuned. That takes
    `n` comparisons an element: this is for rows like the scores of a mixture's experts. FLOP: a
    comparison for each pair of elements, and one for each element and place.

    Attributes:
        k: Indices for each row; at most `n`.
    """

    k: int

    form: ClassVar[str] = "topk-m{m}-n{n}-k{k}"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k > self.n:
            raise BadShape("k", self.k, f"at most n {self.n}", self.n)

    @property
    def flops(self) -> int:
        return self.m * self.n * (self.n + self.k)

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te

        (data,) = inputs
        other, column = (te.reduce_axis((0, self.n), name="k") for _ in range(2))
        places = te.compute(
            (self.m, self.n),
            lambda i, j: te.sum(
                te.any(
                    data(i, other) > data(i, j),
                    te.all(data(i, other).equal(data(i, j)), other < j),
                ).astype("int32"),
                axis=other,
            ),
            name="places",
        )
        return te.compute(
            (self.m, self.k),
            lambda i, place: te.sum(
                places(i, column).equal(place).astype("int32") * column, axis=column
            ),
            name="topk",
        )

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        (data,) = inputs
        return np.argsort(-data, axis=1, kind="stable")[:, : self.k].astype(np.float64)
