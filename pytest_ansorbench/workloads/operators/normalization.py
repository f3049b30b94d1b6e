"""Normalization of features: reductions, and a pass over all that was reduced."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from pytest_ansorbench.workloads.operators.shape import require_divisor
from pytest_ansorbench.workloads.operators.typed import WIDE, Typed

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te

_EPSILON: Final = 1e-5
"""Added to a mean of squares, so that its root is no zero."""


def _inverse_root(squares: te.Tensor, count: int, dtype: str) -> te.Tensor:
    """One over the root of a mean of squares, given their sums."""
    from tvm import te, tirx

    return te.compute(
        squares.shape,
        lambda *index: 1 / te.sqrt(squares(*index) / count + tirx.const(_EPSILON, dtype)),
        name="inverse_root",
    )


@dataclass(frozen=True, kw_only=True)
class _RowNorm(Typed):
    """Normalization of each row of an m by n matrix.

    Attributes:
        m: Rows, tokens in a language model.
        n: Columns, the axis that is normalized.
    """

    m: int
    n: int

    accumulators: ClassVar[Mapping[str, Sequence[str]]] = WIDE


@dataclass(frozen=True, kw_only=True)
class RmsNorm(_RowNorm):
    """Rows divided by the root of their mean square, times a scale.

    https://arxiv.org/abs/1910.07467. Inputs are data (m, n) and the scale (n,), the output is
    (m, n). FLOP: four for each element; what is computed once a row does not count.
    """

    form: ClassVar[str] = "rms-norm-m{m}-n{n}"

    @property
    def flops(self) -> int:
        return 4 * self.m * self.n

    @property
    def reduction_length(self) -> int:
        return self.n

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        return ((self.m, self.n), (self.n,))

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te

        data, scale = inputs
        k = te.reduce_axis((0, self.n), name="k")
        squares = te.compute(
            (self.m,),
            lambda i: te.sum(self.product(data(i, k), data(i, k)), axis=k),
            name="squares",
        )
        inverse = _inverse_root(squares, self.n, self.sum_dtype)
        return te.compute(
            (self.m, self.n),
            lambda i, j: self.product(data(i, j), scale(j)) * inverse(i),
            name="rms_norm",
        )

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        data, scale = inputs
        squares = np.mean(data * data, axis=1, keepdims=True)
        return np.asarray(data * scale / np.sqrt(squares + _EPSILON))


@dataclass(frozen=True, kw_only=True)
class LayerNorm(_RowNorm):
    """Rows with their mean subtracted and scaled to a variance of one, times a scale, and a shift.

    Inputs are data (m, n), scale and shift (n,), the output is (m, n); see
    https://arxiv.org/abs/1607.06450. The variance is the mean square of what is left without the
    mean. FLOP: eight for each element.
    """

    form: ClassVar[str] = "layer-norm-m{m}-n{n}"

    @property
    def flops(self) -> int:
        return 8 * self.m * self.n

    @property
    def reduction_length(self) -> int:
        """Terms of the mean and of the variance, whose errors add up."""
        return 2 * self.n

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        return ((self.m, self.n), (self.n,), (self.n,))

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te

        data, scale, shift = inputs
        rows = (self.m,)
        of_mean, of_squares = (te.reduce_axis((0, self.n), name="k") for _ in range(2))
        total = te.compute(
            rows,
            lambda i: te.sum(data(i, of_mean).astype(self.sum_dtype), axis=of_mean),
            name="total",
        )
        mean = te.compute(rows, lambda i: total(i) / self.n, name="mean")

        def centred(i: Any, j: Any) -> Any:
            return data(i, j).astype(self.sum_dtype) - mean(i)

        squares = te.compute(
            rows,
            lambda i: te.sum(centred(i, of_squares) * centred(i, of_squares), axis=of_squares),
            name="squares",
        )
        inverse = _inverse_root(squares, self.n, self.sum_dtype)
        return te.compute(
            (self.m, self.n),
            lambda i, j: (
                centred(i, j) * inverse(i) * scale(j).astype(self.sum_dtype)
                + shift(j).astype(self.sum_dtype)
            ),
            name="layer_norm",
        )

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        data, scale, shift = inputs
        centred = data - data.mean(axis=1, keepdims=True)
        squares = np.mean(centred * centred, axis=1, keepdims=True)
        return np.asarray(centred / np.sqrt(squares + _EPSILON) * scale + shift)


@dataclass(frozen=True, kw_only=True)
class GroupNorm(Typed):
    """`LayerNorm` over all pixels and a group of the channels of an image, as in diffusion models.

    Inputs are data NHWC, scale and shift (channels,), the output is NHWC; see
    https://arxiv.org/abs/1803.08494. FLOP: eight for each element.

    Attributes:
        batch: Images.
        height: Rows of an image.
        width: Columns of an image.
        channels: Channels of an image.
        groups: Groups that are normalized each on its own; divides `channels`.
    """

    batch: int
    height: int
    width: int
    channels: int
    groups: int

    form: ClassVar[str] = "group-norm-n{batch}-h{height}-w{width}-c{channels}-g{groups}"
    accumulators: ClassVar[Mapping[str, Sequence[str]]] = WIDE

    def __post_init__(self) -> None:
        super().__post_init__()
        require_divisor("groups", self.groups, channels=self.channels)

    @property
    def flops(self) -> int:
        return 8 * math.prod(self.input_shapes[0])

    @property
    def reduction_length(self) -> int:
        """Terms of the mean and of the variance, whose errors add up."""
        return 2 * self._count

    @property
    def _count(self) -> int:
        """Elements of a group."""
        return self.height * self.width * (self.channels // self.groups)

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        image = (self.batch, self.height, self.width, self.channels)
        return (image, (self.channels,), (self.channels,))

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te

        data, scale, shift = inputs
        size = self.channels // self.groups
        groups = (self.batch, self.groups)

        def elements() -> list[Any]:
            extents = {"rh": self.height, "rw": self.width, "rc": size}
            return [te.reduce_axis((0, extent), name=name) for name, extent in extents.items()]

        h, w, c = of_mean = elements()
        total = te.compute(
            groups,
            lambda n, g: te.sum(data(n, h, w, g * size + c).astype(self.sum_dtype), axis=of_mean),
            name="total",
        )
        mean = te.compute(groups, lambda n, g: total(n, g) / self._count, name="mean")
        rh, rw, rc = of_squares = elements()

        def centred(n: Any, g: Any) -> Any:
            return data(n, rh, rw, g * size + rc).astype(self.sum_dtype) - mean(n, g)

        squares = te.compute(
            groups,
            lambda n, g: te.sum(centred(n, g) * centred(n, g), axis=of_squares),
            name="squares",
        )
        inverse = _inverse_root(squares, self._count, self.sum_dtype)

        def element(n: Any, i: Any, j: Any, channel: Any) -> Any:
            group = te.indexdiv(channel, size)
            left = data(n, i, j, channel).astype(self.sum_dtype) - mean(n, group)
            scaled = left * inverse(n, group) * scale(channel).astype(self.sum_dtype)
            return scaled + shift(channel).astype(self.sum_dtype)

        return te.compute(self.input_shapes[0], element, name="group_norm")

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        data, scale, shift = inputs
        apart = data.reshape(self.batch, -1, self.groups, self.channels // self.groups)
        centred = apart - apart.mean(axis=(1, 3), keepdims=True)
        squares = np.mean(centred * centred, axis=(1, 3), keepdims=True)
        normalized = (centred / np.sqrt(squares + _EPSILON)).reshape(data.shape)
        return np.asarray(normalized * scale + shift)
