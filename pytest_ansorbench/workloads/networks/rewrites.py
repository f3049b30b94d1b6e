"""Rewrites of a model before its operators are fused; each computes the same as before."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.workloads.networks.fast_math import fast_forms
from pytest_ansorbench.workloads.networks.relax_checks import operator_of
from pytest_ansorbench.workloads.networks.relax_names import array_of, shape_of, type_of
from pytest_ansorbench.workloads.networks.tiled import (
    BLOCKS,
    TILE_ROWS,
    blocked,
    columns_in_blocks,
    packed_convolution,
    packed_product,
    product_in_tiles,
    product_with_blocks,
    rows_in_tiles,
    softmax_of_first,
)
from pytest_ansorbench.workloads.networks.winograd import TAPS, TILE, convolution, transformed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tvm import IRModule
    from tvm.te import Tensor

Rewrite = Callable[["IRModule"], "IRModule"]
"""A pass over a Relax module, which computes the same afterwards."""

_FEWEST_TILES: Final = 16
"""Below, reading the larger kernel takes longer than the multiplications that are saved."""
_FEWEST_CHANNELS: Final = 32
_CONV2D: Final = "relax.nn.conv2d"
_MATMUL: Final = "relax.matmul"
_PERMUTE_DIMS: Final = "relax.permute_dims"
_RESHAPE: Final = "relax.reshape"
_ADD: Final = "relax.add"
_MULTIPLY: Final = "relax.multiply"
_SOFTMAX: Final = "relax.nn.softmax"
_BROADCAST: Final = "relax.broadcast_to"
_UNLAID: Final = ("relax.clip", "relax.nn.leakyrelu", "relax.nn.softplus")
"""Those of which TVM does not know that they work on any layout."""
_ACTIVATIONS: Final = (
    *("relax.sigmoid", "relax.tanh", "relax.clip"),
    *("relax.nn.relu", "relax.nn.gelu", "relax.nn.gelu_tanh", "relax.nn.silu"),
)
_FUSES_AS_CONVOLUTIONS_DO: Final = 4  # kOutEWiseFusable of TVM's relax/op_attr_types.h


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
    return _tidied(_visited(tvm.transform.Sequential(convert)(module), _without_detour))


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
    return _rewritten(channels_last(module), {_CONV2D: _packed, _MATMUL: _packed_product})


def winograd(module: IRModule) -> IRModule:
    """Convolutions of 3 x 3 by Winograd's minimal filtering, F(4 x 4, 3 x 3); others are `packed`.

    Those of stride 1, in one group, over at least 16 tiles of 4 x 4 and with at least 32 channels
    on both sides, in float32, whose kernel is a constant: it is transformed here. They take up to a
    quarter of the multiplications, and round differently.

    Args:
        module: A Relax module whose `main` is in dataflow blocks.
    """
    return _rewritten(channels_last(module), {_CONV2D: _by_winograd, _MATMUL: _packed_product})


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

    return _visited(winograd(_tidied(_visited(module, _attended))), replaced)


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


@dataclass(frozen=True)
class _Replacement:
    """What takes an operator's place: a function of its data and other weights."""

    name: str
    weights: NDArray[np.float32]
    compute: Callable[[Tensor, Tensor], Tensor]


_Form = Callable[[Any, "NDArray[Any]"], _Replacement | None]
"""Of a call and its constant weights; None if they have no such form."""


def _rewritten(module: IRModule, forms: Mapping[str, _Form]) -> IRModule:
    """Calls of operators in float32, with constant weights, in another form, by operator's name.

    And products of two activations in tiles.
    """
    from tvm import relax

    def replaced(visitor: Any, call: Any) -> Any:
        form = forms.get(operator_of(call))
        if form is None:
            return call
        data, weights = call.args
        array = array_of(_bound(visitor, weights))
        if array is None or _types(call, data, weights) != {"float32"}:
            return call
        new = form(call, array)
        if new is None:
            return call
        return _fusing(visitor, new.name, new.compute, data, relax.const(new.weights))

    reshaped_last = _tidied(_visited(module, _reshaped_last))
    return _visited(_visited(reshaped_last, replaced), _in_tiles)


