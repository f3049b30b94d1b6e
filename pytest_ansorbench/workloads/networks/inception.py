"""Inception v3: several convolutions side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pytest_ansorbench.workloads.networks.graph import Graph, Value
from pytest_ansorbench.workloads.networks.layers import (
    AvgPool,
    Concat,
    Conv,
    MaxPool,
    Shape,
)
from pytest_ansorbench.workloads.networks.network import ImageNetwork, classifier


@dataclass(frozen=True, kw_only=True)
class InceptionV3(ImageNetwork):
    """Szegedy et al. 2015, https://arxiv.org/abs/1512.00567, without the auxiliary classifier.

    Widths are those of the implementation that everybody uses:
    https://github.com/pytorch/vision/blob/main/torchvision/models/inception.py
    """

    size: int = 299

    family: ClassVar[str] = "inceptionv3"

    def build(self, graph: Graph, value: Value) -> Value:
        value = _chain(graph, value, (32, 3, 2, 0), (32, 3, 1, 0), (64, 3, 1, 1))
        value = graph(MaxPool(3, stride=2), value)
        value = _chain(graph, value, (80, 1, 1, 0), (192, 3, 1, 0))
        value = graph(MaxPool(3, stride=2), value)
        for pooled in (32, 64, 64):
            value = _module_35(graph, value, pooled)
        value = _reduction_17(graph, value)
        for width in (128, 160, 160, 192):
            value = _module_17(graph, value, width)
        value = _reduction_8(graph, value)
        for _ in range(2):
            value = _module_8(graph, value)
        return classifier(graph, value, self.classes)


_Setting = tuple[int, int | Shape, int, int | Shape]
"""Channels, kernel, stride and padding of a convolution."""


def _chain(graph: Graph, value: Value, *settings: _Setting) -> Value:
    """Convolutions one after the other, each with its activation."""
    for channels, kernel, stride, padding in settings:
        value = graph(Conv(channels, kernel, stride, padding, activation="relu"), value)
    return value


def _across(channels: int, length: int) -> _Setting:
    """Along a row."""
    return (channels, (1, length), 1, (0, length // 2))


def _down(channels: int, length: int) -> _Setting:
    """Along a column."""
    return (channels, (length, 1), 1, (length // 2, 0))


def _pooled(graph: Graph, value: Value, channels: int) -> Value:
    return _chain(graph, graph(AvgPool(3, stride=1, padding=1), value), (channels, 1, 1, 0))


def _module_35(graph: Graph, value: Value, pooled: int) -> Value:
    """Figure 5 of the paper."""
    return graph(
        Concat(),
        _chain(graph, value, (64, 1, 1, 0)),
        _chain(graph, value, (48, 1, 1, 0), (64, 5, 1, 2)),
        _chain(graph, value, (64, 1, 1, 0), (96, 3, 1, 1), (96, 3, 1, 1)),
        _pooled(graph, value, pooled),
    )


def _reduction_17(graph: Graph, value: Value) -> Value:
    return graph(
        Concat(),
        _chain(graph, value, (384, 3, 2, 0)),
        _chain(graph, value, (64, 1, 1, 0), (96, 3, 1, 1), (96, 3, 2, 0)),
        graph(MaxPool(3, stride=2), value),
    )


def _module_17(graph: Graph, value: Value, width: int) -> Value:
    """Figure 6 of the paper."""
    doubled = (_down(width, 7), _across(width, 7), _down(width, 7), _across(192, 7))
    return graph(
        Concat(),
        _chain(graph, value, (192, 1, 1, 0)),
        _chain(graph, value, (width, 1, 1, 0), _across(width, 7), _down(192, 7)),
        _chain(graph, value, (width, 1, 1, 0), *doubled),
        _pooled(graph, value, 192),
    )


def _reduction_8(graph: Graph, value: Value) -> Value:
    return graph(
        Concat(),
        _chain(graph, value, (192, 1, 1, 0), (320, 3, 2, 0)),
        _chain(graph, value, (192, 1, 1, 0), _across(192, 7), _down(192, 7), (192, 3, 2, 0)),
        graph(MaxPool(3, stride=2), value),
    )


def _module_8(graph: Graph, value: Value) -> Value:
    """Figure 7 of the paper."""
    narrow = _chain(graph, value, (384, 1, 1, 0))
    deep = _chain(graph, value, (448, 1, 1, 0), (384, 3, 1, 1))
    return graph(
        Concat(),
        _chain(graph, value, (320, 1, 1, 0)),
        _chain(graph, narrow, _across(384, 3)),
        _chain(graph, narrow, _down(384, 3)),
        _chain(graph, deep, _across(384, 3)),
        _chain(graph, deep, _down(384, 3)),
        _pooled(graph, value, 192),
    )
