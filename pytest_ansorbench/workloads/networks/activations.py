"""What a pass makes of calls without weights: transpositions, activations, attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from pytest_ansorbench.workloads.networks.relax_checks import operator_of
from pytest_ansorbench.workloads.networks.relax_names import array_of, shape_of, type_of
from pytest_ansorbench.workloads.networks.tiled import (
    BLOCKS,
    TILE_ROWS,
    columns_in_blocks,
    product_in_tiles,
    product_with_blocks,
    rows_in_tiles,
    softmax_of_first,
)
from pytest_ansorbench.workloads.networks.visiting import (
    MATMUL,
    bound,
    fusing,
    made_by,
    swapped,
    types_of,
)

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


def without_detour(visitor: Any, call: Any) -> Any:
    """The call; without a transposition that is for its operator's sake alone.

    `ConvertLayout` puts one before and one after each operator that it does not know. Here the
    operator comes before both, and two that cancel each other are none. What another block gives
    stays as it is: what that is made of is not known here.
    """
    name = operator_of(call)
    if name not in (_PERMUTE_DIMS, *_UNLAID):
        return call
    before = made_by(visitor, _PERMUTE_DIMS, call.args[0])
    if before is None:
        return call
    if name in _UNLAID:
        return swapped(visitor, before, call)
    if None in (before.attrs.axes, call.attrs.axes):
        return call
    there, back = ([int(axis) for axis in one.attrs.axes] for one in (before, call))
    cancel = [there[axis] for axis in back] == sorted(there)
    return before.args[0] if cancel else call


def reshaped_last(visitor: Any, call: Any) -> Any:
    """An activation before the reshape of the product that it is of; of two reshapes the second.

    PyTorch exports a dense layer as a product of matrices between two reshapes, behind which TVM
    fuses no activation with it.
    """
    from tvm import relax

    name = operator_of(call)
    if name not in (_RESHAPE, *_ACTIVATIONS):
        return call
    before = made_by(visitor, _RESHAPE, call.args[0])
    if before is None:
        return call
    whole = before.args[0]
    if name == _RESHAPE:
        same = shape_of(type_of(whole)) == shape_of(type_of(call))
        return whole if same else relax.Call(call.op, [whole, call.args[1]], call.attrs)
    return swapped(visitor, before, call) if _is_product(visitor, whole) else call


def _is_product(visitor: Any, value: Any) -> bool:
    """Whether a value is a product, with or without a bias."""
    made = bound(visitor, value)
    parts = [bound(visitor, one) for one in made.args] if operator_of(made) == _ADD else [made]
    return any(operator_of(one) == MATMUL for one in parts)


def in_tiles(visitor: Any, call: Any) -> Any:
    """A product of two activations that no tiles divide, as one that they do.

    Attention over 197 tokens, a prime, is an example. Few rows would not pay for the columns.
    """
    if operator_of(call) != MATMUL or array_of(bound(visitor, call.args[1])) is not None:
        return call
    shapes = [shape_of(type_of(one)) or () for one in call.args]
    if any(len(one) < 2 for one in shapes) or types_of(call, *call.args) != {"float32"}:
        return call
    rows, columns = shapes[0][-2], shapes[1][-1]
    left, right = call.args
    if rows <= max(TILE_ROWS) or not (columns % BLOCKS[-1] or rows_in_tiles(rows) != rows):
        return call
    if columns % BLOCKS[-1] == 0:
        return fusing(visitor, "matmul", product_in_tiles, left, right)
    blocks = visitor.builder_.emit_te(columns_in_blocks, right)
    product = partial(product_with_blocks, columns=columns)
    return fusing(visitor, "matmul", product, left, blocks)


def attended(visitor: Any, call: Any) -> Any:
    """Attention over tokens that no tiles divide: their scores get more columns until they do.

    Softmax then works on whole vectors.
    """
    if operator_of(call) != MATMUL or types_of(call, *call.args) != {"float32"}:
        return call
    found = _scores(visitor, call.args[0])
    if found is None:
        return call
    scores, factor = found
    if types_of(scores, *scores.args) != {"float32"}:
        return call
    if any(int(type_of(one).ndim) < 2 for one in (*scores.args, *call.args)):
        return call
    *_, rows, columns = shape_of(type_of(scores)) or ()
    if rows <= max(TILE_ROWS) or columns % BLOCKS[-1] == 0:
        return call
    blocks = visitor.builder_.emit_te(columns_in_blocks, scores.args[1])
    product = partial(product_with_blocks, factor=factor)
    there = visitor.builder_.emit(fusing(visitor, "scores", product, scores.args[0], blocks))
    softmax = partial(softmax_of_first, columns=columns)
    weights = visitor.builder_.emit_te(softmax, there, primfunc_name_hint="softmax")
    return fusing(visitor, "matmul", product_in_tiles, weights, call.args[1])


def _scores(visitor: Any, value: Any) -> tuple[Any, float] | None:
    """The product that a value is softmax of, and by what it is multiplied before; or None."""
    from tvm import relax

    shape, factor, is_softmax = shape_of(type_of(value)) or (), 1.0, False
    while isinstance(value, relax.DataflowVar):
        made = bound(visitor, value)
        name = operator_of(made)
        given: Sequence[Any] = getattr(made, "args", ())
        if name == MATMUL:
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
