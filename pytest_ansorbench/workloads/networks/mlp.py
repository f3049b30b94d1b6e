"""A multilayer perceptron."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pytest_ansorbench.workloads.networks.graph import Graph, Value
from pytest_ansorbench.workloads.networks.layers import Dense, Shape, Softmax
from pytest_ansorbench.workloads.networks.network import Network
from pytest_ansorbench.workloads.operators.shape import require_positive


@dataclass(frozen=True, kw_only=True)
class Mlp(Network):
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

    def __post_init__(self) -> None:
        first, second = self.hidden
        require_positive(batch=self.batch, features=self.features, classes=self.classes)
        require_positive(hidden=first)
        require_positive(hidden=second)

    @property
    def id(self) -> str:
        """E.g. `mlp-n1-i784-h128x64-o10`."""
        hidden = "x".join(map(str, self.hidden))
        return f"mlp-n{self.batch}-i{self.features}-h{hidden}-o{self.classes}"

    @property
    def input_shape(self) -> Shape:
        """Rows of features."""
        return (self.batch, self.features)

    def build(self, graph: Graph, value: Value) -> Value:
        """Dense layers, one after the other."""
        for features in self.hidden:
            value = graph(Dense(features, activation="relu"), value)
        return graph(Softmax(), graph(Dense(self.classes), value))


MLP: Final = Mlp()
