"""SqueezeNet: few weights, many 1x1 convolutions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from pytest_ansorbench.workloads.networks.graph import Graph, Value
from pytest_ansorbench.workloads.networks.layers import (
    Concat,
    Conv,
    GlobalAvgPool,
    MaxPool,
    Softmax,
)
from pytest_ansorbench.workloads.networks.network import ImageNetwork

_STAGES: Final = (
    # Channels of each fire module: squeezed, and of either half that is expanded.
    ((16, 64), (16, 64)),
    ((32, 128), (32, 128)),
    ((48, 192), (48, 192), (64, 256), (64, 256)),
)


@dataclass(frozen=True, kw_only=True)
class SqueezeNet11(ImageNetwork):
    """Iandola et al. 2016, https://arxiv.org/abs/1602.07360, in its authors' version 1.1.

    https://github.com/forresti/SqueezeNet/tree/master/SqueezeNet_v1.1
    """

    family: ClassVar[str] = "squeezenet11"

    def build(self, graph: Graph, value: Value) -> Value:
        value = graph(Conv(64, 3, 2, activation="relu"), value)
        for stage in _STAGES:
            value = graph(MaxPool(3, stride=2), value)
            for squeezed, expanded in stage:
                value = _fire(graph, value, squeezed, expanded)
        value = graph(Conv(self.classes, 1, activation="relu"), value)
        return graph(Softmax(), graph(GlobalAvgPool(), value))


def _fire(graph: Graph, value: Value, squeezed: int, expanded: int) -> Value:
    """Squeeze by a 1x1 convolution, then expand by a 1x1 and a 3x3 one side by side."""
    value = graph(Conv(squeezed, 1, activation="relu"), value)
    return graph(
        Concat(),
        graph(Conv(expanded, 1, activation="relu"), value),
        graph(Conv(expanded, 3, padding=1, activation="relu"), value),
    )
