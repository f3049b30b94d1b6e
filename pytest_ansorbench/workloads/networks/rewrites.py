"""Rewrites of a model before its operators are fused; each computes the same as before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.workloads.networks.activations import (
    attended,
    in_tiles,
    reshaped_last,
    without_detour,
)
from pytest_ansorbench.workloads.networks.fast_math import fast_forms
from pytest_ansorbench.workloads.networks.relax_checks import operator_of
from pytest_ansorbench.workloads.networks.relax_names import type_of
from pytest_ansorbench.workloads.networks.visiting import MATMUL, tidied, visited
from pytest_ansorbench.workloads.networks.weights import (
    Form,
    in_forms,
    packed_conv2d,
    packed_matmul,
    winograd_conv2d,
)

if TYPE_CHECKING:
    from tvm import IRModule

Rewrite = Callable[["IRModule"], "IRModule"]
"""A pass over a Relax module, which computes the same afterwards."""

_CONV2D: Final = "relax.nn.conv2d"


def channels_last(module: IRModule) -> IRModule:
    """Convolutions of images with channels last, and their kernels with features last.

    Where that is not how a model has them, images are transposed once, kernels here.

    Args:
        module: A Relax module whose `main` is in dataflow blocks.
    """
    import tvm
    from tvm.relax import transform

    convert = [
        transform.ConvertLayout({_CONV2D: ["NHWC", "HWIO"]}),
        transform.FoldConstant(),
        transform.CanonicalizeBindings(),
    ]
    converted = tvm.transform.Sequential(convert)(visited(module, _with_axes_from_the_front))
    return tidied(visited(converted, without_detour))


def _with_axes_from_the_front(visitor: Any, call: Any) -> Any:
    """A transposition without negative axes, which `ConvertLayout` takes for letters."""
    from tvm import relax

    if operator_of(call) != "relax.permute_dims" or call.attrs.axes is None:
        return call
    axes = [int(axis) for axis in call.attrs.axes]
    return relax.op.permute_dims(call.args[0], [axis % len(axes) for axis in axes])


def packed(module: IRModule) -> IRModule:
    """Weights of convolutions and products in blocks of features, in the order of their reads.

    Those in float32 and one group whose weights are a constant with a multiple of 16 features: it
    is laid out (features / block, ..., channels, block) here, in blocks of 32 if that divides them,
    else of 16. With features last, those that a tile reads for one channel lie as far from those
    for the next as there are features, often a power of two, which few sets of a cache have to
    hold. Products get more rows and columns until tiles divide them, and their activations come
    before a reshape, behind which TVM would not fuse them. Images get `channels_last`.

    Args:
        module: A Relax module whose `main` is in dataflow blocks.
    """
    return _rewritten(channels_last(module), {_CONV2D: packed_conv2d, MATMUL: packed_matmul})


def winograd(module: IRModule) -> IRModule:
    """Convolutions of 3 x 3 by Winograd's minimal filtering, F(4 x 4, 3 x 3); others are `packed`.

    Those of stride 1, in one group, over at least 16 tiles of 4 x 4 and with at least 32 channels
    on both sides, in float32, whose kernel is a constant: it is transformed here. They take up to a
    quarter of the multiplications, and round differently.

    Args:
        module: A Relax module whose `main` is in dataflow blocks.
    """
    return _rewritten(channels_last(module), {_CONV2D: winograd_conv2d, MATMUL: packed_matmul})


def fast_math(module: IRModule) -> IRModule:
    """Exponentials, sigmoids, tanh, GELU, SiLU and softmax by polynomials; the rest by `winograd`.

    Those in float32. Otherwise each element is a call of the C library. Scores of attention get
    more columns until vectors divide them.

    Args:
        module: A Relax module whose `main` is in dataflow blocks.
    """
    forms = fast_forms()

    def replaced(visitor: Any, call: Any) -> Any:
        name = operator_of(call)
        if name not in forms or str(type_of(call).dtype) != "float32":
            return call
        axis = [call.attrs.axis] if hasattr(call.attrs, "axis") else []
        short = name.rpartition(".")[2]
        return visitor.builder_.call_te(forms[name], *call.args, *axis, primfunc_name_hint=short)

    return visited(winograd(tidied(visited(module, attended))), replaced)


_BY_NAME: Final[Mapping[str, Rewrite | None]] = {
    "none": None,
    "channels-last": channels_last,
    "packed": packed,
    "winograd": winograd,
    "fast-math": fast_math,
}


def rewrite_named(name: str) -> Rewrite | None:
    """A rewrite by its name; `none` is none.

    Raises:
        ValueError: There is none of this name; the message says what was expected.
    """
    if name not in _BY_NAME:
        *others, last = _BY_NAME
        raise ValueError(f"expected {', '.join(others)} or {last}")
    return _BY_NAME[name]


def _rewritten(module: IRModule, forms: Mapping[str, Form]) -> IRModule:
    """With weights in forms, by operator's name, and products of two activations in tiles."""
    plain = tidied(visited(module, reshaped_last))
    return visited(visited(plain, in_forms(forms)), in_tiles)
