"""Layers: shape, weights and arithmetic of each. Channels come last everywhere, as in NHWC.

A layer says nothing of how it is computed; `to_relax` says that for TVM.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol

Shape = tuple[int, ...]
Activation = (
    Literal["relu", "relu6", "gelu", "silu", "hard-swish", "sigmoid", "hard-sigmoid"] | None
)

_VARIANCES: Final[Mapping[Activation, float]] = {
    None: 1.0,
    "relu": 2.0,
    "relu6": 2.0,
    "gelu": 2.0,
    "silu": 2.8,
    "hard-swish": 2.8,
    "sigmoid": 1.0,
    "hard-sigmoid": 1.0,
}
"""Of weights, times what they sum over, for which a deep network neither fades nor explodes."""


class LayerError(ValueError):
    """A layer cannot take what it is given."""


@dataclass(frozen=True)
class Weight:
    """An array that a layer is trained for, drawn from a normal distribution here."""

    role: str
    shape: Shape
    deviation: float
    mean: float = 0.0


class Layer(Protocol):
    """What a network is made of; `inputs` are always the shapes that go in."""

    def output_shape(self, *inputs: Shape) -> Shape:
        """The shape that comes out."""

    def weights(self, *inputs: Shape) -> tuple[Weight, ...]:
        """Its weights, in the order in which they are applied."""

    def multiply_adds(self, *inputs: Shape) -> int:
        """Multiply-adds of its products; all else is not counted, as in the literature."""


class _Plain:
    """A layer without weights and products."""

    def weights(self, *inputs: Shape) -> tuple[Weight, ...]:
        return ()

    def multiply_adds(self, *inputs: Shape) -> int:
        return 0


class _SameShape(_Plain):
    """Element by element, or along one axis."""

    def output_shape(self, *inputs: Shape) -> Shape:
        return inputs[0]


@dataclass(frozen=True)
class Conv:
    """A convolution over all axes between the first and the last, its bias and an activation.

    Batch norm is folded into kernel and bias, as in inference.
    """

    channels: int
    kernel: int | Shape
    stride: int | Shape = 1
    padding: int | Shape = 0
    groups: int = 1
    activation: Activation = None

    def output_shape(self, *inputs: Shape) -> Shape:
        [(batch, *extents, channels)] = inputs
        for count, name in ((channels, "channels that come in"), (self.channels, "channels")):
            if count % self.groups:
                raise LayerError(f"bad {name} {count}: expected a multiple of {self.groups} groups")
        return (batch, *_windows(extents, self.kernel, self.stride, self.padding), self.channels)

    def weights(self, *inputs: Shape) -> tuple[Weight, ...]:
        """A kernel as in HWIO, and a bias.

        Deviations keep the size of what flows through a deep network: He et al. 2015, section
        2.2, https://arxiv.org/abs/1502.01852.
        """
        [(_, *extents, channels)] = inputs
        taps = along(self.kernel, len(extents))
        fan_in = math.prod(taps) * channels // self.groups
        shape = (*taps, channels // self.groups, self.channels)
        kernel = Weight("kernel", shape, _deviation(fan_in, self.activation))
        return (kernel, _bias(self.channels, self.activation))

    def multiply_adds(self, *inputs: Shape) -> int:
        """One for each tap and channel of the group, for every output; padding counts."""
        [(_, *extents, channels)] = inputs
        taps = math.prod(along(self.kernel, len(extents)))
        return math.prod(self.output_shape(*inputs)) * taps * channels // self.groups


@dataclass(frozen=True)
class Dense:
    """A product with a matrix over the last axis, a bias and an activation."""

    features: int
    activation: Activation = None
    bias: bool = True

    def output_shape(self, *inputs: Shape) -> Shape:
        return (*inputs[0][:-1], self.features)

    def weights(self, *inputs: Shape) -> tuple[Weight, ...]:
        fan_in = inputs[0][-1]
        matrix = Weight("matrix", (fan_in, self.features), _deviation(fan_in, self.activation))
        return (matrix, _bias(self.features, self.activation)) if self.bias else (matrix,)

    def multiply_adds(self, *inputs: Shape) -> int:
        return math.prod(self.output_shape(*inputs)) * inputs[0][-1]


@dataclass(frozen=True)
class MatMul(_Plain):
    """The product of two inputs, matrix by matrix along the axes before the last two."""

    def output_shape(self, *inputs: Shape) -> Shape:
        left, right = inputs
        if left[:-2] != right[:-2] or left[-1] != right[-2]:
            raise LayerError(
                f"bad product of {left} and {right}: expected (..., m, k), (..., k, n)"
            )
        return (*left[:-1], right[-1])

    def multiply_adds(self, *inputs: Shape) -> int:
        return math.prod(self.output_shape(*inputs)) * inputs[0][-1]


@dataclass(frozen=True)
class _Pool(_Plain):
    """One number for each window."""

    kernel: int
    stride: int
    padding: int = 0

    def output_shape(self, *inputs: Shape) -> Shape:
        [(batch, *extents, channels)] = inputs
        return (batch, *_windows(extents, self.kernel, self.stride, self.padding), channels)


@dataclass(frozen=True)
class MaxPool(_Pool):
    """The largest element of each window; padding is never the largest."""


@dataclass(frozen=True)
class AvgPool(_Pool):
    """The mean of each window; padding counts as zeros."""


@dataclass(frozen=True)
class GlobalAvgPool(_Plain):
    """The mean over all spatial axes."""

    def output_shape(self, *inputs: Shape) -> Shape:
        return (inputs[0][0], inputs[0][-1])


@dataclass(frozen=True)
class Add(_SameShape):
    """The sum of two inputs of one shape."""

    def output_shape(self, *inputs: Shape) -> Shape:
        if inputs[0] != inputs[1]:
            raise LayerError(f"bad sum of {inputs[0]} and {inputs[1]}: expected equal shapes")
        return inputs[0]


@dataclass(frozen=True)
class Multiply(_SameShape):
    """The product of two inputs, element by element; what the second has one of counts for all."""

    def output_shape(self, *inputs: Shape) -> Shape:
        left, right = inputs
        pairs = zip(left, right, strict=False)
        if len(left) != len(right) or any(there not in (1, here) for here, there in pairs):
            raise LayerError(f"bad factors of {left} and {right}: expected equal extents, or ones")
        return left


@dataclass(frozen=True)
class Relu(_SameShape):
    """Zero for what is negative."""


@dataclass(frozen=True)
class Softmax(_SameShape):
    """Exponentials over their sum, along the last axis."""


@dataclass(frozen=True)
class CausalSoftmax(_SameShape):
    """`Softmax` of scores (..., queries, keys), where no query sees the keys of later tokens.

    The last query is the last key's token.
    """

    def output_shape(self, *inputs: Shape) -> Shape:
        *_, queries, keys = inputs[0]
        if queries > keys:
            raise LayerError(f"bad scores of {inputs[0]}: expected no more queries than keys")
        return inputs[0]


@dataclass(frozen=True)
class Scale(_SameShape):
    """A product with one number."""

    factor: float


@dataclass(frozen=True)
class LayerNorm(_SameShape):
    """Zero mean and unit variance along the last axis, then scale and shift.

    https://arxiv.org/abs/1607.06450
    """

    epsilon: float = 1e-5

    def weights(self, *inputs: Shape) -> tuple[Weight, ...]:
        shape = inputs[0][-1:]
        return (Weight("scale", shape, 0.1, mean=1.0), Weight("shift", shape, 0.1))


@dataclass(frozen=True)
class RmsNorm(_SameShape):
    """A mean square of one along the last axis, then scale: https://arxiv.org/abs/1910.07467."""

    epsilon: float = 1e-5

    def weights(self, *inputs: Shape) -> tuple[Weight, ...]:
        return (Weight("scale", inputs[0][-1:], 0.1, mean=1.0),)


