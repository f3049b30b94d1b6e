"""Transpose and batch matrix multiplication, as between the heads of an attention layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from pytest_ansorbench.workloads.operators.typed import Typed

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te


@dataclass(frozen=True, kw_only=True)
class TransposeBatchMatmul(Typed):
    """Attention scores: queries times keys, head by head, from the layout of the projections.

    Inputs are the queries and the keys, both (batch, length, heads, size), the output is
    (batch, heads, length, length). FLOP: `2 * batch * heads * length * length * size`; moving
    the heads outwards is not counted.

    Attributes:
        batch: Sequences.
        length: Tokens of a sequence.
        heads: Attention heads.
        size: Features of a head.
    """

    batch: int
    length: int
    heads: int
    size: int

    form: ClassVar[str] = "transpose-matmul-b{batch}-l{length}-h{heads}-s{size}"

    @property
    def flops(self) -> int:
        return 2 * self.batch * self.heads * self.length * self.length * self.size

    @property
    def reduction_length(self) -> int:
        return self.size

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        shape = (self.batch, self.length, self.heads, self.size)
        return (shape, shape)

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        """Two transposes as stages of their own, which a schedule may inline, and a product."""
        from tvm import te, topi

        queries, keys = inputs
        left = topi.transpose(queries, axes=(0, 2, 1, 3))
        right = topi.transpose(keys, axes=(0, 2, 3, 1))
        k = te.reduce_axis((0, self.size), name="k")
        return te.compute(
            (self.batch, self.heads, self.length, self.length),
            lambda b, h, i, j: te.sum(self.product(left(b, h, i, k), right(b, h, k, j)), axis=k),
            name="matmul",
        )

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        queries, keys = inputs
        return queries.transpose(0, 2, 1, 3) @ keys.transpose(0, 2, 3, 1)


TRANSPOSE_BATCH_MATMUL: Final = tuple(
    TransposeBatchMatmul(batch=1, length=length, heads=heads, size=size)
    for length, heads, size in (
        # BERT base (https://arxiv.org/abs/1810.04805) on 128 tokens.
        (128, 12, 64),
        # BERT large.
        (128, 16, 64),
        # Ansor's TBG at half the tokens and heads twice as wide.
        (64, 12, 128),
    )
)
