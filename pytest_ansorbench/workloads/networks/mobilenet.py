"""MobileNets: depthwise convolutions between 1x1 ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from pytest_ansorbench.workloads.networks.graph import Graph, Value
from pytest_ansorbench.workloads.networks.layers import Add, Conv, Shape
from pytest_ansorbench.workloads.networks.network import ImageNetwork, classifier

_V1: Final = (
    # Channels and stride of each depthwise-separable convolution.
    *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)),
    *((512, 1),) * 5,
    *((1024, 2), (1024, 1)),
)

_V2: Final = (
    # Expansion, channels, blocks and first stride: table 2.
    *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)),
    *((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)),
)


@dataclass(frozen=True, kw_only=True)
class MobileNetV1(ImageNetwork):
    """Howard et al. 2017, https://arxiv.org/abs/1704.04861, table 1, width 1."""

    family: ClassVar[str] = "mobilenetv1"

    def build(self, graph: Graph, value: Value) -> Value:
        value = graph(Conv(32, 3, 2, padding=1, activation="relu"), value)
        for channels, stride in _V1:
            here = value.shape[-1]
            value = graph(Conv(here, 3, stride, 1, groups=here, activation="relu"), value)
            value = graph(Conv(channels, 1, activation="relu"), value)
        return classifier(graph, value, self.classes)


@dataclass(frozen=True, kw_only=True)
class MobileNetV2(ImageNetwork):
    """Sandler et al. 2018, https://arxiv.org/abs/1801.04381, table 2, width 1."""

    family: ClassVar[str] = "mobilenetv2"

    def build(self, graph: Graph, value: Value) -> Value:
        value = graph(Conv(32, 3, 2, padding=1, activation="relu6"), value)
        for expansion, channels, blocks, first_stride in _V2:
            for index in range(blocks):
                stride = 1 if index else first_stride
                value = _inverted_residual(graph, value, expansion, channels, stride)
        value = graph(Conv(1280, 1, activation="relu6"), value)
        return classifier(graph, value, self.classes)


def _inverted_residual(
    graph: Graph, value: Value, expansion: int, channels: int, stride: int
) -> Value:
    """Widen, convolve each channel, narrow; beside the value itself if the shape stays."""
    hidden, wide = value, expansion * value.shape[-1]
    if expansion > 1:
        hidden = graph(Conv(wide, 1, activation="relu6"), hidden)
    hidden = graph(Conv(wide, 3, stride, 1, groups=wide, activation="relu6"), hidden)
    hidden = graph(Conv(channels, 1), hidden)
    same: Shape = (*value.shape[:-1], channels)
    return graph(Add(), hidden, value) if stride == 1 and same == value.shape else hidden