@dataclass(frozen=True)
class Rotate(_Plain):
    """Rotary position embedding of data (..., tokens, size): https://arxiv.org/abs/2104.09864.

    The other inputs are the cosine and the sine of each token's angles, both (tokens, size).
    Feature `i` of the first half and feature `i` of the second half are turned together.
    """

    def output_shape(self, *inputs: Shape) -> Shape:
        data, *tables = inputs
        if data[-1] % 2 or any(table != data[-2:] for table in tables):
            raise LayerError(f"bad angles {tables} of {data}: expected {data[-2:]}, an even size")
        return data


@dataclass(frozen=True)
class ClassToken(_Plain):
    """A learned token before those of (batch, tokens, features), and a learned place of each."""

    def output_shape(self, *inputs: Shape) -> Shape:
        [(batch, tokens, features)] = inputs
        return (batch, tokens + 1, features)

    def weights(self, *inputs: Shape) -> tuple[Weight, ...]:
        _, tokens, features = self.output_shape(*inputs)
        return (Weight("token", (1, 1, features), 0.1), Weight("places", (tokens, features), 0.1))


@dataclass(frozen=True)
class FirstToken(_Plain):
    """The first of the tokens of (batch, tokens, features)."""

    def output_shape(self, *inputs: Shape) -> Shape:
        [(batch, _, features)] = inputs
        return (batch, features)


