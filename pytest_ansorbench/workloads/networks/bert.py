"""A layer of BERT's encoder."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pytest_ansorbench.workloads.networks.graph import Graph, Value
from pytest_ansorbench.workloads.networks.layers import (
    Add,
    Dense,
    LayerNorm,
    MatMul,
    Reshape,
    Scale,
    Shape,
    Softmax,
    Transpose,
)
from pytest_ansorbench.workloads.networks.network import Network
from pytest_ansorbench.workloads.operators.shape import Shaped, require_divisor


@dataclass(frozen=True, kw_only=True)
class BertLayer(Shaped, Network):
    """One encoder layer of BERT-base: Devlin et al. 2018, https://arxiv.org/abs/1810.04805.

    Attention over all positions, then a dense layer four times as wide; layer norm after
    each, as in Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.1.

    Attributes:
        batch: Sequences.
        length: Tokens of a sequence.
        hidden: Features of a token.
        heads: Heads of the attention; they share the features out among themselves.
    """

    batch: int = 1
    length: int = 128
    hidden: int = 768
    heads: int = 12

    def __post_init__(self) -> None:
        super().__post_init__()
        require_divisor("heads", self.heads, hidden=self.hidden)

    @property
    def id(self) -> str:
        return f"bert-layer-n{self.batch}-l{self.length}-h{self.hidden}-a{self.heads}"

    @property
    def input_shape(self) -> Shape:
        return (self.batch, self.length, self.hidden)

    def build(self, graph: Graph, value: Value) -> Value:
        attended = graph(Dense(self.hidden), self._attention(graph, value))
        value = graph(LayerNorm(1e-12), graph(Add(), attended, value))
        wide = graph(Dense(4 * self.hidden, activation="gelu"), value)
        return graph(LayerNorm(1e-12), graph(Add(), graph(Dense(self.hidden), wide), value))

    def _attention(self, graph: Graph, value: Value) -> Value:
        """Scaled dot products of queries and keys weigh the values, head by head."""
        size = self.hidden // self.heads
        apart = Reshape((self.batch, self.length, self.heads, size))
        heads_first, keys_across = Transpose((0, 2, 1, 3)), Transpose((0, 2, 3, 1))
        query, key, values = (graph(apart, graph(Dense(self.hidden), value)) for _ in range(3))
        scores = graph(MatMul(), graph(heads_first, query), graph(keys_across, key))
        shares = graph(Softmax(), graph(Scale(1.0 / math.sqrt(size)), scores))
        mixed = graph(heads_first, graph(MatMul(), shares, graph(heads_first, values)))
        return graph(Reshape((self.batch, self.length, self.hidden)), mixed)
