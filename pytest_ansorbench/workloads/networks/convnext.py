"""ConvNeXt: wide depthwise kernels, and dense layers as a transformer has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from pytest_ansorbench.workloads.networks.graph import Graph, Value
from pytest_ansorbench.workloads.networks.layers import (
    Add,
    Conv,
    Dense,
    GlobalAvgPool,
    LayerNorm,
    Softmax,
)
from pytest_ansorbench.workloads.networks.network import ImageNetwork

_STAGES: Final = ((96, 3), (192, 3), (384, 9), (768, 3))
"""Channels and blocks of each stage."""


@dataclass(frozen=True, kw_only=True)
class ConvNextT(ImageNetwork):
    """Liu et al. 2022, https://arxiv.org/abs/2201.03545, ConvNeXt-T.

    The scale of each block's output is folded into the dense layer before it.
    """

    family: ClassVar[str] = "convnextt"

    def build(self, graph: Graph, value: Value) -> Value:
        for stage, (channels, blocks) in enumerate(_STAGES):
            if stage:
                value = graph(Conv(channels, 2, 2), graph(LayerNorm(1e-6), value))
            else:
                value = graph(LayerNorm(1e-6), graph(Conv(channels, 4, 4), value))
            for _ in range(blocks):
                value = _block(graph, value)
        value = graph(LayerNorm(1e-6), graph(GlobalAvgPool(), value))
        return graph(Softmax(), graph(Dense(self.classes), value))


def _block(graph: Graph, value: Value) -> Value:
    """A 7x7 kernel for each channel, then dense layers, beside the value itself."""
    channels = value.shape[-1]
    hidden = graph(Conv(channels, 7, padding=3, groups=channels), value)
    hidden = graph(Dense(4 * channels, "gelu"), graph(LayerNorm(1e-6), hidden))
    return graph(Add(), graph(Dense(channels), hidden), value)
