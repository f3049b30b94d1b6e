"""What is read of each driver's options, and the operator that a problem is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pytest_ansorbench.workloads.benchdnn.descriptors import (
    Unread,
    dimensions_of,
    entries_of,
    extents_of,
    windows_of,
)
from pytest_ansorbench.workloads.operator import Operator
from pytest_ansorbench.workloads.operators.batch_matmul import BatchMatmul
from pytest_ansorbench.workloads.operators.conv1d import Conv1d
from pytest_ansorbench.workloads.operators.conv2d import Conv2d
from pytest_ansorbench.workloads.operators.conv3d import Conv3d
from pytest_ansorbench.workloads.operators.dense import Dense
from pytest_ansorbench.workloads.operators.depthwise_conv2d import DepthwiseConv2d
from pytest_ansorbench.workloads.operators.dilated_conv2d import DilatedConv2d
from pytest_ansorbench.workloads.operators.grouped_conv2d import GroupedConv2d
from pytest_ansorbench.workloads.operators.normalization import GroupNorm, LayerNorm, RmsNorm
from pytest_ansorbench.workloads.operators.pooling import AvgPool2d, MaxPool2d
from pytest_ansorbench.workloads.operators.softmax import Softmax

MARK: Final = "--"
"""What an option begins with."""

Given = Mapping[str, Any]
"""What options say, by their names; `dt`, the data type, is always among them."""


@dataclass(frozen=True)
class Option:
    """What an option may say.

    Attributes:
        read: What is meant by a value; KeyError or ValueError if that is not known.
        shown: The values that are.
    """

    read: Callable[[str], Any]
    shown: str


@dataclass(frozen=True)
class Driver:
    """A kind of problems.

    Attributes:
        example: A descriptor.
        options: What is read of its options, by their names.
        make: The operator of a descriptor, less its name.
    """

    example: str
    options: Mapping[str, Option]
    make: Callable[[str, Given], Operator]


def _named(extents: Iterable[int], *names: str) -> dict[str, Any]:
    return dict(zip(names, extents, strict=True))


def _matmul(problem: str, given: Given) -> Operator:
    source, weights, *output = dimensions_of(problem, 2, 3)
    if len(source) < 2 or len(weights) != len(source):
        raise Unread("expected as many dimensions of both, at least 2, e.g. 2x3:3x4")
    [*batch, m, k], [*others, rows, n] = source, weights
    if rows != k or output not in ([], [(*batch, m, n)]):
        raise Unread("expected dimensions that fit, e.g. 2x3:3x4")
    bias, activation = given.get("bia-dt", ""), given.get("attr-post-ops", "none")
    columns = 1 << (len(source) - 1)
    if bias and given.get("bia_mask", 2) != columns:
        raise Unread(f"its bias is not one of columns; expected {MARK}bia_mask={columns}")
    if set(others) <= {1}:  # rows of one product
        dense = Dense(
            m=math.prod(batch) * m,
            n=n,
            k=k,
            dtype=given["dt"],
            bias=bool(bias),
            activation=activation,
        )
        if bias not in ("", dense.output_dtype):
            raise Unread(f"its bias is {bias}; expected {dense.output_dtype}, as its output is")
        return dense
    if batch != others or bias or activation != "none":
        raise Unread(
            "expected the same batch of both, with no bias and no activation, e.g. 8x2x3:8x3x4"
        )
    return BatchMatmul(batch=math.prod(batch), m=m, n=n, k=k, dtype=given["dt"])


def _conv(problem: str, given: Given) -> Operator:
    entries = entries_of(
        problem, "g mb ic id ih iw oc od oh ow kd kh kw sd sh sw pd ph pw dd dh dw"
    )
    extents, window = windows_of(entries)
    groups, channels = entries.get("g", 1), entries.get("ic", 0)
    sizes: dict[str, Any] = {
        "batch": given.get("mb") or entries.get("mb", 2),
        "kernel": window.kernel,
        "stride": window.stride,
        "padding": window.padding,
        "dtype": given["dt"],
    }
    both: dict[str, Any] = {"in_channels": channels, "out_channels": entries.get("oc", 0)}
    dilation = window.dilation
    match len(extents), groups, dilation:
        case 1, 1, 1:
            return Conv1d(length=extents[0], **sizes, **both)
        case 3, 1, 1:
            return Conv3d(**_named(extents, "depth", "height", "width"), **sizes, **both)
        case 2, _, _:
            sizes |= _named(extents, "height", "width")
            if groups == 1 and dilation == 1:
                return Conv2d(**sizes, **both)
            if groups == 1:
                return DilatedConv2d(dilation=dilation, **sizes, **both)
            if groups == channels == both["out_channels"] and dilation == 1:
                return DepthwiseConv2d(channels=channels, **sizes)
            if dilation == 1:
                return GroupedConv2d(groups=groups, **sizes, **both)
    raise Unread("expected groups or a dilation in two dimensions, and not both, e.g. g2ic8ih9")


def _pool(problem: str, given: Given) -> Operator:
    entries = entries_of(problem, "mb ic id ih iw od oh ow kd kh kw sd sh sw pd ph pw dd dh dw")
    extents, window = windows_of(entries)
    if len(extents) != 2 or window.dilation != 1:
        raise Unread("expected two dimensions and no dilation, e.g. ic64ih56kh3")
    algorithm = given.get("alg", "max")
    if algorithm == "avg_np" and window.padding:
        raise Unread("its mean leaves padding out; expected avg_p, or no padding")
    family = MaxPool2d if algorithm == "max" else AvgPool2d
    return family(
        batch=given.get("mb") or entries.get("mb", 2),
        channels=entries.get("ic", 0),
        kernel=window.kernel,
        stride=window.stride,
        padding=window.padding,
        dtype=given["dt"],
        **_named(extents, "height", "width"),
    )


def _softmax(problem: str, given: Given) -> Operator:
    [dimensions] = dimensions_of(problem, 1, 1)
    dimensions = (given.get("mb") or dimensions[0], *dimensions[1:])
    axis = given.get("axis", 1)
    if not 0 <= axis < len(dimensions) or math.prod(dimensions[axis + 1 :]) != 1:
        raise Unread(f"its axis {axis} is not the last one; expected that, e.g. 128x1000")
    if given["dt"] != "float32":
        raise Unread(f"its type is {given['dt']}; expected float32")
    return Softmax(m=math.prod(dimensions[:axis]), n=dimensions[axis])


def _lnorm(problem: str, given: Given) -> Operator:
    [dimensions] = dimensions_of(problem, 1, 1)
    _require_own_type(given)
    *rows, features = dimensions
    family: type[LayerNorm] | type[RmsNorm] = given.get("flags", LayerNorm)
    return family(m=math.prod(rows), n=features, dtype=given["dt"])


def _gnorm(problem: str, given: Given) -> Operator:
    entries = entries_of(problem, "g mb ic id ih iw")
    _require_own_type(given)
    _, extents = extents_of(entries)
    if len(extents) > 2:
        raise Unread("expected at most two dimensions, e.g. g32ic320ih32")
    return GroupNorm(
        batch=given.get("mb") or entries.get("mb", 2),
        channels=entries.get("ic", 0),
        groups=entries.get("g", 0),
        dtype=given["dt"],
        **_named([1, *extents][-2:], "height", "width"),
    )


def _require_own_type(given: Given) -> None:
    if (given.get("ss_dt") or given["dt"]) != given["dt"]:
        raise Unread(f"its scale is {given['ss_dt']}; expected {given['dt']}, as its data is")


_FLOATS: Final = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16"}
_WHOLE: Final = {"s8:s8:s32": "int8", "u8:s8:s32": "uint8"}
_LAST: Final = ("any", "axb", "nwc", "nhwc", "ndhwc", "acb", "acdb", "acdeb")
"""Layouts with the channels last."""
_KERNEL: Final = ("any", "xba", "wio", "hwio", "dhwio", "cba", "cdba", "cdeba")
_ROWS: Final = (
    *("any", "a", "ab", "abc", "abcd", "abcde", "abx"),
    *("nc", "ncw", "nchw", "ncdhw", "tnc", "ldnc"),
)
"""Layouts with the last dimension last."""


def _one_of(values: Mapping[str, Any] | Iterable[str]) -> Option:
    known = values if isinstance(values, Mapping) else dict.fromkeys(values)
    return Option(known.__getitem__, f"one of {', '.join(filter(None, known))}")


def _any_case(values: Mapping[str, Any] | Iterable[str]) -> Option:
    """Names that may be written in capitals, or not."""
    option = _one_of(values)
    return Option(lambda value: option.read(value.lower()), option.shown)


def _alike(tags: tuple[str, ...]) -> Option:
    """Layouts of source and destination; one stands for both."""
    both = {f"{tag}:{other}" for tag in tags for other in (tag, "any")}
    return Option(_one_of([*tags, *both]).read, f"one of {', '.join(tags)}")


def _types(tensors: int, more: Mapping[str, str]) -> Option:
    """Types of several tensors; one stands for all."""
    alike = {":".join([short] * tensors): name for short, name in _FLOATS.items()}
    return _one_of({**_FLOATS, **alike, **more})


_POOLING: Final = {
    "max": "max",
    "pooling_max": "max",
    "avg_p": "avg_p",
    "pooling_avg_include_padding": "avg_p",
    "avg_np": "avg_np",
    "pooling_avg_exclude_padding": "avg_np",
}
_ACTIVATIONS: Final = {
    "": "none",
    "gelu_erf": "gelu",
    "eltwise_gelu_erf": "gelu",
    "swish:1": "silu",
    "eltwise_swish:1": "silu",
    "eltwise_swish:1.0": "silu",
}
"""A swish without a number is one of 0, half of its input."""
_NUMBER: Final = Option(int, "a whole number")
_NOTHING: Final = Option({"": None}.__getitem__, "nothing")
_COMMON: Final = {
    "dir": _any_case(["fwd_d", "fwd_i"]),
    "attr-fpmath": _one_of(["", "strict"]),
    "attr-acc-mode": _one_of(["", "strict"]),
    "attr-scales": _NOTHING,
    "attr-zero-points": _NOTHING,
    "attr-post-ops": _NOTHING,
}
_PRODUCT: Final = {
    **_COMMON,
    "dt": _types(3, _WHOLE),
    "strides": _one_of(["", ":", "::"]),
}
_NORM: Final = {
    **_COMMON,
    "dt": _types(2, {}),
    "ss_dt": _one_of({"": "", **_FLOATS}),
    "inplace": _one_of(["false", "0"]),
}

DRIVERS: Final[Mapping[str, Driver]] = {
    "matmul": Driver(
        "30x4096:4096x6144",
        {
            **_PRODUCT,
            "stag": _one_of(_ROWS),
            "wtag": _one_of(_ROWS),
            "dtag": _one_of(_ROWS),
            "bia-dt": _one_of({"": "", "undef": "", "s32": "int32", **_FLOATS}),
            "bia_mask": _NUMBER,
            "runtime_dims_masks": _one_of(["", "0", "0:0"]),
            "encoding": _NOTHING,
            "attr-post-ops": _one_of(_ACTIVATIONS),
        },
        _matmul,
    ),
    "conv": Driver(
        "mb1ic64ih56oc64oh56kh3ph1",
        {
            **_PRODUCT,
            "stag": _one_of(_LAST),
            "wtag": _one_of(_KERNEL),
            "dtag": _one_of(_LAST),
            "bia-dt": _one_of(["", "undef"]),
            "alg": _any_case(["direct", "auto"]),
            "mb": _NUMBER,
        },
        _conv,
    ),
    "pool": Driver(
        "mb1ic64ih112oh56kh3sh2ph1",
        {
            **_COMMON,
            "dt": _types(2, {}),
            "tag": _one_of(_LAST),
            "alg": _any_case(_POOLING),
            "mb": _NUMBER,
        },
        _pool,
    ),
    "softmax": Driver(
        "128x1000",
        {
            **_COMMON,
            "sdt": _one_of(["f32"]),
            "ddt": _one_of(["f32"]),
            "stag": _one_of(_ROWS),
            "dtag": _one_of(_ROWS),
            "alg": _any_case(["softmax", "softmax_accurate"]),
            "axis": _NUMBER,
            "mb": _NUMBER,
            "inplace": _one_of(["false", "0"]),
        },
        _softmax,
    ),
    "lnorm": Driver(
        "256x768",
        {
            **_NORM,
            "tag": _alike(_ROWS),
            "stat_tag": Option(str, "a layout"),  # of what is no output here
            "flags": _one_of({"CH": LayerNorm, "HC": LayerNorm, "CM": RmsNorm, "MC": RmsNorm}),
        },
        _lnorm,
    ),
    "gnorm": Driver(
        "g32mb1ic320ih32",
        {
            **_NORM,
            "tag": _alike(_LAST),
            "flags": _one_of(["CH", "HC"]),
            "mb": _NUMBER,
        },
        _gnorm,
    ),
}
