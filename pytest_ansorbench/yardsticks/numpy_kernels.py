"""NumPy's way to compute the operators that ship with the package, in its BLAS's types.

Products of matrices are its BLAS's; convolutions are one such product for each tap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ansorbench.workloads import (
    BatchMatmul,
    MatrixNorm,
    Operator,
    Softmax,
    TransposeBatchMatmul,
)
from pytest_ansorbench.workloads.operators.convolution import Convolution
from pytest_ansorbench.yardsticks.kernel import LibraryKernel, NoKernel, require_types
from pytest_ansorbench.yardsticks.sources import Source, require_operator, shipped_case

if TYPE_CHECKING:
    from numpy.typing import NDArray


def kernel(source: Source, inputs: Sequence[NDArray[Any]], threads: int) -> LibraryKernel:
    """An operator's kernel on its own inputs: NoKernel if nobody would use NumPy for it.

    How many threads its BLAS has, the environment says.
    """
    operator = require_operator(shipped_case(source))
    require_types(operator, "numpy", "float32", "float64")
    return LibraryKernel(
        _kernel(operator, *operator.inputs()), lambda returned: [np.asarray(returned)]
    )


@singledispatch
def _kernel(operator: Operator, *inputs: Any) -> Callable[[], Any]:
    raise NoKernel(f"numpy has no kernel of {type(operator).__name__}")


@_kernel.register(BatchMatmul)
@_kernel.register(TransposeBatchMatmul)
def _(operator: BatchMatmul | TransposeBatchMatmul, *matrices: Any) -> Callable[[], Any]:
    return lambda: operator.exact(*matrices)  # in the matrices' own type


@_kernel.register(Softmax)
def _(operator: Softmax, scores: Any) -> Callable[[], Any]:
    def softmax() -> Any:
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        powers /= powers.sum(axis=1, keepdims=True)
        return powers

    return softmax


@_kernel.register(MatrixNorm)
def _(operator: MatrixNorm, matrices: Any) -> Callable[[], Any]:
    return lambda: np.linalg.norm(matrices, axis=(1, 2))


@_kernel.register(Convolution)
def _(operator: Convolution, data: Any, weight: Any, *rest: Any) -> Callable[[], Any]:
    if operator.group_count > 1 or rest:
        raise NoKernel(f"numpy has no kernel of {type(operator).__name__}")

    def convolve() -> Any:
        output = np.zeros(operator.output_shape, operator.output_dtype)
        for tap, view in operator.window.views(data, operator.axes):
            output += view @ weight[tap]
        return output

    return convolve
