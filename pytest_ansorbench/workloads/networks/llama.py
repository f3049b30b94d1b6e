"""A layer of Llama's decoder."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pytest_ansorbench.workloads.networks.graph import Graph, Value
from pytest_ansorbench.workloads.networks.layers import (
    Add,
    CausalSoftmax,
    Concat,
    Dense,
    MatMul,
    Multiply,
    Reshape,
    RmsNorm,
    Rotate,
    Scale,
    Shape,
    Softmax,
    Transpose,
)
from pytest_ansorbench.workloads.networks.network import Network
from pytest_ansorbench.workloads.operators.shape import Shaped, require_divisor, require_multiple


@dataclass(frozen=True, kw_only=True)
class LlamaBlock(Shaped, Network):
    """One decoder layer of Llama-3.2-1B with a cache: https://arxiv.org/abs/2407.21783.

    Inputs are the tokens' features (batch, tokens, hidden), keys and values of the tokens before
    (batch, key_heads, past, hidden / heads), and the cosine and the sine of each token's angles
    (tokens, hidden / heads); the output is the features. Several tokens are a prompt's, one is
    decoding. Its 32 tokens behind 224 others are of two cores.

    Attributes:
        batch: Sequences.
        tokens: Tokens of a sequence that are new.
        past: Tokens before them, whose keys and values are in the cache.
        hidden: Features of a token.
        heads: Heads of the queries; they share the features out among themselves.
        key_heads: Heads of keys and values, each for as many heads of the queries.
        inner: Features of the gated layer.
    """

    batch: int = 1
    tokens: int = 32
    past: int = 224
    hidden: int = 2048
    heads: int = 32
    key_heads: int = 8
    inner: int = 8192

    def __post_init__(self) -> None:
        super().__post_init__()
        require_multiple(2 * self.heads, hidden=self.hidden)  # a head's features turn in pairs
        require_divisor("key_heads", self.key_heads, heads=self.heads)

    @property
    def id(self) -> str:
        return (
            f"llama-block-n{self.batch}-t{self.tokens}-p{self.past}-h{self.hidden}"
            f"-a{self.heads}-k{self.key_heads}-i{self.inner}"
        )

    @property
    def input_shapes(self) -> tuple[Shape, ...]:
        data = (self.batch, self.tokens, self.hidden)
        cache = (self.batch, self.key_heads, self.past, self._size)
        angles = (self.tokens, self._size)
        return (data, cache, cache, angles, angles)

    @property
    def _size(self) -> int:
        """Features of a head."""
        return self.hidden // self.heads

    def build(self, graph: Graph, value: Value) -> Value:
        attended = self._attention(graph, graph(RmsNorm(), value))
        value = graph(Add(), value, graph(Dense(self.hidden, bias=False), attended))
        normed = graph(RmsNorm(), value)
        gate = graph(Dense(self.inner, "silu", bias=False), normed)
        wide = graph(Multiply(), gate, graph(Dense(self.inner, bias=False), normed))
        return graph(Add(), value, graph(Dense(self.hidden, bias=False), wide))

    def _attention(self, graph: Graph, value: Value) -> Value:
        """Heads of the queries that share keys are rows of one product."""
        _, keys, values, cosine, sine = graph.inputs
        batch, tokens, shared = self.batch, self.tokens, self.heads // self.key_heads
        query, key, fresh = (
            graph(
                Transpose((0, 2, 3, 1, 4)),
                graph(
                    Reshape((batch, tokens, self.key_heads, group, self._size)),
                    graph(Dense(self.key_heads * group * self._size, bias=False), value),
                ),
            )
            for group in (shared, 1, 1)
        )
        query, key = (graph(Rotate(), one, cosine, sine) for one in (query, key))
        alone = Reshape((batch, self.key_heads, tokens, self._size))
        keys = graph(Concat(axis=2), keys, graph(alone, key))
        values = graph(Concat(axis=2), values, graph(alone, fresh))

        rows = (batch, self.key_heads, shared * tokens)
        scores = graph(
            MatMul(),
            graph(Reshape((*rows, self._size)), query),
            graph(Transpose((0, 1, 3, 2)), keys),
        )
        seen = self.past + tokens
        apart = Reshape((batch, self.key_heads, shared, tokens, seen))
        softmax = CausalSoftmax() if tokens > 1 else Softmax()
        scaled = graph(apart, graph(Scale(1.0 / math.sqrt(self._size)), scores))
        shares = graph(Reshape((*rows, seen)), graph(softmax, scaled))

        mixed = graph(MatMul(), shares, values)
        heads = Reshape((batch, self.key_heads, shared, tokens, self._size))
        tokens_first = graph(Transpose((0, 3, 1, 2, 4)), graph(heads, mixed))
        return graph(Reshape((batch, tokens, self.hidden)), tokens_first)
