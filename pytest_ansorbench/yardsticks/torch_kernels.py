"""PyTorch's CPU kernels of the operators that ship with the package.

Data is channels last, as the operators have it and oneDNN likes it; weights are brought into
PyTorch's order beforehand. Batch normalization is folded into weights and bias, as inference
toolkits do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ansorbench.workloads import (
    BatchMatmul,
    Conv2dBnRelu,
    DepthwiseConv2d,
    MatrixNorm,
    Operator,
    Softmax,
    TransposeBatchMatmul,
    TransposedConv2d,
)
from pytest_ansorbench.workloads.operators.convolution import Convolution
from pytest_ansorbench.yardsticks.reference_kernels import LibraryKernel, NoKernel, require_types

if TYPE_CHECKING:
    from numpy.typing import NDArray


def kernel(operator: Operator, threads: int) -> LibraryKernel:
    """An operator's kernel on its own inputs: NoKernel if none computes it in one call."""
    import torch

    require_types(operator, "torch", "float32", "float64", "float16", "bfloat16")
    torch.set_num_threads(threads)
    call, to_operator = _kernel(operator, *map(_tensor, operator.inputs()))

    def without_gradients() -> Any:
        with torch.inference_mode():
            return call()

    def output(tensor: Any) -> NDArray[Any]:
        wide = torch.promote_types(tensor.dtype, torch.float32)  # NumPy lacks bfloat16
        return np.asarray(to_operator(tensor).to(wide).numpy())

    return LibraryKernel(without_gradients, output)


def _tensor(array: NDArray[Any]) -> Any:
    """The same memory as PyTorch's, which does not know ml_dtypes' types."""
    import torch

    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


_Kernel = tuple[Callable[[], Any], Callable[[Any], Any]]
"""The call, and what makes of its tensor one in the operator's layout."""


@singledispatch
def _kernel(operator: Operator, *inputs: Any) -> _Kernel:
    raise NoKernel(f"torch has no kernel of {type(operator).__name__}")


def _same(tensor: Any) -> Any:
    return tensor


@_kernel.register(BatchMatmul)
def _(operator: BatchMatmul, left: Any, right: Any) -> _Kernel:
    if operator.batch == 1:
        left, right = left[0], right[0]
        return lambda: left @ right, lambda product: product[None]
    return lambda: left @ right, _same


@_kernel.register(TransposeBatchMatmul)
def _(operator: TransposeBatchMatmul, queries: Any, keys: Any) -> _Kernel:
    return lambda: queries.permute(0, 2, 1, 3) @ keys.permute(0, 2, 3, 1), _same


@_kernel.register(Softmax)
def _(operator: Softmax, scores: Any) -> _Kernel:
    return lambda: scores.softmax(dim=1), _same


@_kernel.register(MatrixNorm)
def _(operator: MatrixNorm, matrices: Any) -> _Kernel:
    import torch

    return lambda: torch.linalg.vector_norm(matrices, dim=(1, 2)), _same


@_kernel.register(Convolution)
def _(operator: Convolution, data: Any, weight: Any) -> _Kernel:
    return _convolution(operator, data, weight, None)


@_kernel.register(Conv2dBnRelu)
def _(operator: Conv2dBnRelu, data: Any, weight: Any, scale: Any, shift: Any) -> _Kernel:
    convolve, to_operator = _convolution(operator, data, weight * scale, shift)
    return lambda: convolve().relu_(), to_operator


@_kernel.register(DepthwiseConv2d)
def _(operator: DepthwiseConv2d, data: Any, weight: Any) -> _Kernel:
    from torch.nn import functional

    images, taps = _channels_first(data), weight.permute(2, 0, 1)[:, None].contiguous()
    window = operator.window
    return (
        lambda: functional.conv2d(
            images, taps, None, window.stride, window.padding, 1, operator.channels
        ),
        _channels_last,
    )


@_kernel.register(TransposedConv2d)
def _(operator: TransposedConv2d, data: Any, weight: Any) -> _Kernel:
    from torch.nn import functional

    images, taps = _channels_first(data), weight.permute(2, 3, 0, 1).contiguous()
    return (
        lambda: functional.conv_transpose2d(images, taps, None, operator.stride, operator.padding),
        _channels_last,
    )


def _convolution(operator: Convolution, data: Any, weight: Any, bias: Any) -> _Kernel:
    """PyTorch's convolution of as many axes as the operator has."""
    from torch.nn import functional

    axes = len(operator.extents)
    convolve = (functional.conv1d, functional.conv2d, functional.conv3d)[axes - 1]
    images = _channels_first(data)
    taps = weight.permute(axes + 1, axes, *range(axes)).contiguous()
    window, groups = operator.window, operator.group_count
    return (
        lambda: convolve(
            images, taps, bias, window.stride, window.padding, window.dilation, groups
        ),
        _channels_last,
    )


def _channels_first(data: Any) -> Any:
    """The same memory, with its axes in PyTorch's order."""
    return data.permute(0, data.ndim - 1, *range(1, data.ndim - 1))


def _channels_last(images: Any) -> Any:
    return images.permute(0, *range(2, images.ndim), 1)
