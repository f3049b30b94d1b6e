"""Attention of each token to all of them, as encoders have it."""

from __future__ import annotations

import math

from pytest_ansorbench.workloads.networks.graph import Graph, Value
from pytest_ansorbench.workloads.networks.layers import (
    Dense,
    MatMul,
    Reshape,
    Scale,
    Softmax,
    Transpose,
)


def self_attention(graph: Graph, value: Value, heads: int) -> Value:
    """Scaled dot products of queries and keys weigh the values, head by head.

    https://arxiv.org/abs/1706.03762, section 3.2; what is projected to the output comes after it.

    Args:
        graph: What layers are added to.
        value: Data (batch, tokens, features).
        heads: How many share the features out among themselves.
    """
    batch, length, hidden = value.shape
    size = hidden // heads
    apart = Reshape((batch, length, heads, size))
    heads_first, keys_across = Transpose((0, 2, 1, 3)), Transpose((0, 2, 3, 1))
    query, key, values = (graph(apart, graph(Dense(hidden), value)) for _ in range(3))
    scores = graph(MatMul(), graph(heads_first, query), graph(keys_across, key))
    shares = graph(Softmax(), graph(Scale(1.0 / math.sqrt(size)), scores))
    mixed = graph(heads_first, graph(MatMul(), shares, graph(heads_first, values)))
    return graph(Reshape(value.shape), mixed)
