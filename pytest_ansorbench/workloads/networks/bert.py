"""A layer of BERT's encoder."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_ansorbench.workloads.networks.attention import self_attention
from pytest_ansorbench.workloads.networks.graph import Graph, Value
from pytest_ansorbench.workloads.networks.layers import Add, Dense, LayerNorm, Shape
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
    def input_shapes(self) -> tuple[Shape, ...]:
        return ((self.batch, self.length, self.hidden),)

    def build(self, graph: Graph, value: Value) -> Value:
        attended = graph(Dense(self.hidden), self_attention(graph, value, self.heads))
        value = graph(LayerNorm(1e-12), graph(Add(), attended, value))
        wide = graph(Dense(4 * self.hidden, activation="gelu"), value)
        return graph(LayerNorm(1e-12), graph(Add(), graph(Dense(self.hidden), wide), value))
