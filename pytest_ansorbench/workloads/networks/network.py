"""The base of every built-in network: layers in, a Relax program and its tasks out."""

from __future__ import annotations

import abc
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pytest_ansorbench.workloads.case import Task
from pytest_ansorbench.workloads.inputs import FLOAT_RANGES, Draw, Input, Ways, draws
from pytest_ansorbench.workloads.networks.graph import Graph, Value, draw_weights
from pytest_ansorbench.workloads.networks.layers import Dense, GlobalAvgPool, Shape, Softmax
from pytest_ansorbench.workloads.operators.shape import Shaped

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import IRModule


class Network(abc.ABC):
    """A network in inference, in float32; a `NetworkCase`.

    Subclasses are frozen dataclasses that say what its layers are. Weights are drawn at random,
    since latency does not depend on them; batch norm is folded into convolutions. Neither
    importing a subclass nor making one imports TVM.
    """

    @property
    @abc.abstractmethod
    def id(self) -> str:
        """Stable identifier, e.g. `resnet18-n1-s224`."""

    @property
    @abc.abstractmethod
    def input_shapes(self) -> tuple[Shape, ...]:
        """Shape of each input; channels last."""

    @abc.abstractmethod
    def build(self, graph: Graph, value: Value) -> Value:
        """Add all layers to a graph.

        Args:
            graph: Call it with a layer and what goes in.
            value: The network's input; `graph.inputs` has all of several.

        Returns:
            The network's output, which has to come out of the last layer.
        """

    def __str__(self) -> str:
        return self.id

    def graph(self) -> Graph:
        """The layers in order.

        Raises:
            LayerError: They do not fit together, as where an image is too small.
        """
        graph = Graph(*self.input_shapes)
        self.build(graph, graph.inputs[0])
        return graph

    @property
    def flops(self) -> int:
        """Floating-point operations of one inference: two for each multiply-add."""
        return self.graph().flops

    def program(self) -> IRModule:
        """See `NetworkCase.program`."""
        from pytest_ansorbench.workloads.networks.to_relax import fuse, to_relax

        return fuse(to_relax(self.graph()))

    def arguments(self) -> tuple[NDArray[Any], ...]:
        """Random inputs in [-1, 1) and random weights, the same in every process."""
        inputs = [Input("float32", shape) for shape in self.input_shapes]
        drawn = Draw(inputs, FLOAT_RANGES[0])
        return (*drawn(zlib.crc32(self.id.encode())), *self.weights())

    def weights(self) -> tuple[NDArray[Any], ...]:
        """Random weights, the same in every process."""
        return tuple(draw_weights(self.graph(), seed=self.id).values())

    def draws(self, inputs: Sequence[Input]) -> Ways:
        """See `DrawnNetwork.draws`."""
        return draws(inputs)

    def tasks(self) -> tuple[Task, ...]:
        """See `NetworkCase.tasks`."""
        from pytest_ansorbench.workloads.networks.extract import extract_tasks

        return extract_tasks(self.program())


@dataclass(frozen=True, kw_only=True)
class ImageNetwork(Shaped, Network):
    """A network that classifies square images of three channels.

    Attributes:
        batch: Images.
        size: Rows and columns of an image.
        classes: Classes to tell apart.
    """

    batch: int = 1
    size: int = 224
    classes: int = 1000

    family: ClassVar[str]
    """What the id begins with."""

    @property
    def id(self) -> str:
        """E.g. `mobilenetv2-n1-s224`; other than the usual 1,000 classes are named as well."""
        classes = "" if self.classes == 1000 else f"-o{self.classes}"
        return f"{self.family}-n{self.batch}-s{self.size}{classes}"

    @property
    def input_shapes(self) -> tuple[Shape, ...]:
        """Images of three channels."""
        return ((self.batch, self.size, self.size, 3),)


def classifier(graph: Graph, value: Value, classes: int) -> Value:
    """How most networks end: means over all positions, a dense layer, probabilities."""
    return graph(Softmax(), graph(Dense(classes), graph(GlobalAvgPool(), value)))
