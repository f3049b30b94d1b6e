"""VGG: 3x3 convolutions and large dense layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from pytest_ansorbench.workloads.networks.graph import Graph, Value
from pytest_ansorbench.workloads.networks.layers import Conv, Dense, MaxPool, Reshape, Softmax
from pytest_ansorbench.workloads.networks.network import ImageNetwork

_STAGES: Final = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))
"""Channels and convolutions of each stage."""


@dataclass(frozen=True, kw_only=True)
class Vgg16(ImageNetwork):
    """Simonyan and Zisserman 2014, https://arxiv.org/abs/1409.1556, table 1, column D."""

    family: ClassVar[str] = "vgg16"

    def build(self, graph: Graph, value: Value) -> Value:
        """Five stages, three dense layers."""
        for channels, convolutions in _STAGES:
            for _ in range(convolutions):
                value = graph(Conv(channels, 3, padding=1, activation="relu"), value)
            value = graph(MaxPool(2, stride=2), value)
        batch, height, width, channels = value.shape
        value = graph(Reshape((batch, height * width * channels)), value)
        for _ in range(2):
            value = graph(Dense(4096, activation="relu"), value)
        return graph(Softmax(), graph(Dense(self.classes), value))


VGG16: Final = Vgg16()
