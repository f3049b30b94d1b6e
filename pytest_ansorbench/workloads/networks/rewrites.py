"""Rewrites of a model before its operators are fused; each computes the same as before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.workloads.networks.relax_names import array_of, type_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import IRModule
    from tvm.te import Tensor

_TILE: Final = 4
_TAPS: Final = 3
_SPAN: Final = _TILE + _TAPS - 1
_TO_INPUT: Final = np.array(
    [
        [4, 0, -5, 0, 1, 0],
        [0, -4, -4, 1, 1, 0],
        [0, 4, -4, -1, 1, 0],
        [0, -2, -1, 2, 1, 0],
        [0, 2, -1, -2, 1, 0],
        [0, 4, 0, -5, 0, 1],
    ],
    np.float32,
)
_TO_KERNEL: Final = (
    np.array([[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]], np.float64)
    / 24.0
)
_TO_OUTPUT: Final = np.array(
    [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]],
    np.float32,
)
_FEWEST_TILES: Final = 16
"""Below, reading the larger kernel takes longer than the multiplications that are saved."""
_FEWEST_CHANNELS: Final = 32
_FUSES_AS_CONVOLUTIONS_DO: Final = 4  # kOutEWiseFusable of TVM's relax/op_attr_types.h


def winograd(module: IRModule) -> IRModule:
    """Compute convolutions of 3 x 3 by Winograd's minimal filtering, F(4 x 4, 3 x 3).

    Those of stride 1, in one group, over at least 16 tiles of 4 x 4 and with at least 32 channels
    on both sides, in float32, whose kernel is a constant: it is transformed here. They take up to a
    quarter of the multiplications, and round differently. Images get channels last.

    Lavin and Gray, section 4.1 and equations 8 to 12, https://arxiv.org/abs/1509.09308.

    Args:
        module: A Relax module whose `main` is in dataflow blocks.
    """
    import tvm
    from tvm import relax
    from tvm.relax import transform
    from tvm.relax.expr_functor import PyExprMutator, mutator

    conv2d = tvm.ir.Op.get("relax.nn.conv2d")

    @mutator
    class Replacing(PyExprMutator):  # type: ignore[misc]
        def visit_call_(self, op: Any) -> Any:
            call = self.visit_expr_post_order(op)
            if call.op != conv2d:
                return call
            data, kernel = call.args
            if isinstance(kernel, relax.Var):
                kernel = self.lookup_binding(kernel)
            array = array_of(kernel)
            if array is None or not _is_fit(call, array.shape):
                return call
            return self.builder_.call_te(
                _convolution,
                data,
                relax.const(_transformed(array)),
                tuple(map(int, call.attrs.padding)),
                primfunc_name_hint="winograd_conv2d",
                primfunc_attrs={"op_pattern": _FUSES_AS_CONVOLUTIONS_DO},
            )

    passes = [
        transform.ConvertLayout({"relax.nn.conv2d": ["NHWC", "HWIO"]}),
        transform.FoldConstant(),
        transform.CanonicalizeBindings(),
    ]
    module = tvm.transform.Sequential(passes)(module)
    replacing = Replacing(module)
    for variable, function in module.functions_items():
        if isinstance(function, relax.Function):
            replacing.builder_.update_func(variable, replacing.visit_expr(function))
    return replacing.builder_.get()


def _is_fit(call: Any, kernel: tuple[int, ...]) -> bool:
    """Whether a convolution is of the kind, and gains by it."""
    attributes = call.attrs
    layouts = (attributes.data_layout, attributes.kernel_layout, attributes.out_layout)
    batch, rows, columns, _ = map(int, type_of(call).shape)
    return (
        layouts == ("NHWC", "HWIO", "NHWC")
        and kernel[:2] == (_TAPS, _TAPS)
        and min(kernel[2:]) >= _FEWEST_CHANNELS
        and {*map(int, attributes.strides), *map(int, attributes.dilation)} == {1}
        and int(attributes.groups) == 1
        and batch * -(-rows // _TILE) * -(-columns // _TILE) >= _FEWEST_TILES
    )


def _transformed(kernel: NDArray[Any]) -> NDArray[np.float32]:
    """A kernel (3, 3, channels in, out) as (6, 6, channels in, out)."""
    transformed = np.einsum("ek,fl,klio->efio", _TO_KERNEL, _TO_KERNEL, kernel.astype(np.float64))
    return np.ascontiguousarray(transformed, np.float32)


def _convolution(data: Tensor, kernel: Tensor, padding: tuple[int, int, int, int]) -> Tensor:
    """A convolution, as TVM's schedule rules for `conv2d_winograd_nhwc` expect it to be written."""
    from tvm import te, topi

    batch, height, width, channels = map(int, data.shape)
    features = int(kernel.shape[3])
    top, left, bottom, right = padding
    extents = (height + top + bottom - _TAPS + 1, width + left + right - _TAPS + 1)
    tiles = [-(-extent // _TILE) for extent in extents]
    of_one = tiles[0] * tiles[1]
    more = [count * _TILE - extent for count, extent in zip(tiles, extents, strict=True)]
    as_it_is = {"schedule_rule": "None"}
    padded = topi.nn.pad(
        data,
        (0, top, left, 0),
        (0, bottom + more[0], right + more[1], 0),
        name="data_pad",
        attrs=as_it_is,
    )
    tile = te.compute(
        (_SPAN, _SPAN, batch * of_one, channels),
        lambda row, column, t, c: padded[
            t // of_one,
            t % of_one // tiles[1] * _TILE + row,
            t % tiles[1] * _TILE + column,
            c,
        ],
        name="input_tile",
        attrs=as_it_is,
    )
    data_pack = _transformed_tiles(tile, _TO_INPUT, "data_pack", ("eps", "nu"))
    k = te.reduce_axis((0, channels), "ci")
    product = te.compute(
        (_SPAN, _SPAN, batch * of_one, features),
        lambda eps, nu, t, c: te.sum(data_pack[eps, nu, t, k] * kernel[eps, nu, k, c], axis=[k]),
        name="bgemm",
    )
    inverse = _transformed_tiles(product, _TO_OUTPUT, "inverse", ("vh", "vw"))
    return te.compute(
        (batch, *extents, features),
        lambda b, h, w, c: inverse[
            h % _TILE, w % _TILE, b * of_one + h // _TILE * tiles[1] + w // _TILE, c
        ],
        name="conv2d_winograd",
    )


def _transformed_tiles(
    tiles: Tensor, matrix: NDArray[np.float32], name: str, axes: tuple[str, str]
) -> Tensor:
    """The matrix times each tile (6, 6), times its transpose: (rows, rows, tiles, channels)."""
    from tvm import te, topi

    constant = topi.utils.const_matrix(matrix.T, f"{name}_matrix")
    i, j = (te.reduce_axis((0, _SPAN), axis) for axis in ("r_a", "r_b"))
    return te.compute(
        (len(matrix), len(matrix), *tiles.shape[2:]),
        lambda row, column, t, c: te.sum(
            tiles[i, j, t, c] * constant[i, row] * constant[j, column], axis=[i, j]
        ),
        name=name,
        attrs={
            "auto_scheduler_simplify_const_tensor_indices": [*axes, "r_a", "r_b"],
            "schedule_rule": f"conv2d_nhwc_winograd_{name}",
        },
    )
