"""From layers to PyTorch: a network as other libraries are given it, images with channels second.

Recorded as a graph of PyTorch's operators: eager mode runs it without Python of layers around
each operator, and exporters see nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.workloads.networks import layers
from pytest_ansorbench.workloads.networks.graph import Graph, Node, Value
from pytest_ansorbench.workloads.networks.layers import Activation, Layer, along

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor
    from torch.fx import GraphModule

_OF_IMAGES = (layers.Conv, layers.MaxPool, layers.AvgPool, layers.GlobalAvgPool)
_ANY_ORDER = (layers.Add, layers.Multiply, layers.Relu, layers.Scale, layers.Concat)
"""Layers that compute the same whichever axis the channels are."""


class Recorder:
    """Records what is done with tensors, as a module with constants."""

    def __init__(self) -> None:
        import torch

        self._root = torch.nn.Module()
        self._graph = torch.fx.Graph()
        self._tracer = torch.fx.proxy.GraphAppendingTracer(self._graph)
        self._constants = 0

    def input(self, name: str) -> Any:
        return self._tracer.proxy(self._graph.placeholder(name))

    def constant(self, tensor: Tensor) -> Any:
        name = f"constant{self._constants}"
        self._constants += 1
        self._root.register_buffer(name, tensor)
        return self._tracer.proxy(self._graph.get_attr(name))

    def module(self, output: Any) -> GraphModule:
        import torch

        self._graph.output(output.node)
        return torch.fx.GraphModule(self._root, self._graph).eval()


def image_inputs(graph: Graph) -> tuple[bool, ...]:
    """Of each input whether it is one of images, whose channels are second in PyTorch."""
    images = {
        value.index
        for node in graph.nodes
        if isinstance(node.layer, _OF_IMAGES)
        for value in node.inputs
    }
    return tuple(value.index in images for value in graph.inputs)


def channels_second(rank: int) -> tuple[int, ...]:
    """The order of axes that puts the last one second."""
    return (0, rank - 1, *range(1, rank - 1))


def channels_last(rank: int) -> tuple[int, ...]:
    """The order of axes that puts the second one last."""
    return (0, *range(2, rank), 1)


def kernel_tensor(kernel: Tensor) -> Tensor:
    """A convolution's kernel as PyTorch has it, of one whose channels are last, as in HWIO."""
    import torch

    axes = kernel.ndim - 2
    tensor = kernel.permute(axes + 1, axes, *range(axes))
    # Its memory in the order of the data's, as oneDNN likes it.
    orders = {2: torch.channels_last, 3: torch.channels_last_3d}
    return tensor.contiguous(memory_format=orders.get(axes, torch.contiguous_format))


def to_torch(graph: Graph, weights: Mapping[str, NDArray[Any]]) -> GraphModule:
    """Write a network in PyTorch; its weights are constants.

    Inputs are the network's; images have their channels second. The output has them last.
    """
    recorder = Recorder()
    values: dict[int, tuple[Any, bool]] = {}  # with whether channels are second
    for value, is_image in zip(graph.inputs, image_inputs(graph), strict=True):
        values[value.index] = recorder.input(f"data{value.index}"), is_image

    def taken(value: Value, second: bool) -> Any:
        tensor, is_second = values[value.index]
        if second == is_second:
            return tensor
        order = channels_second if second else channels_last
        return tensor.permute(*order(len(value.shape)))

    for node in graph.nodes:
        second = isinstance(node.layer, _OF_IMAGES) or (
            isinstance(node.layer, _ANY_ORDER)
            and any(values[value.index][1] for value in node.inputs)
        )
        inputs = [taken(value, second) for value in node.inputs]
        arrays = [weights[f"{node.name}.{weight.role}"] for weight in node.weights]
        result = _expression(node, inputs, arrays, recorder, second)
        values[node.output.index] = result, second and len(node.output.shape) > 2
    return recorder.module(taken(graph.nodes[-1].output, False))


