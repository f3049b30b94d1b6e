"""Rows of a table by their indices, and products with matrices that indices choose.

The loops are those of dense programs: how often one runs depends on no data, which TVM's schedule
rules need. So experts have their tokens in blocks of one size, and rows of blocks have as many
blocks each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pytest_ansorbench.workloads.operators.shape import BadShape, require_divisor
from pytest_ansorbench.workloads.operators.typed import FLOATS, Typed

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te


@dataclass(frozen=True, kw_only=True)
class Embedding(Typed):
    """The row of a table for each token, as the first layer of a language model.

    Inputs are the table (vocabulary, size) and the tokens (tokens,) as int32, the output is
    (tokens, size). FLOP: none; an element that is copied counts as one, for a throughput.

    Attributes:
        tokens: Rows of the output.
        vocabulary: Rows of the table.
        size: Features of a token.
    """

    tokens: int
    vocabulary: int
    size: int

    form: ClassVar[str] = "embedding-t{tokens}-v{vocabulary}-s{size}"
    accumulators: ClassVar[Mapping[str, Sequence[str]]] = {dtype: (dtype,) for dtype in FLOATS}

    @property
    def flops(self) -> int:
        return self.tokens * self.size

    @property
    def reduction_length(self) -> int:
        return 1

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        return ((self.vocabulary, self.size), (self.tokens,))

    @property
    def input_bounds(self) -> tuple[int | None, ...]:
        return (None, self.vocabulary)

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te

        table, tokens = inputs
        return te.compute(
            (self.tokens, self.size), lambda i, j: table(tokens(i), j), name="embedding"
        )

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        table, tokens = inputs
        return table[tokens.astype(np.int32)]


@dataclass(frozen=True, kw_only=True)
class Moe(Typed):
    """A layer of a mixture of experts: blocks of tokens times the weights of their expert.

    Tokens are sorted by expert and filled up to whole blocks, as serving engines do
    (https://arxiv.org/abs/2211.15841); a block of one row is a token while decoding. Inputs are
    data (blocks, rows, k), weights (experts, k, n) and the expert of each block (blocks,) as
    int32, the output is (blocks, rows, n). FLOP: `2 * blocks * rows * n * k`.

    Attributes:
        blocks: Blocks of tokens.
        rows: Tokens of a block.
        experts: Matrices of weights.
        n: Columns of the weights and of the output.
        k: Columns of the data, rows of the weights.
    """

    blocks: int
    rows: int
    experts: int
    n: int
    k: int

    form: ClassVar[str] = "moe-b{blocks}-m{rows}-e{experts}-n{n}-k{k}"

    @property
    def flops(self) -> int:
        return 2 * self.blocks * self.rows * self.n * self.k

    @property
    def reduction_length(self) -> int:
        return self.k

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        return (
            (self.blocks, self.rows, self.k),
            (self.experts, self.k, self.n),
            (self.blocks,),
        )

    @property
    def input_bounds(self) -> tuple[int | None, ...]:
        return (None, None, self.experts)

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te

        data, weight, expert = inputs
        k = te.reduce_axis((0, self.k), name="k")
        return te.compute(
            (self.blocks, self.rows, self.n),
            lambda b, i, j: te.sum(self.product(data(b, i, k), weight(expert(b), k, j)), axis=k),
            name="moe",
        )

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        data, weight, experts = inputs
        chosen = zip(data, experts.astype(np.int32), strict=True)
        return np.stack([rows @ weight[expert] for rows, expert in chosen])


@dataclass(frozen=True, kw_only=True)
class BlockSparseDense(Typed):
    """A product with a matrix of which few blocks are not zero: BSR, as many in each row of blocks.

    Inputs are data (m, k / block, block), the blocks (n / block, blocks, block, block), with rows
    of the weights third and the outputs last, and the column of each (n / block, blocks) as int32:
    drawn for each case like any input, the same each time, and so a column may come twice. The
    output is (m, n / block, block). FLOP: `2 * m * n * blocks * block`. Rows of blocks that differ
    in length, as `indptr` has them, are no loops that schedule rules tile; TVM has no operator for
    them any more.

    Attributes:
        m: Rows of the data.
        n: Outputs for each row.
        k: Columns of the data.
        block: Rows and columns of a block; divides `n` and `k`.
        blocks: Blocks that are not zero for each `block` outputs; at most `k / block`.
    """

    m: int
    n: int
    k: int
    block: int
    blocks: int

    form: ClassVar[str] = "block-sparse-dense-m{m}-n{n}-k{k}-bs{block}-nz{blocks}"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_divisor("block", self.block, n=self.n, k=self.k)
        most = self.k // self.block
        if self.blocks > most:
            expected = f"at most {most} for k {self.k} and block {self.block}"
            raise BadShape("blocks", self.blocks, expected, most)

    @property
    def flops(self) -> int:
        return 2 * self.m * self.n * self.reduction_length

    @property
    def reduction_length(self) -> int:
        return self.blocks * self.block

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        rows = self.n // self.block
        return (
            (self.m, self.k // self.block, self.block),
            (rows, self.blocks, self.block, self.block),
            (rows, self.blocks),
        )

    @property
    def input_bounds(self) -> tuple[int | None, ...]:
        return (None, None, self.k // self.block)

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te

        data, weight, columns = inputs
        e = te.reduce_axis((0, self.blocks), name="e")
        c = te.reduce_axis((0, self.block), name="c")
        return te.compute(
            (self.m, self.n // self.block, self.block),
            lambda i, r, j: te.sum(
                self.product(data(i, columns(r, e), c), weight(r, e, c, j)), axis=[e, c]
            ),
            name="block_sparse_dense",
        )

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        data, weight, columns = inputs
        output = np.zeros((self.m, self.n // self.block, self.block))
        for row, e in np.ndindex(columns.shape):
            output[:, row] += data[:, int(columns[row, e])] @ weight[row, e]
        return output
