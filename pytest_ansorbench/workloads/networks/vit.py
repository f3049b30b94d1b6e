"""A transformer for images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pytest_ansorbench.workloads.networks.attention import self_attention
from pytest_ansorbench.workloads.networks.graph import Graph, Value
from pytest_ansorbench.workloads.networks.layers import (
    Add,
    ClassToken,
    Conv,
    Dense,
    FirstToken,
    LayerNorm,
    Reshape,
    Softmax,
)
from pytest_ansorbench.workloads.networks.network import ImageNetwork
from pytest_ansorbench.workloads.operators.shape import require_multiple

_HIDDEN, _HEADS, _PATCH, _DEPTH = 768, 12, 16, 12


@dataclass(frozen=True, kw_only=True)
class VitB16(ImageNetwork):
    """Dosovitskiy et al. 2020, https://arxiv.org/abs/2010.11929, table 1, ViT-Base.

    A token is a patch of 16 x 16 pixels, so that `size` is a multiple of 16.
    """

    family: ClassVar[str] = "vitb16"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_multiple(_PATCH, size=self.size)

    def build(self, graph: Graph, value: Value) -> Value:
        value = graph(Conv(_HIDDEN, _PATCH, _PATCH), value)
        batch, rows, columns, hidden = value.shape
        value = graph(ClassToken(), graph(Reshape((batch, rows * columns, hidden)), value))
        for _ in range(_DEPTH):
            value = _encoder_layer(graph, value)
        value = graph(FirstToken(), graph(LayerNorm(1e-6), value))
        return graph(Softmax(), graph(Dense(self.classes), value))


def _encoder_layer(graph: Graph, value: Value) -> Value:
    """Attention, then a dense layer four times as wide; a layer norm before each."""
    attended = self_attention(graph, graph(LayerNorm(1e-6), value), _HEADS)
    value = graph(Add(), graph(Dense(_HIDDEN), attended), value)
    wide = graph(Dense(4 * _HIDDEN, activation="gelu"), graph(LayerNorm(1e-6), value))
    return graph(Add(), graph(Dense(_HIDDEN), wide), value)