def _reshaped_last(visitor: Any, call: Any) -> Any:
    """An activation before the reshape of the product that it is of; of two reshapes the second.

    PyTorch exports a dense layer as a product of matrices between two reshapes, behind which TVM
    fuses no activation with it.
    """
    from tvm import relax

    name = operator_of(call)
    if name not in (_RESHAPE, *_ACTIVATIONS):
        return call
    before = _made_by(visitor, _RESHAPE, call.args[0])
    if before is None:
        return call
    whole = before.args[0]
    if name == _RESHAPE:
        same = shape_of(type_of(whole)) == shape_of(type_of(call))
        return whole if same else relax.Call(call.op, [whole, call.args[1]], call.attrs)
    return _swapped(visitor, before, call) if _is_product(visitor, whole) else call


def _is_product(visitor: Any, value: Any) -> bool:
    """Whether a value is a product, with or without a bias."""
    made = _bound(visitor, value)
    parts = [_bound(visitor, one) for one in made.args] if operator_of(made) == _ADD else [made]
    return any(operator_of(one) == _MATMUL for one in parts)


def _in_tiles(visitor: Any, call: Any) -> Any:
    """A product of two activations that no tiles divide, as one that they do.

    Attention over 197 tokens, a prime, is an example. Few rows would not pay for the columns.
    """
    if operator_of(call) != _MATMUL or array_of(_bound(visitor, call.args[1])) is not None:
        return call
    shapes = [shape_of(type_of(one)) or () for one in call.args]
    if any(len(one) < 2 for one in shapes) or _types(call, *call.args) != {"float32"}:
        return call
    rows, columns = shapes[0][-2], shapes[1][-1]
    left, right = call.args
    if rows <= max(TILE_ROWS) or not (columns % BLOCKS[-1] or rows_in_tiles(rows) != rows):
        return call
    if columns % BLOCKS[-1] == 0:
        return _fusing(visitor, "matmul", product_in_tiles, left, right)
    blocks = visitor.builder_.emit_te(columns_in_blocks, right)
    product = partial(product_with_blocks, columns=columns)
    return _fusing(visitor, "matmul", product, left, blocks)


