"""MobileNets and EfficientNet: depthwise convolutions between 1x1 ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from pytest_ansorbench.workloads.networks.graph import Graph, Value
from pytest_ansorbench.workloads.networks.layers import (
    Activation,
    Add,
    Conv,
    Dense,
    GlobalAvgPool,
    Multiply,
    Reshape,
    Shape,
    Softmax,
)
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

_V3: Final = (
    # Kernel, channels within, after, and of the squeeze if there is one, whether activations are a
    # hard swish, and stride: table 1.
    *((3, 16, 16, 0, False, 1), (3, 64, 24, 0, False, 2), (3, 72, 24, 0, False, 1)),
    *((5, 72, 40, 24, False, 2), (5, 120, 40, 32, False, 1), (5, 120, 40, 32, False, 1)),
    *((3, 240, 80, 0, True, 2), (3, 200, 80, 0, True, 1), (3, 184, 80, 0, True, 1)),
    *((3, 184, 80, 0, True, 1), (3, 480, 112, 120, True, 1), (3, 672, 112, 168, True, 1)),
    *((5, 672, 160, 168, True, 2), (5, 960, 160, 240, True, 1), (5, 960, 160, 240, True, 1)),
)

_EFFICIENT: Final = (
    # Expansion, kernel, channels, blocks and first stride: table 1.
    *((1, 3, 16, 1, 1), (6, 3, 24, 2, 2), (6, 5, 40, 2, 2), (6, 3, 80, 3, 2)),
    *((6, 5, 112, 3, 1), (6, 5, 192, 4, 2), (6, 3, 320, 1, 1)),
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
                wide = expansion * value.shape[-1]
                value = _inverted_residual(graph, value, 3, wide, channels, "relu6", stride)
        value = graph(Conv(1280, 1, activation="relu6"), value)
        return classifier(graph, value, self.classes)


@dataclass(frozen=True, kw_only=True)
class MobileNetV3(ImageNetwork):
    """Howard et al. 2019, https://arxiv.org/abs/1905.02244, table 1, MobileNetV3-Large."""

    family: ClassVar[str] = "mobilenetv3"

    def build(self, graph: Graph, value: Value) -> Value:
        value = graph(Conv(16, 3, 2, padding=1, activation="hard-swish"), value)
        for kernel, wide, channels, squeezed, hard, stride in _V3:
            activation: Activation = "hard-swish" if hard else "relu"
            squeeze: _Squeeze | None = (squeezed, "relu", "hard-sigmoid") if squeezed else None
            value = _inverted_residual(
                graph, value, kernel, wide, channels, activation, stride, squeeze
            )
        value = graph(GlobalAvgPool(), graph(Conv(960, 1, activation="hard-swish"), value))
        value = graph(Dense(1280, "hard-swish"), value)
        return graph(Softmax(), graph(Dense(self.classes), value))


@dataclass(frozen=True, kw_only=True)
class EfficientNetB0(ImageNetwork):
    """Tan and Le 2019, https://arxiv.org/abs/1905.11946, table 1, as PyTorch pads it."""

    family: ClassVar[str] = "efficientnetb0"

    def build(self, graph: Graph, value: Value) -> Value:
        value = graph(Conv(32, 3, 2, padding=1, activation="silu"), value)
        for expansion, kernel, channels, blocks, first_stride in _EFFICIENT:
            for index in range(blocks):
                here, stride = value.shape[-1], 1 if index else first_stride
                squeeze: _Squeeze = (here // 4, "silu", "sigmoid")
                value = _inverted_residual(
                    graph, value, kernel, expansion * here, channels, "silu", stride, squeeze
                )
        value = graph(Conv(1280, 1, activation="silu"), value)
        return classifier(graph, value, self.classes)


_Squeeze = tuple[int, Activation, Activation]
"""Channels, their activation, and that of the weights of all channels."""


def _inverted_residual(
    graph: Graph,
    value: Value,
    kernel: int,
    wide: int,
    channels: int,
    activation: Activation,
    stride: int,
    squeeze: _Squeeze | None = None,
) -> Value:
    """Widen, convolve and weigh each channel, narrow; beside the value if the shape stays."""
    hidden = value
    if wide != value.shape[-1]:
        hidden = graph(Conv(wide, 1, activation=activation), hidden)
    depthwise = Conv(wide, kernel, stride, kernel // 2, groups=wide, activation=activation)
    hidden = graph(depthwise, hidden)
    if squeeze is not None:
        hidden = _excited(graph, hidden, *squeeze)
    hidden = graph(Conv(channels, 1), hidden)
    same: Shape = (*value.shape[:-1], channels)
    return graph(Add(), hidden, value) if stride == 1 and same == value.shape else hidden


def _excited(
    graph: Graph, value: Value, squeezed: int, activation: Activation, gate: Activation
) -> Value:
    """Weigh each channel by what is made of the means of all: https://arxiv.org/abs/1709.01507."""
    batch, *_, channels = value.shape
    means = graph(Dense(squeezed, activation), graph(GlobalAvgPool(), value))
    weights = graph(Reshape((batch, 1, 1, channels)), graph(Dense(channels, gate), means))
    return graph(Multiply(), value, weights)
