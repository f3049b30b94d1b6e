"""Products and convolutions with constant weights, in forms that are laid out ahead of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.workloads.networks.relax_checks import operator_of
from pytest_ansorbench.workloads.networks.relax_names import array_of, type_of
from pytest_ansorbench.workloads.networks.tiled import blocked, packed_convolution, packed_product
from pytest_ansorbench.workloads.networks.visiting import bound, fusing, types_of
from pytest_ansorbench.workloads.networks.winograd import TAPS, TILE, convolution, transformed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tvm.te import Tensor

_FEWEST_TILES: Final = 16
"""Below, reading the larger kernel takes longer than the multiplications that are saved."""
_FEWEST_CHANNELS: Final = 32


@dataclass(frozen=True)
class Replacement:
    """What takes an operator's place: a function of its data and other weights."""

    name: str
    weights: NDArray[np.float32]
    compute: Callable[[Tensor, Tensor], Tensor]


Form = Callable[[Any, "NDArray[Any]"], Replacement | None]
"""Of a call and its constant weights; None if they have no such form."""


def in_forms(forms: Mapping[str, Form]) -> Callable[[Any, Any], Any]:
    """A visit by which operators in float32 with constant weights get forms, by operator's name."""
    from tvm import relax

    def replaced(visitor: Any, call: Any) -> Any:
        form = forms.get(operator_of(call))
        if form is None:
            return call
        data, weights = call.args
        array = array_of(bound(visitor, weights))
        if array is None or types_of(call, data, weights) != {"float32"}:
            return call
        new = form(call, array)
        if new is None:
            return call
        return fusing(visitor, new.name, new.compute, data, relax.const(new.weights))

    return replaced


def packed_matmul(call: Any, weights: NDArray[Any]) -> Replacement | None:
    """A matrix product with weights (features / block, channels, block); none of a vector."""
    if weights.ndim != 2 or type_of(call.args[0]).ndim < 2 or (blocks := blocked(weights)) is None:
        return None
    return Replacement("packed_matmul", blocks, packed_product)


def packed_conv2d(call: Any, kernel: NDArray[Any]) -> Replacement | None:
    """A convolution with a kernel (features / block, rows, columns, channels, block)."""
    attributes = call.attrs
    if not _is_plain(call) or (blocks := blocked(kernel)) is None:
        return None
    return Replacement(
        "packed_conv2d",
        blocks,
        partial(
            packed_convolution,
            shape=tuple(map(int, type_of(call).shape)),
            strides=tuple(map(int, attributes.strides)),
            padding=tuple(map(int, attributes.padding)),
            dilation=tuple(map(int, attributes.dilation)),
        ),
    )


def _is_plain(call: Any) -> bool:
    """Whether it is a convolution with channels last, in one group."""
    attributes = call.attrs
    layouts = (attributes.data_layout, attributes.kernel_layout, attributes.out_layout)
    return layouts == ("NHWC", "HWIO", "NHWC") and int(attributes.groups) == 1


def winograd_conv2d(call: Any, kernel: NDArray[Any]) -> Replacement | None:
    """Winograd's form where it gains, else the packed one."""
    attributes = call.attrs
    batch, rows, columns, _ = map(int, type_of(call).shape)
    gains = (
        _is_plain(call)
        and kernel.shape[:2] == (TAPS, TAPS)
        and min(kernel.shape[2:]) >= _FEWEST_CHANNELS
        and {*map(int, attributes.strides), *map(int, attributes.dilation)} == {1}
        and batch * -(-rows // TILE) * -(-columns // TILE) >= _FEWEST_TILES
    )
    if not gains:
        return packed_conv2d(call, kernel)
    padding = tuple(map(int, attributes.padding))
    return Replacement(
        "winograd_conv2d", transformed(kernel), partial(convolution, padding=padding)
    )
