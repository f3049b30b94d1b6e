"""Networks whose layers come one after the other: a multilayer perceptron, and VGG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from pytest_ansorbench.workloads.networks.graph import Graph, Value
from pytest_ansorbench.workloads.networks.layers import (
    Conv,
    Dense,
    MaxPool,
    Reshape,
    Shape,
    Softmax,
)
from pytest_ansorbench.workloads.networks.network import ImageNetwork, Network
from pytest_ansorbench.workloads.operators.shape import Shaped

# Channels and convolutions of each stage of VGG.
_STAGES: Final = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))


@dataclass(frozen=True, kw_only=True)
class Mlp(Shaped, Network):
    """Two hidden layers and a softmax, as in TVM's tutorials.

    Attributes:
        batch: Inputs.
        features: Features of an input, 784 for handwritten digits.
        hidden: Features of the hidden layers.
        classes: Classes to tell apart.
    """

    batch: int = 1
    features: int = 784
    hidden: tuple[int, int] = (128, 64)
    classes: int = 10

    @property
    def id(self) -> str:
        hidden = "x".join(map(str, self.hidden))
        return f"mlp-n{self.batch}-i{self.features}-h{hidden}-o{self.classes}"

    @property
    def input_shapes(self) -> tuple[Shape, ...]:
        return ((self.batch, self.features),)

    def build(self, graph: Graph, value: Value) -> Value:
        for features in self.hidden:
            value = graph(Dense(features, activation="relu"), value)
        return graph(Softmax(), graph(Dense(self.classes), value))


@dataclass(frozen=True, kw_only=True)
class Vgg16(ImageNetwork):
    """Simonyan and Zisserman 2014, https://arxiv.org/abs/1409.1556, table 1, column D."""

    family: ClassVar[str] = "vgg16"

    def build(self, graph: Graph, value: Value) -> Value:
        for channels, convolutions in _STAGES:
            for _ in range(convolutions):
                value = graph(Conv(channels, 3, padding=1, activation="relu"), value)
            value = graph(MaxPool(2, stride=2), value)
        batch, height, width, channels = value.shape
        value = graph(Reshape((batch, height * width * channels)), value)
        for _ in range(2):
            value = graph(Dense(4096, activation="relu"), value)
        return graph(Softmax(), graph(Dense(self.classes), value))
