"""Dense layers: a product with weights, and what is fused into it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from pytest_ansorbench.workloads.operators.shape import BadShape, require_bool, require_one_of
from pytest_ansorbench.workloads.operators.typed import ALL, FLOATS, WIDE, Typed

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te

_FLOPS: Final = {"none": 0, "gelu": 5, "silu": 4}
"""Activations, and the operations of one, an exponential or error function counted as one."""


def _activated(activation: str, x: Any, dtype: str) -> Any:
    """The activation of an element of a tensor expression."""
    from tvm import te, tirx

    if activation == "gelu":
        return x * (1 + te.erf(x * tirx.const(math.sqrt(0.5), dtype))) / 2
    if activation == "silu":
        return x / (1 + te.exp(0 - x))
    return x


def _exactly_activated(activation: str, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same in NumPy."""
    if activation == "gelu":
        from scipy.special import erf

        return np.asarray(x * (1 + erf(x * math.sqrt(0.5))) / 2)
    if activation == "silu":
        return np.asarray(x / (1 + np.exp(-x)))
    return x


@dataclass(frozen=True, kw_only=True)
class Product(Typed):
    """An operator with a product of data and weights, matrices.

    Attributes:
        m: Rows of the data, tokens in a language model.
        n: Columns of the output.
        k: Columns of the data, rows of the weights.
    """

    m: int
    n: int
    k: int

    @property
    def reduction_length(self) -> int:
        return self.k

    def matmul(self, data: te.Tensor, weight: te.Tensor, name: str) -> te.Tensor:
        from tvm import te

        k = te.reduce_axis((0, self.k), name="k")
        return te.compute(
            (self.m, weight.shape[1]),
            lambda i, j: te.sum(self.product(data(i, k), weight(k, j)), axis=k),
            name=name,
        )


@dataclass(frozen=True, kw_only=True)
class Dense(Product):
    """`activation(data @ weight + bias)`: inputs (m, k), (k, n) and, with a bias, (n,).

    FLOP: `2 * m * n * k`, and for each element of the output one with a bias, five for GELU and
    four for SiLU. All of it is computed in the accumulator. The bias of whole numbers has the
    accumulator's type; they have no activation, for want of a requantization.

    Attributes:
        bias: Whether a bias is added.
        activation: none, gelu (the exact one, with the error function) or silu.
    """

    bias: bool = False
    activation: str = "none"

    accumulators: ClassVar[Mapping[str, Sequence[str]]] = {**ALL, **WIDE}

    def __post_init__(self) -> None:
        require_bool(bias=self.bias)
        require_one_of("activation", self.activation, [*_FLOPS])
        super().__post_init__()
        if self.dtype not in FLOATS and self.activation != "none":
            raise BadShape("activation", self.activation, f"none for {self.dtype}", "none")

    @property
    def shape_id(self) -> str:
        fused = "-bias" if self.bias else ""
        fused += "" if self.activation == "none" else f"-{self.activation}"
        return f"dense-m{self.m}-n{self.n}-k{self.k}{fused}"

    @property
    def flops(self) -> int:
        return self.m * self.n * (2 * self.k + self.bias + _FLOPS[self.activation])

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        shapes: tuple[tuple[int, ...], ...] = ((self.m, self.k), (self.k, self.n))
        return (*shapes, (self.n,)) if self.bias else shapes

    @property
    def input_dtypes(self) -> tuple[str, ...]:
        data, weight, *bias = super().input_dtypes
        return (data, weight, *(self.output_dtype for _ in bias))

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te

        data, weight, *bias = inputs
        total = self.matmul(data, weight, "dense")
        if not bias and self.activation == "none":
            return total

        def element(i: Any, j: Any) -> Any:
            value = total(i, j)
            for one in bias:
                value = value + one(j).astype(self.sum_dtype)
            return _activated(self.activation, value, self.sum_dtype)

        return te.compute((self.m, self.n), element, name="epilogue")

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        data, weight, *bias = inputs
        total = data @ weight
        for one in bias:
            total = total + one
        return _exactly_activated(self.activation, total)


@dataclass(frozen=True, kw_only=True)
class SwiGlu(Product):
    """`silu(data @ gate) * (data @ up)`, the gated layer of Llama, as one product.

    https://arxiv.org/abs/2002.05202, section 2. Inputs are data (m, k) and the weights (k, 2 * n),
    in which columns of gate and up alternate, as gpt-oss keeps them: TVM's rules tile no product
    whose result meets that of another one. The output is (m, n). FLOP: `4 * m * n * k`, and five
    for each element of the output.
    """

    form: ClassVar[str] = "swiglu-m{m}-n{n}-k{k}"
    accumulators: ClassVar[Mapping[str, Sequence[str]]] = WIDE

    @property
    def flops(self) -> int:
        return self.m * self.n * (4 * self.k + _FLOPS["silu"] + 1)

    @property
    def reduction_length(self) -> int:
        """Terms of both factors, whose errors add up."""
        return 2 * self.k

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        return ((self.m, self.k), (self.k, 2 * self.n))

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te

        data, weight = inputs
        both = self.matmul(data, weight, "both")
        return te.compute(
            (self.m, self.n),
            lambda i, j: _activated("silu", both(i, 2 * j), self.sum_dtype) * both(i, 2 * j + 1),
            name="swiglu",
        )

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        data, weight = inputs
        both = data @ weight
        return _exactly_activated("silu", both[:, ::2]) * both[:, 1::2]
