"""Residual networks in two and three dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pytest_ansorbench.workloads.networks.graph import Graph, Value
from pytest_ansorbench.workloads.networks.layers import Add, Conv, MaxPool, Relu, Shape
from pytest_ansorbench.workloads.networks.network import ImageNetwork, Network, classifier
from pytest_ansorbench.workloads.operators.shape import BadShape, Shaped

_WIDTHS: Final = (64, 128, 256, 512)
_BLOCKS: Final = {18: (2, 2, 2, 2), 50: (3, 4, 6, 3)}
"""Blocks of each stage, by depth."""


@dataclass(frozen=True, kw_only=True)
class ResNet(ImageNetwork):
    """ResNet for images: He et al. 2015, https://arxiv.org/abs/1512.03385, table 1.

    Stages are entered with stride 2 in their first convolution, as there; the variant called
    1.5, with the stride in the 3x3 convolution of a bottleneck, has other shapes.

    Attributes:
        depth: 18 or 50.
    """

    depth: int

    def __post_init__(self) -> None:
        if self.depth not in _BLOCKS:
            raise BadShape("depth", self.depth, "one of 18 and 50", 18)
        super().__post_init__()

    @property
    def family(self) -> str:  # type: ignore[override]
        return f"resnet{self.depth}"

    def build(self, graph: Graph, value: Value) -> Value:
        block = _basic if self.depth == 18 else _bottleneck
        value = graph(Conv(64, 7, stride=2, padding=3, activation="relu"), value)
        value = graph(MaxPool(3, stride=2, padding=1), value)
        for stage, (width, blocks) in enumerate(zip(_WIDTHS, _BLOCKS[self.depth], strict=True)):
            for index in range(blocks):
                value = block(graph, value, width, stride=2 if stage and not index else 1)
        return classifier(graph, value, self.classes)


@dataclass(frozen=True, kw_only=True)
class ResNet3d18(Shaped, Network):
    """3D-ResNet-18 for clips: Hara et al. 2017, https://arxiv.org/abs/1708.07632, table 1.

    Shortcuts that change shape are 1x1x1 convolutions (type B).

    Attributes:
        batch: Clips.
        frames: Frames of a clip.
        size: Rows and columns of a frame.
        classes: Classes to tell apart.
    """

    batch: int = 1
    frames: int = 16
    size: int = 112
    classes: int = 400

    @property
    def id(self) -> str:
        classes = "" if self.classes == 400 else f"-o{self.classes}"
        return f"resnet3d18-n{self.batch}-t{self.frames}-s{self.size}{classes}"

    @property
    def input_shapes(self) -> tuple[Shape, ...]:
        return ((self.batch, self.frames, self.size, self.size, 3),)

    def build(self, graph: Graph, value: Value) -> Value:
        value = graph(Conv(64, 7, stride=(1, 2, 2), padding=3, activation="relu"), value)
        value = graph(MaxPool(3, stride=2, padding=1), value)
        for stage, width in enumerate(_WIDTHS):
            value = _basic(graph, value, width, stride=2 if stage else 1)
            value = _basic(graph, value, width, stride=1)
        return classifier(graph, value, self.classes)


def _basic(graph: Graph, value: Value, width: int, *, stride: int) -> Value:
    """Two 3x3 convolutions beside a shortcut."""
    hidden = graph(Conv(width, 3, stride, padding=1, activation="relu"), value)
    hidden = graph(Conv(width, 3, padding=1), hidden)
    return graph(Relu(), graph(Add(), hidden, _shortcut(graph, value, width, stride)))


def _bottleneck(graph: Graph, value: Value, width: int, *, stride: int) -> Value:
    """1x1, 3x3 and 1x1 convolutions beside a shortcut, four times as wide at the end."""
    hidden = graph(Conv(width, 1, stride, activation="relu"), value)
    hidden = graph(Conv(width, 3, padding=1, activation="relu"), hidden)
    hidden = graph(Conv(4 * width, 1), hidden)
    return graph(Relu(), graph(Add(), hidden, _shortcut(graph, value, 4 * width, stride)))


def _shortcut(graph: Graph, value: Value, width: int, stride: int) -> Value:
    """The value itself, or a 1x1 convolution where the shape changes."""
    if stride == 1 and value.shape[-1] == width:
        return value
    return graph(Conv(width, 1, stride), value)
