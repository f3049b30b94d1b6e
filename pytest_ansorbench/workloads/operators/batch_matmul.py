"""Batch matrix multiplication, the layer that language models spend their time in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from pytest_ansorbench.workloads.operators.typed import Typed

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te


@dataclass(frozen=True, kw_only=True)
class BatchMatmul(Typed):
    """`batch` independent products of an m by k and a k by n matrix.

    FLOP: `2 * batch * m * n * k`.

    Attributes:
        batch: Products.
        m: Rows of the left matrix and of the output.
        n: Columns of the right matrix and of the output.
        k: Columns of the left matrix, rows of the right one.
    """

    batch: int
    m: int
    n: int
    k: int

    form: ClassVar[str] = "matmul-b{batch}-m{m}-n{n}-k{k}"

    @property
    def flops(self) -> int:
        return 2 * self.batch * self.m * self.n * self.k

    @property
    def reduction_length(self) -> int:
        return self.k

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        return ((self.batch, self.m, self.k), (self.batch, self.k, self.n))

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te

        left, right = inputs
        k = te.reduce_axis((0, self.k), name="k")
        return te.compute(
            (self.batch, self.m, self.n),
            lambda b, i, j: te.sum(self.product(left(b, i, k), right(b, k, j)), axis=k),
            name="matmul",
        )

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        left, right = inputs
        return left @ right


BATCH_MATMUL: Final = tuple(
    BatchMatmul(batch=batch, m=m, n=n, k=k)
    for batch, m, n, k in (
        # Ansor's GMM (https://arxiv.org/abs/2006.06762, section 7.1).
        (1, 512, 512, 512),
        # BERT base (https://arxiv.org/abs/1810.04805) on 128 tokens: a head's scores,
        (12, 128, 128, 64),
        # their product with the values,
        (12, 128, 64, 128),
        # a projection to queries, keys or values,
        (1, 128, 768, 768),
        # and the first layer of the feed-forward network.
        (1, 128, 3072, 768),
    )
)