@dataclass(frozen=True)
class Concat(_Plain):
    """Inputs one after the other along an axis, the last one by default."""

    axis: int = -1

    def output_shape(self, *inputs: Shape) -> Shape:
        axis = self.axis % len(inputs[0])
        [*others] = {(shape[:axis], shape[axis + 1 :]) for shape in inputs}
        if len(others) != 1:
            raise LayerError(f"bad inputs {inputs}: expected the same shape but for axis {axis}")
        [(before, after)] = others
        return (*before, sum(shape[axis] for shape in inputs), *after)


@dataclass(frozen=True)
class Reshape(_Plain):
    """The same elements in another shape."""

    shape: Shape

    def output_shape(self, *inputs: Shape) -> Shape:
        if math.prod(self.shape) != math.prod(inputs[0]):
            raise LayerError(
                f"bad shape {self.shape}: expected as many elements as {inputs[0]} has"
            )
        return self.shape


@dataclass(frozen=True)
class Transpose(_Plain):
    """The same elements, axes in another order."""

    order: Shape

    def output_shape(self, *inputs: Shape) -> Shape:
        if sorted(self.order) != list(range(len(inputs[0]))):
            raise LayerError(f"bad order {self.order}: expected each axis of {inputs[0]} once")
        return tuple(inputs[0][axis] for axis in self.order)


def along(value: int | Shape, axes: int) -> Shape:
    """A setting for each of some spatial axes, where one may stand for all."""
    settings = (value,) * axes if isinstance(value, int) else value
    if len(settings) != axes:
        raise LayerError(
            f"bad setting {value}: expected one number, or one for each of {axes} axes"
        )
    return settings


def _windows(
    extents: list[int], kernel: int | Shape, stride: int | Shape, padding: int | Shape
) -> Shape:
    """How many windows fit along each axis."""
    axes = len(extents)
    counts = tuple(
        (extent + 2 * zeros - taps) // step + 1
        for extent, taps, step, zeros in zip(
            extents, along(kernel, axes), along(stride, axes), along(padding, axes), strict=True
        )
    )
    if min(counts) < 1:
        raise LayerError(
            f"bad input of {'x'.join(map(str, extents))}: a window of {kernel} with padding "
            f"{padding} does not fit; choose a larger input"
        )
    return counts


def _deviation(fan_in: int, activation: Activation) -> float:
    return math.sqrt(_VARIANCES[activation] / fan_in)


def _bias(channels: int, activation: Activation) -> Weight:
    """Gates are mostly open, as trained ones are."""
    gate = activation in ("sigmoid", "hard-sigmoid")
    return Weight("bias", (channels,), 0.1, mean=2.0 if gate else 0.0)
