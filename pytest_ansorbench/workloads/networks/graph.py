"""A network as layers in order: what each takes, what comes out, how much arithmetic it is."""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pytest_ansorbench.workloads.networks.layers import Layer, Shape, Weight

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Value:
    """What goes into a layer or comes out of one."""

    index: int
    shape: Shape


@dataclass(frozen=True)
class Node:
    """A layer in its place."""

    name: str
    layer: Layer
    inputs: tuple[Value, ...]
    output: Value

    @property
    def weights(self) -> tuple[Weight, ...]:
        return self.layer.weights(*(value.shape for value in self.inputs))

    @property
    def multiply_adds(self) -> int:
        return self.layer.multiply_adds(*(value.shape for value in self.inputs))


class Graph:
    """A network under construction: call it with a layer and what goes in, get what comes out."""

    def __init__(self, *input_shapes: Shape) -> None:
        self.inputs = [Value(index, shape) for index, shape in enumerate(input_shapes)]
        self.nodes: list[Node] = []
        self._layers = Counter[str]()

    def __call__(self, layer: Layer, *inputs: Value) -> Value:
        """Add a layer."""
        kind = type(layer).__name__.lower()
        self._layers[kind] += 1
        shape = layer.output_shape(*(value.shape for value in inputs))
        output = Value(len(self.inputs) + len(self.nodes), shape)
        self.nodes.append(Node(f"{kind}{self._layers[kind]}", layer, inputs, output))
        return output

    @property
    def flops(self) -> int:
        """Floating-point operations of one inference: two for each multiply-add."""
        return 2 * sum(node.multiply_adds for node in self.nodes)

    @property
    def weights(self) -> dict[str, Weight]:
        """All weights by name, e.g. `conv12.kernel`, in order of the layers."""
        return {
            f"{node.name}.{weight.role}": weight for node in self.nodes for weight in node.weights
        }


def draw_weights(graph: Graph, seed: str) -> dict[str, NDArray[np.float32]]:
    """Weights from their distributions, the same in every process."""
    drawn = {}
    for name, weight in graph.weights.items():
        rng = np.random.default_rng(zlib.crc32(f"{seed}/{name}".encode()))
        array = rng.standard_normal(weight.shape, np.float32)
        array *= np.float32(weight.deviation)
        array += np.float32(weight.mean)
        drawn[name] = array
    return drawn