def _expression(
    node: Node, inputs: list[Any], arrays: list[NDArray[Any]], recorder: Recorder, second: bool
) -> Any:
    import torch
    from torch.nn import functional

    tensors = [torch.from_numpy(array) for array in arrays]
    layer, shape = node.layer, node.inputs[0].shape
    rank = len(shape)
    axes = rank - 2
    data = inputs[0]
    match layer:
        case layers.Conv():
            convolve = {2: functional.conv2d, 3: functional.conv3d}[axes]
            kernel = recorder.constant(kernel_tensor(tensors[0]))
            bias = recorder.constant(tensors[1])
            strides, padding = along(layer.stride, axes), along(layer.padding, axes)
            result = convolve(data, kernel, bias, strides, padding, 1, layer.groups)
            return _activated(result, layer.activation)
        case layers.Dense():
            bias = recorder.constant(tensors[1]) if layer.bias else None
            matrix = recorder.constant(tensors[0].T.contiguous())
            return _activated(functional.linear(data, matrix, bias), layer.activation)
        case layers.MatMul():
            return data @ inputs[1]
        case layers.MaxPool() | layers.AvgPool():
            pools: dict[type[Layer], dict[int, Any]] = {
                layers.MaxPool: {2: functional.max_pool2d, 3: functional.max_pool3d},
                layers.AvgPool: {2: functional.avg_pool2d, 3: functional.avg_pool3d},
            }
            return pools[type(layer)][axes](data, layer.kernel, layer.stride, layer.padding)
        case layers.GlobalAvgPool():
            return data.mean(tuple(range(2, rank)))
        case layers.Add():
            return data + inputs[1]
        case layers.Multiply():
            return data * inputs[1]
        case layers.Relu():
            return functional.relu(data)
        case layers.Softmax():
            return data.softmax(-1)
        case layers.CausalSoftmax():
            hidden = torch.full(shape[-2:], -torch.inf).triu(1 + shape[-1] - shape[-2])
            return (data + recorder.constant(hidden)).softmax(-1)
        case layers.Scale():
            return data * layer.factor
        case layers.LayerNorm():
            scale, shift = map(recorder.constant, tensors)
            return functional.layer_norm(data, shape[-1:], scale, shift, layer.epsilon)
        case layers.RmsNorm():
            return rms_norm(data, recorder.constant(tensors[0]), layer.epsilon)
        case layers.Rotate():
            return rotated(*inputs)
        case layers.ClassToken():
            token = tensors[0].expand(shape[0], -1, -1).contiguous()
            with_token = torch.cat([recorder.constant(token), data], 1)
            return with_token + recorder.constant(tensors[1])
        case layers.FirstToken():
            return data[:, 0]
        case layers.Concat():
            axis = layer.axis % rank
            return torch.cat(inputs, channels_second(rank).index(axis) if second else axis)
        case layers.Reshape():
            return data.reshape(layer.shape)
        case layers.Transpose():
            return data.permute(*layer.order)
    raise TypeError(f"bad layer {layer!r}: nothing says how PyTorch is to compute it")


def _activated(value: Any, activation: Activation) -> Any:
    from torch.nn import functional

    match activation:
        case None:
            return value
        case "sigmoid":
            return value.sigmoid()
    activations: dict[str, Any] = {
        "relu": functional.relu,
        "relu6": functional.relu6,
        "gelu": functional.gelu,
        "silu": functional.silu,
        "hard-swish": functional.hardswish,
        "hard-sigmoid": functional.hardsigmoid,
    }
    return activations[activation](value)


def rms_norm(data: Any, scale: Any, epsilon: float) -> Any:
    """In operators that every exporter knows."""
    return data * (data.pow(2).mean(-1, keepdim=True) + epsilon).rsqrt() * scale


def rotated(data: Any, cosine: Any, sine: Any) -> Any:
    """See `layers.Rotate`."""
    import torch

    first, second = torch.chunk(data, 2, -1)
    return data * cosine + torch.cat([-second, first], -1) * sine
