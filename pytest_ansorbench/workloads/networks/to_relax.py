"""From layers to TVM: a Relax program, and its operators fused into the functions to tune."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pytest_ansorbench.workloads.networks import layers
from pytest_ansorbench.workloads.networks.graph import Graph
from pytest_ansorbench.workloads.networks.layers import Activation, Layer, Shape, along
from pytest_ansorbench.workloads.networks.relax_names import NUM_INPUT, tensor_type

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.relax import Expr

_LAYOUTS: Final = {2: ("NHWC", "HWIO"), 3: ("NDHWC", "DHWIO")}
"""Layout of data and kernel, by the number of spatial axes."""


def to_relax(graph: Graph) -> IRModule:
    """Write a network as a Relax program."""
    from tvm import relax

    def variable(name: str, shape: Sequence[int]) -> Expr:
        return relax.Var(name, tensor_type(shape, "float32"))

    values = {
        value.index: variable(f"data{value.index or ''}", value.shape) for value in graph.inputs
    }
    inputs = [*values.values()]
    weights = {
        name: variable(name.replace(".", "_"), weight.shape)
        for name, weight in graph.weights.items()
    }
    builder = relax.BlockBuilder()
    counted = {NUM_INPUT: len(inputs)}
    with builder.function("main", [*inputs, *weights.values()], attrs=counted):
        with builder.dataflow():
            for node in graph.nodes:
                values[node.output.index] = builder.emit(
                    _expression(
                        node.layer,
                        [values[value.index] for value in node.inputs],
                        [weights[f"{node.name}.{weight.role}"] for weight in node.weights],
                        node.inputs[0].shape,
                    )
                )
            output = builder.emit_output(values[graph.nodes[-1].output.index])
        builder.emit_func_output(output)
    return builder.get()


def fuse(program: IRModule) -> IRModule:
    """Legalize and fuse operators as TVM's own pipeline for CPUs does before tuning."""
    import tvm
    from tvm.relax.pipeline import legalize_passes, library_dispatch_passes

    target = tvm.target.Target("llvm")
    with target, tvm.transform.PassContext(opt_level=3):
        passes = [*library_dispatch_passes(target), *legalize_passes(target)]
        return tvm.transform.Sequential(passes)(program)


def _expression(layer: Layer, inputs: list[Expr], weights: list[Expr], shape: Shape) -> Expr:
    """A layer in operators of Relax, given the shape of its first input."""
    from tvm import relax
    from tvm.relax import op

    rank = len(shape)
    axes = rank - 2
    match layer:
        case layers.Conv():
            result = {2: op.nn.conv2d, 3: op.nn.conv3d}[axes](
                inputs[0],
                weights[0],
                strides=along(layer.stride, axes),
                padding=along(layer.padding, axes),
                groups=layer.groups,
                data_layout=_LAYOUTS[axes][0],
                kernel_layout=_LAYOUTS[axes][1],
            )
            return _activated(op.add(result, weights[1]), layer.activation)
        case layers.Dense():
            result = op.matmul(inputs[0], weights[0])
            for bias in weights[1:]:
                result = op.add(result, bias)
            return _activated(result, layer.activation)
        case layers.MatMul():
            return op.matmul(*inputs)
        case layers.MaxPool() | layers.AvgPool():
            pools = {
                layers.MaxPool: {2: op.nn.max_pool2d, 3: op.nn.max_pool3d},
                layers.AvgPool: {2: op.nn.avg_pool2d, 3: op.nn.avg_pool3d},
            }
            return pools[type(layer)][axes](
                inputs[0],
                along(layer.kernel, axes),
                along(layer.stride, axes),
                along(layer.padding, axes),
                count_include_pad=True,  # of no consequence to the largest element
                layout=_LAYOUTS[axes][0],
            )
        case layers.GlobalAvgPool():
            return op.mean(inputs[0], axis=list(range(1, rank - 1)))
        case layers.Add():
            return op.add(*inputs)
        case layers.Multiply():
            return op.multiply(*inputs)
        case layers.Relu():
            return op.nn.relu(inputs[0])
        case layers.Softmax():
            return op.nn.softmax(inputs[0], axis=-1)
        case layers.CausalSoftmax():
            return _causal_softmax(inputs[0], shape)
        case layers.Scale():
            return op.multiply(inputs[0], relax.const(layer.factor, "float32"))
        case layers.LayerNorm():
            return op.nn.layer_norm(inputs[0], *weights, axes=[-1], epsilon=layer.epsilon)
        case layers.RmsNorm():
            return op.nn.rms_norm(inputs[0], weights[0], axes=[-1], epsilon=layer.epsilon)
        case layers.Rotate():
            data, cosine, sine = inputs
            return _rotated(data, cosine, sine, shape)
        case layers.ClassToken():
            token, places = weights
            return _with_class_token(inputs[0], token, places, shape)
        case layers.FirstToken():
            first = op.strided_slice(inputs[0], axes=[1], begin=[0], end=[1])
            return op.squeeze(first, axis=1)
        case layers.Concat():
            return op.concat(inputs, axis=layer.axis % rank)
        case layers.Reshape():
            return op.reshape(inputs[0], layer.shape)
        case layers.Transpose():
            return op.permute_dims(inputs[0], layer.order)
    raise TypeError(f"bad layer {layer!r}: nothing says how TVM is to compute it")


def _activated(value: Expr, activation: Activation) -> Expr:
    from tvm.relax import op

    match activation:
        case None:
            return value
        case "hard-sigmoid":
            return _hard_sigmoid(value)
        case "hard-swish":
            return op.multiply(value, _hard_sigmoid(value))
    activations = {
        "relu": op.nn.relu,
        "relu6": op.nn.relu6,
        "gelu": op.nn.gelu,
        "silu": op.nn.silu,
        "sigmoid": op.sigmoid,
    }
    return activations[activation](value)


def _hard_sigmoid(value: Expr) -> Expr:
    """https://arxiv.org/abs/1905.02244, section 5.2."""
    from tvm import relax
    from tvm.relax import op

    raised = op.nn.relu6(op.add(value, relax.const(3.0, "float32")))
    return op.multiply(raised, relax.const(1 / 6, "float32"))


def _causal_softmax(scores: Expr, shape: Shape) -> Expr:
    """Exponentials of what is seen, over their sum."""
    from tvm.relax import op

    *_, queries, keys = shape
    highest = op.max(scores, axis=[-1], keepdims=True)
    powers = op.tril(op.exp(op.subtract(scores, highest)), k=keys - queries)
    return op.divide(powers, op.sum(powers, axis=[-1], keepdims=True))


def _rotated(data: Expr, cosine: Expr, sine: Expr, shape: Shape) -> Expr:
    """Both halves of the features, turned."""
    from tvm.relax import op

    last, half = len(shape) - 1, shape[-1] // 2
    first, second = (
        op.strided_slice(data, axes=[last], begin=[begin], end=[begin + half])
        for begin in (0, half)
    )
    turned = op.concat([op.negative(second), first], axis=last)
    return op.add(op.multiply(data, cosine), op.multiply(turned, sine))


def _with_class_token(data: Expr, token: Expr, places: Expr, shape: Shape) -> Expr:
    """A row before the others of each input, and a vector added to each row."""
    from tvm.relax import op

    batch, _, features = shape
    tokens = op.concat([op.broadcast_to(token, (batch, 1, features)), data], axis=1)
    return op.add(tokens, places)
