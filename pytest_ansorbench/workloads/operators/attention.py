"""Attention of language and image models, and the rotation of its queries and keys."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pytest_ansorbench.workloads.operators.shape import (
    BadShape,
    require_bool,
    require_divisor,
    require_multiple,
)
from pytest_ansorbench.workloads.operators.typed import FLOATS, WIDE, Typed

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te


@dataclass(frozen=True, kw_only=True)
class Attention(Typed):
    """Scaled dot products of queries and keys weigh the values, head by head, in one program.

    Inputs are queries (batch, heads, queries, size), keys and values (batch, key_heads, keys,
    size), the output is (batch, queries, heads, size), as the projection behind it reads it. A
    prompt has many queries, decoding has one. Each of the four reductions may be arranged in three
    ways, so that TVM's rules make 81 design spaces. FLOP:
    four for each pair of a query and a key and feature of a head, five for each such pair (scale,
    maximum, subtraction, exponential, sum), and a division for each element of the output; pairs
    that the mask hides count.

    Attributes:
        batch: Sequences.
        heads: Heads of the queries.
        key_heads: Heads of keys and values, each for as many heads of the queries; divides `heads`.
        queries: Tokens that ask.
        keys: Tokens that are asked, those of a cache included.
        size: Features of a head.
        causal: Whether the last query sees all keys, the one before it all but the last, ...
    """

    batch: int
    heads: int
    key_heads: int
    queries: int
    keys: int
    size: int
    causal: bool = False

    form: ClassVar[str] = "attention-b{batch}-h{heads}-kh{key_heads}-q{queries}-k{keys}-s{size}"
    accumulators: ClassVar[Mapping[str, Sequence[str]]] = WIDE

    def __post_init__(self) -> None:
        super().__post_init__()
        require_bool(causal=self.causal)
        require_divisor("key_heads", self.key_heads, heads=self.heads)
        if self.causal and self.queries > self.keys:
            expected = f"at most keys {self.keys} if causal"
            raise BadShape("queries", self.queries, expected, self.keys)

    @property
    def shape_id(self) -> str:
        return super().shape_id + ("-causal" if self.causal else "")

    @property
    def flops(self) -> int:
        rows = self.batch * self.heads * self.queries
        return rows * (self.keys * (4 * self.size + 5) + self.size)

    @property
    def reduction_length(self) -> int:
        """Terms of both products and of the sum of the exponentials, whose errors add up."""
        return self.size + 2 * self.keys

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        asked = (self.batch, self.key_heads, self.keys, self.size)
        return ((self.batch, self.heads, self.queries, self.size), asked, asked)

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.batch, self.queries, self.heads, self.size)

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        """Exponentials weigh the values and are divided by their sum last, a division a feature.

        What the mask hides is the least number before the exponential, and nothing after it. The
        mixed values and the output have their axes in another order, so that TVM's rules do not
        compute the output, which needs the sums too, in the tiles of the mixed values: they fail.
        """
        from tvm import te, tirx

        queries, keys, values = inputs
        shared, later = self.heads // self.key_heads, self.keys - self.queries
        outer = (self.batch, self.heads, self.queries)
        pairs = (*outer, self.keys)
        feature = te.reduce_axis((0, self.size), name="feature")
        key, of_sum, of_mix = (te.reduce_axis((0, self.keys), name="key") for _ in range(3))
        scores = te.compute(
            pairs,
            lambda b, h, i, j: te.sum(
                self.product(
                    queries(b, h, i, feature), keys(b, te.indexdiv(h, shared), j, feature)
                ),
                axis=feature,
            ),
            name="scores",
        )

        def scale(b: Any, h: Any, i: Any, j: Any) -> Any:
            value = scores(b, h, i, j) * tirx.const(1 / math.sqrt(self.size), self.sum_dtype)
            if not self.causal:
                return value
            return tirx.Select(j <= i + later, value, te.min_value(self.sum_dtype))

        scaled = te.compute(pairs, scale, name="scaled")
        highest = te.compute(
            outer, lambda b, h, i: te.max(scaled(b, h, i, key), axis=key), name="highest"
        )
        powers = te.compute(
            pairs, lambda b, h, i, j: te.exp(scaled(b, h, i, j) - highest(b, h, i)), name="powers"
        )
        total = te.compute(
            outer, lambda b, h, i: te.sum(powers(b, h, i, of_sum), axis=of_sum), name="total"
        )
        mixed = te.compute(
            (*outer, self.size),
            lambda b, h, i, d: te.sum(
                self.product(powers(b, h, i, of_mix), values(b, te.indexdiv(h, shared), of_mix, d)),
                axis=of_mix,
            ),
            name="mixed",
        )
        return te.compute(
            self.output_shape,
            lambda b, i, h, d: mixed(b, h, i, d) / total(b, h, i),
            name="attention",
        )

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        queries, keys, values = inputs
        keys, values = (
            np.repeat(one, self.heads // self.key_heads, axis=1) for one in (keys, values)
        )
        scores = queries @ keys.swapaxes(2, 3) / math.sqrt(self.size)
        if self.causal:
            seen = np.tri(self.queries, self.keys, self.keys - self.queries, dtype=bool)
            scores = np.where(seen, scores, -np.inf)
        powers = np.exp(scores - scores.max(axis=3, keepdims=True))
        mixed = powers / powers.sum(axis=3, keepdims=True) @ values
        return np.asarray(mixed.swapaxes(1, 2))


@dataclass(frozen=True, kw_only=True)
class Rope(Typed):
    """Rotary position embedding (https://arxiv.org/abs/2104.09864) of queries or keys.

    Inputs are data (batch, heads, length, size), and the cosine and the sine of each position and
    feature, both (length, size), as Llama's implementations keep them. Feature `i` of the first
    half and feature `i` of the second half are turned together. FLOP: three for each element.

    Attributes:
        batch: Sequences.
        heads: Attention heads.
        length: Tokens of a sequence.
        size: Features of a head; even.
    """

    batch: int
    heads: int
    length: int
    size: int

    form: ClassVar[str] = "rope-b{batch}-h{heads}-l{length}-s{size}"
    accumulators: ClassVar[Mapping[str, Sequence[str]]] = FLOATS

    def __post_init__(self) -> None:
        super().__post_init__()
        require_multiple(2, size=self.size)

    @property
    def flops(self) -> int:
        return 3 * self.batch * self.heads * self.length * self.size

    @property
    def reduction_length(self) -> int:
        return 2

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        table = (self.length, self.size)
        return ((self.batch, self.heads, *table), table, table)

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te, tirx

        data, cosine, sine = inputs
        half = self.size // 2

        def element(b: Any, h: Any, i: Any, d: Any) -> Any:
            turned = sine(i, d).astype(self.sum_dtype)
            signed = tirx.Select(d < half, 0 - turned, turned)
            other = data(b, h, i, te.indexmod(d + half, self.size)).astype(self.sum_dtype)
            return self.product(data(b, h, i, d), cosine(i, d)) + other * signed

        shape = (self.batch, self.heads, self.length, self.size)
        return te.compute(shape, element, name="rope")

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        data, cosine, sine = inputs
        first, second = np.split(data, 2, axis=3)
        return data * cosine + np.concatenate([-second, first], axis=3) * sine
