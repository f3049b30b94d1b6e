"""PyTorch's operators that the operators which ship with the package are, in one call if there is.

Batch normalization is folded into weights and bias, as inference toolkits do.
"""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.workloads.networks.to_torch import (
    Recorder,
    kernel_tensor,
    rms_norm,
    rotated,
)
from pytest_ansorbench.workloads.operator import Operator
from pytest_ansorbench.workloads.operators.attention import Attention, Rope
from pytest_ansorbench.workloads.operators.batch_matmul import BatchMatmul
from pytest_ansorbench.workloads.operators.capsule_conv2d import CapsuleConv2d
from pytest_ansorbench.workloads.operators.conv2d_bn_relu import Conv2dBnRelu
from pytest_ansorbench.workloads.operators.convolution import Convolution
from pytest_ansorbench.workloads.operators.dense import Dense, SwiGlu
from pytest_ansorbench.workloads.operators.depthwise_conv2d import DepthwiseConv2d
from pytest_ansorbench.workloads.operators.gathered import BlockSparseDense, Embedding, Moe
from pytest_ansorbench.workloads.operators.matrix_norm import MatrixNorm
from pytest_ansorbench.workloads.operators.normalization import GroupNorm, LayerNorm, RmsNorm
from pytest_ansorbench.workloads.operators.pooling import AvgPool2d, GlobalAvgPool2d, MaxPool2d
from pytest_ansorbench.workloads.operators.ranking import ArgMax, TopK
from pytest_ansorbench.workloads.operators.softmax import Softmax
from pytest_ansorbench.workloads.operators.transpose_batch_matmul import TransposeBatchMatmul
from pytest_ansorbench.workloads.operators.transposed_conv2d import TransposedConv2d
from pytest_ansorbench.yardsticks.kernel import NoKernel, require_types
from pytest_ansorbench.yardsticks.sources import data_places

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor
    from torch.fx import GraphModule

_EPSILON: Final = 1e-5  # as in the operators


def operator_module(operator: Operator) -> GraphModule:
    """An operator in PyTorch, weights as constants: NoKernel if it has none like it.

    It takes the inputs that `data_places` names, as `laid_out` gives them.
    """
    require_types(operator, "torch", "float32", "float64", "float16", "bfloat16")
    recorder, places = Recorder(), data_places(operator)
    arguments = [
        recorder.input(f"data{place}") if place in places else tensor_of(array)
        for place, array in enumerate(operator.inputs())
    ]
    return recorder.module(_expression(operator, recorder, *arguments))


def tensor_of(array: NDArray[Any]) -> Tensor:
    """The same memory as PyTorch's, which does not know ml_dtypes' types."""
    import torch

    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


@singledispatch
def _expression(operator: Operator, recorder: Recorder, *arguments: Any) -> Any:
    raise NoKernel(f"torch has no kernel of {type(operator).__name__}")


@_expression.register(BatchMatmul)
def _(operator: BatchMatmul, recorder: Recorder, left: Any, right: Any) -> Any:
    if operator.batch == 1:
        return (left[0] @ right[0])[None]
    return left @ right


@_expression.register(TransposeBatchMatmul)
def _(operator: TransposeBatchMatmul, recorder: Recorder, queries: Any, keys: Any) -> Any:
    return queries.permute(0, 2, 1, 3) @ keys.permute(0, 2, 3, 1)


@_expression.register(Softmax)
def _(operator: Softmax, recorder: Recorder, scores: Any) -> Any:
    return scores.softmax(1)


@_expression.register(MatrixNorm)
def _(operator: MatrixNorm, recorder: Recorder, matrices: Any) -> Any:
    import torch

    return torch.linalg.vector_norm(matrices, dim=(1, 2))


@_expression.register(Convolution)
def _(operator: Convolution, recorder: Recorder, data: Any, weight: Tensor) -> Any:
    return _convolution(operator, recorder, data, weight, None)


@_expression.register(Conv2dBnRelu)
def _(
    operator: Conv2dBnRelu,
    recorder: Recorder,
    data: Any,
    weight: Tensor,
    scale: Tensor,
    shift: Tensor,
) -> Any:
    return _convolution(operator, recorder, data, weight * scale, shift).relu()


@_expression.register(CapsuleConv2d)
def _(operator: CapsuleConv2d, recorder: Recorder, data: Any, weight: Tensor) -> Any:
    from torch.nn import functional

    ordered = weight.permute(0, 1, 4, 2, 5, 3)  # of h w k j c o
    channels = operator.in_channels * operator.capsule
    kernel = recorder.constant(kernel_tensor(ordered.reshape(*operator.taps, channels, -1)))
    return functional.conv2d(data, kernel, None, operator.stride, operator.padding)


@_expression.register(DepthwiseConv2d)
def _(operator: DepthwiseConv2d, recorder: Recorder, data: Any, weight: Tensor) -> Any:
    from torch.nn import functional

    kernel = recorder.constant(weight.permute(2, 0, 1)[:, None].contiguous())
    return functional.conv2d(
        data, kernel, None, operator.stride, operator.padding, 1, operator.channels
    )


@_expression.register(TransposedConv2d)
def _(operator: TransposedConv2d, recorder: Recorder, data: Any, weight: Tensor) -> Any:
    from torch.nn import functional

    kernel = recorder.constant(kernel_tensor(weight.transpose(2, 3)))
    return functional.conv_transpose2d(data, kernel, None, operator.stride, operator.padding)


