"""Matrix norm: a long reduction to very few outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pytest_ansorbench.workloads.operator import Operator
from pytest_ansorbench.workloads.operators.shape import Shaped

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te


@dataclass(frozen=True, kw_only=True)
class MatrixNorm(Shaped, Operator):
    """The Frobenius norm of each matrix of a batch: input (batch, m, n), output (batch,).

    FLOP: a square and an addition for every element, and a root for every matrix.

    Attributes:
        batch: Matrices.
        m: Rows.
        n: Columns.
    """

    batch: int
    m: int
    n: int

    @property
    def id(self) -> str:
        return f"matrix-norm-b{self.batch}-m{self.m}-n{self.n}"

    @property
    def flops(self) -> int:
        return self.batch * (2 * self.m * self.n + 1)

    @property
    def reduction_length(self) -> int:
        return self.m * self.n

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        return ((self.batch, self.m, self.n),)

    def expression(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te

        (matrices,) = inputs
        i = te.reduce_axis((0, self.m), name="i")
        j = te.reduce_axis((0, self.n), name="j")
        squares = te.compute(
            (self.batch,),
            lambda b: te.sum(matrices(b, i, j) * matrices(b, i, j), axis=[i, j]),
            name="sum_of_squares",
        )
        return te.compute((self.batch,), lambda b: te.sqrt(squares(b)), name="norm")

    def reference(self, *inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        (matrices,) = inputs
        norms = np.linalg.norm(matrices.astype(np.float64), axis=(1, 2))
        return np.asarray(norms, dtype=np.float32)


MATRIX_NORM: Final = tuple(
    MatrixNorm(batch=batch, m=m, n=n)
    for batch, m, n in (
        # Ansor's NRM (https://arxiv.org/abs/2006.06762, section 7.1) at batch 1, where only
        # splitting the reduction (rfactor) gives any parallel work,
        (1, 256, 256),
        (1, 512, 512),
        # and at batch 16, where the batch is parallel work too.
        (16, 256, 256),
        (16, 512, 512),
    )
)