def _attended(visitor: Any, call: Any) -> Any:
    """Attention over tokens that no tiles divide: their scores get more columns until they do.

    Softmax then works on whole vectors.
    """
    if operator_of(call) != _MATMUL or _types(call, *call.args) != {"float32"}:
        return call
    found = _scores(visitor, call.args[0])
    if found is None:
        return call
    scores, factor = found
    if _types(scores, *scores.args) != {"float32"}:
        return call
    if any(int(type_of(one).ndim) < 2 for one in (*scores.args, *call.args)):
        return call
    *_, rows, columns = shape_of(type_of(scores)) or ()
    if rows <= max(TILE_ROWS) or columns % BLOCKS[-1] == 0:
        return call
    blocks = visitor.builder_.emit_te(columns_in_blocks, scores.args[1])
    wide = -(-columns // BLOCKS[0]) * BLOCKS[0]
    product = partial(product_with_blocks, columns=wide, factor=factor)
    there = visitor.builder_.emit(_fusing(visitor, "scores", product, scores.args[0], blocks))
    softmax = partial(softmax_of_first, columns=columns)
    weights = visitor.builder_.emit_te(softmax, there, primfunc_name_hint="softmax")
    return _fusing(visitor, "matmul", product_in_tiles, weights, call.args[1])


def _scores(visitor: Any, value: Any) -> tuple[Any, float] | None:
    """The product that a value is softmax of, and by what it is multiplied before; or None."""
    from tvm import relax

    shape, factor, is_softmax = shape_of(type_of(value)) or (), 1.0, False
    while isinstance(value, relax.DataflowVar):
        made = _bound(visitor, value)
        name = operator_of(made)
        given: Sequence[Any] = getattr(made, "args", ())
        if name == _MATMUL:
            return (made, factor) if is_softmax and shape_of(type_of(made)) == shape else None
        value = given[0] if given else None
        source = shape_of(type_of(value)) if given else None
        if source is None or source[-2:] != shape[-2:] or math.prod(source) != math.prod(shape):
            return None
        scalar = array_of(given[1]) if name == _MULTIPLY else None
        if name == _SOFTMAX and int(made.attrs.axis) in (-1, len(source) - 1) and not is_softmax:
            is_softmax = True
        elif is_softmax and scalar is not None and scalar.ndim == 0:
            factor *= float(scalar)
        elif name not in (_RESHAPE, _BROADCAST):
            return None
    return None


def _fusing(visitor: Any, name: str, compute: Callable[..., Tensor], *given: Any) -> Any:
    """A call of a function that TVM fuses as it does convolutions."""
    return visitor.builder_.call_te(
        compute,
        *given,
        primfunc_name_hint=name,
        primfunc_attrs={"op_pattern": _FUSES_AS_CONVOLUTIONS_DO},
    )


def _types(*values: Any) -> set[str]:
    """Of mixed precision, sums have another type than what is summed."""
    return {str(type_of(one).dtype) for one in values}


def _without_detour(visitor: Any, call: Any) -> Any:
    """The call; without a transposition that is for its operator's sake alone.

    `ConvertLayout` puts one before and one after each operator that it does not know. Here the
    operator comes before both, and two that cancel each other are none. What another block gives
    stays as it is: what that is made of is not known here.
    """
    name = operator_of(call)
    if name not in (_PERMUTE_DIMS, *_UNLAID):
        return call
    before = _made_by(visitor, _PERMUTE_DIMS, call.args[0])
    if before is None:
        return call
    if name in _UNLAID:
        return _swapped(visitor, before, call)
    if None in (before.attrs.axes, call.attrs.axes):
        return call
    there, back = ([int(axis) for axis in one.attrs.axes] for one in (before, call))
    cancel = [there[axis] for axis in back] == sorted(there)
    return before.args[0] if cancel else call


def _made_by(visitor: Any, name: str, value: Any) -> Any | None:
    """The call of an operator that a value is of, within its block; None if it is of no such."""
    from tvm import relax

    made = _bound(visitor, value) if isinstance(value, relax.DataflowVar) else None
    return made if operator_of(made) == name else None


def _swapped(visitor: Any, before: Any, call: Any) -> Any:
    """A call, of what an earlier one gives, in the opposite order."""
    from tvm import relax

    same = relax.Call(call.op, [before.args[0], *call.args[1:]], call.attrs)
    return relax.Call(before.op, [visitor.builder_.emit(same), *before.args[1:]], before.attrs)


def _visited(module: IRModule, visit: Callable[[Any, Any], Any]) -> IRModule:
    """The module with something else for each call of it, from the first to the last."""
    from tvm import relax
    from tvm.relax.expr_functor import PyExprMutator, mutator

    @mutator
    class Visitor(PyExprMutator):  # type: ignore[misc]
        def visit_call_(self, op: Any) -> Any:
            return visit(self, self.visit_expr_post_order(op))

    visitor = Visitor(module)
    for variable, function in module.functions_items():
        if isinstance(function, relax.Function):
            visitor.builder_.update_func(variable, visitor.visit_expr(function))
    return visitor.builder_.get()


def _tidied(module: IRModule) -> IRModule:
    """The module without what nothing reads any more."""
    import tvm
    from tvm.relax import transform

    tidy = [transform.CanonicalizeBindings(), transform.DeadCodeElimination()]
    return tvm.transform.Sequential(tidy)(module)


def _bound(visitor: Any, value: Any) -> Any:
    """What a variable stands for; anything else is itself."""
    from tvm import relax

    return visitor.lookup_binding(value) if isinstance(value, relax.Var) else value


def _packed_product(call: Any, weights: NDArray[Any]) -> _Replacement | None:
    """A matrix product with weights (features / block, channels, block); none of a vector."""
    if weights.ndim != 2 or type_of(call.args[0]).ndim < 2 or (blocks := blocked(weights)) is None:
        return None
    return _Replacement("packed_matmul", blocks, packed_product)


def _packed(call: Any, kernel: NDArray[Any]) -> _Replacement | None:
    """A convolution with a kernel (features / block, rows, columns, channels, block)."""
    attributes = call.attrs
    if not _is_plain(call) or (blocks := blocked(kernel)) is None:
        return None
    return _Replacement(
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


def _by_winograd(call: Any, kernel: NDArray[Any]) -> _Replacement | None:
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
        return _packed(call, kernel)
    padding = tuple(map(int, attributes.padding))
    return _Replacement(
        "winograd_conv2d", transformed(kernel), partial(convolution, padding=padding)
    )