@_expression.register(Dense)
def _(operator: Dense, recorder: Recorder, data: Any, weight: Tensor, *bias: Tensor) -> Any:
    from torch.nn import functional

    added = recorder.constant(bias[0]) if bias else None
    total = functional.linear(data, recorder.constant(weight.T.contiguous()), added)
    activations = {"none": lambda x: x, "gelu": functional.gelu, "silu": functional.silu}
    return activations[operator.activation](total)


@_expression.register(SwiGlu)
def _(operator: SwiGlu, recorder: Recorder, data: Any, weight: Tensor) -> Any:
    import torch
    from torch.nn import functional

    halves = torch.cat([weight[:, ::2], weight[:, 1::2]], 1)  # gate, then up
    both = functional.linear(data, recorder.constant(halves.T.contiguous()))
    gate, up = torch.chunk(both, 2, -1)
    return functional.silu(gate) * up


@_expression.register(Attention)
def _(operator: Attention, recorder: Recorder, queries: Any, keys: Any, values: Any) -> Any:
    """Heads that share keys are further queries of them, so that nothing is copied."""
    import torch
    from torch.nn import functional

    shared = operator.heads // operator.key_heads
    asked = (operator.batch, operator.key_heads, shared * operator.queries, operator.size)
    seen = None
    if operator.causal:
        every = torch.ones(operator.queries, operator.keys, dtype=torch.bool)
        later = operator.keys - operator.queries
        seen = recorder.constant(every.tril(later).repeat(shared, 1))
    mixed = functional.scaled_dot_product_attention(queries.reshape(asked), keys, values, seen)
    apart = (operator.batch, operator.heads, operator.queries, operator.size)
    return mixed.reshape(apart).transpose(1, 2)


@_expression.register(Rope)
def _(operator: Rope, recorder: Recorder, data: Any, cosine: Any, sine: Any) -> Any:
    return rotated(data, cosine, sine)


@_expression.register(RmsNorm)
def _(operator: RmsNorm, recorder: Recorder, data: Any, scale: Tensor) -> Any:
    return rms_norm(data, recorder.constant(scale), _EPSILON)


@_expression.register(LayerNorm)
def _(operator: LayerNorm, recorder: Recorder, data: Any, scale: Tensor, shift: Tensor) -> Any:
    from torch.nn import functional

    scaled, shifted = map(recorder.constant, (scale, shift))
    return functional.layer_norm(data, (operator.n,), scaled, shifted, _EPSILON)


@_expression.register(GroupNorm)
def _(operator: GroupNorm, recorder: Recorder, data: Any, scale: Tensor, shift: Tensor) -> Any:
    from torch.nn import functional

    scaled, shifted = map(recorder.constant, (scale, shift))
    return functional.group_norm(data, operator.groups, scaled, shifted, _EPSILON)


@_expression.register(MaxPool2d)
@_expression.register(AvgPool2d)
def _(operator: MaxPool2d | AvgPool2d, recorder: Recorder, data: Any) -> Any:
    from torch.nn import functional

    is_max, window = isinstance(operator, MaxPool2d), operator.window
    pool = functional.max_pool2d if is_max else functional.avg_pool2d
    # PyTorch's own limit is half the kernel.
    if 2 * window.padding > window.kernel:
        data = functional.pad(data, (window.padding,) * 4, value=-np.inf if is_max else 0.0)
        return pool(data, window.kernel, window.stride)
    return pool(data, window.kernel, window.stride, window.padding)


@_expression.register(GlobalAvgPool2d)
def _(operator: GlobalAvgPool2d, recorder: Recorder, data: Any) -> Any:
    return data.mean((2, 3))


@_expression.register(ArgMax)
def _(operator: ArgMax, recorder: Recorder, data: Any) -> Any:
    return data.argmax(1)


@_expression.register(TopK)
def _(operator: TopK, recorder: Recorder, data: Any) -> Any:
    if np.dtype(operator.dtype).itemsize < 4:
        raise NoKernel(
            f"torch.topk has no order of equal elements, of which {operator.dtype} has many"
        )
    return data.topk(operator.k, 1)[1]


@_expression.register(Embedding)
def _(operator: Embedding, recorder: Recorder, table: Tensor, tokens: Any) -> Any:
    from torch.nn import functional

    return functional.embedding(tokens, recorder.constant(table))


@_expression.register(Moe)
def _(operator: Moe, recorder: Recorder, data: Any, weight: Tensor, expert: Any) -> Any:
    return data @ recorder.constant(weight)[expert]


@_expression.register(BlockSparseDense)
def _(
    operator: BlockSparseDense, recorder: Recorder, data: Any, weight: Tensor, columns: Tensor
) -> Any:
    chosen = data.transpose(0, 1)[recorder.constant(columns)]  # rows, blocks, m, block
    return (chosen @ recorder.constant(weight)).sum(1).transpose(0, 1)


def _convolution(
    operator: Convolution, recorder: Recorder, data: Any, weight: Tensor, bias: Tensor | None
) -> Any:
    """PyTorch's convolution of as many axes as the operator has."""
    from torch.nn import functional

    axes = len(operator.extents)
    convolve = (functional.conv1d, functional.conv2d, functional.conv3d)[axes - 1]
    kernel = recorder.constant(kernel_tensor(weight))
    added = None if bias is None else recorder.constant(bias)
    window = operator.window
    return convolve(
        data,
        kernel,
        added,
        window.stride,
        window.padding,
        window.dilation,
        operator.group_count,
    )
