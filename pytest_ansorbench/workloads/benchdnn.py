"""Problems of oneDNN's benchdnn as cases: its descriptors, and its batch files.

The formats are told by
https://github.com/uxlfoundation/oneDNN/tree/main/tests/benchdnn/doc (`driver_*.md`, `knobs_*.md`)
and, what is left out of a descriptor, by `tests/benchdnn/conv/conv_aux.cpp` there: an image is
square, a batch is of 2, a padding is what the output asks for.

What a problem does not name is as the operators of this package have it: channels last, no bias of
a convolution, both scale and shift of a norm. What it names and they have not is refused.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

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
from pytest_ansorbench.workloads.operators.shape import BadShape
from pytest_ansorbench.workloads.operators.softmax import Softmax
from pytest_ansorbench.workloads.operators.window import Window

_MARK: Final = "--"
"""What an option begins with."""


class BadProblem(ValueError):
    """A problem of benchdnn that is no case; the message names it and shows what is read."""


def from_benchdnn(driver: str, problem: str, *, dtype: str = "float32") -> Operator:
    """An operator from a problem of oneDNN's benchdnn.

    Args:
        driver: Kind of the problem: matmul, conv, pool, softmax, lnorm or gnorm.
        problem: As on its command line, e.g. `30x4096:4096x6144`, or `mb1ic64ih56oc64oh56kh3ph1`;
            options may stand before it.
        dtype: Data type, as of `workloads.Dense`, unless an option says another.

    Raises:
        BadProblem: This package has no operator for it.
    """
    reader = _reader(driver, dtype)
    found = [*reader.read(problem, "", Path())]
    if len(found) != 1:
        raise BadProblem(
            f"bad {driver} problem {problem!r}: it is {len(found)} problems; expected one, e.g. "
            f"{reader.driver.example}"
        )
    return found[0]


def from_benchdnn_batch(
    driver: str, path: str | Path, *, dtype: str = "float32"
) -> tuple[Operator, ...]:
    """The operators of a batch file of oneDNN's benchdnn, each once, in order.

    Args:
        driver: See `from_benchdnn`.
        path: The file: problems and options, comments after `#`, and other such files.
        dtype: Data type of problems for which no option says another.

    Raises:
        BadProblem: There is something in it that is not read, or nothing.
    """
    reader = _reader(driver, dtype)
    found = tuple(dict.fromkeys(reader.read_file(Path(path))))
    if not found:
        raise BadProblem(
            f"bad {driver} problems in {str(path)!r}: there are none; expected some, e.g. "
            f"{reader.driver.example}"
        )
    return found


class _Unread(ValueError):
    """What is wrong with a problem, and what is expected."""


_Given = Mapping[str, Any]
"""What options say, by their names; `dt`, the data type, is always among them."""


@dataclass(frozen=True)
class _Option:
    """What an option may say.

    Attributes:
        read: What is meant by a value; KeyError or ValueError if that is not known.
        shown: The values that are.
    """

    read: Callable[[str], Any]
    shown: str


@dataclass(frozen=True)
class _Driver:
    """A kind of problems.

    Attributes:
        example: A descriptor.
        options: What is read of its options, by their names.
        make: The operator of a descriptor, less its name.
    """

    example: str
    options: Mapping[str, _Option]
    make: Callable[[str, _Given], Operator]


@dataclass
class _Reader:
    """Reads words as benchdnn does: an option holds for all problems after it."""

    driver_name: str
    driver: _Driver
    dtype: str

    def __post_init__(self) -> None:
        self._state: dict[str, list[Any]] = {}
        self._open: list[Path] = []

    def read_file(self, path: Path) -> Iterator[Operator]:
        subject = f"bad {self.driver_name} problems in {str(path)!r}"
        if not path.is_file():
            raise BadProblem(f"{subject}: there is no such file")
        if path.resolve() in self._open:
            raise BadProblem(f"{subject}: the file reads itself")
        self._open.append(path.resolve())
        text = path.read_text("utf-8", "replace")
        yield from self.read(text, f" of {str(path)!r}", path.parent)
        self._open.pop()

    def read(self, text: str, where: str, folder: Path) -> Iterator[Operator]:
        """The operators of a text; `where` is what sentences say of its place."""
        for word in _words(text):
            if not word.startswith("-"):
                yield from self._problems(word, where)
                continue
            name, _, value = word.removeprefix(_MARK).partition("=")
            if name == "reset":
                self._state.clear()
            elif name == "batch":
                yield from self.read_file(folder / value)
            elif name not in _HARMLESS and name != self.driver_name and not word.startswith("-v"):
                subject = f"bad {self.driver_name} option {word!r}{where}"
                self._state[name] = [self._meant(subject, name, one) for one in value.split(",")]

    def _meant(self, subject: str, name: str, value: str) -> Any:
        option = self.driver.options.get(name)
        if option is None:
            raise BadProblem(
                f"{subject}: it is not read; expected one of "
                f"{', '.join(self.driver.options)}, e.g. {_MARK}dir=fwd_i"
            )
        try:
            return option.read(value)
        except (KeyError, ValueError):
            raise BadProblem(f"{subject}: {value!r} is not read; expected {option.shown}") from None

    def _problems(self, word: str, where: str) -> Iterator[Operator]:
        """A problem, for each combination of what options say."""
        described = word.partition("n")[0].rstrip("_")  # what follows is its name
        for values in itertools.product(*self._state.values()):
            given = {"dt": self.dtype, **dict(zip(self._state, values, strict=True))}
            try:
                yield self.driver.make(described, given)
            except (_Unread, BadShape) as error:
                raise BadProblem(
                    f"bad {self.driver_name} problem {word!r}{where}: {error}"
                ) from None


def _reader(driver: str, dtype: str) -> _Reader:
    if driver not in _DRIVERS:
        raise BadProblem(f"bad driver {driver!r}: expected one of {', '.join(_DRIVERS)}")
    return _Reader(driver, _DRIVERS[driver], dtype)


def _words(text: str) -> list[str]:
    """Words without comments; a backslash at the end of one joins it with the next."""
    without_comments = re.sub(r"(?<!\S)#.*", "", text)
    return re.sub(r"\s*\\\s+", "", without_comments).split()


def _dimensions(text: str, least: int, most: int) -> list[tuple[int, ...]]:
    """The dimensions of some tensors, as `2x3:3x4`."""
    found = [one.split("x") for one in text.split(":")]
    if not least <= len(found) <= most or not all(map(str.isdecimal, itertools.chain(*found))):
        raise _Unread(f"expected dimensions, e.g. {':'.join(['2x3', '3x4'][:least])}")
    return [tuple(map(int, one)) for one in found]


def _entries(text: str, names: str) -> dict[str, int]:
    """Numbers by their names, as `mb1_ic64`."""
    name = "|".join(names.split())
    if not re.fullmatch(rf"(({name})\d+_*)+", text):
        raise _Unread(f"expected numbers after names ({names}), e.g. ic64ih56")
    return {one: int(number) for one, number in re.findall(rf"({name})(\d+)", text)}


def _extents(entries: Mapping[str, int]) -> tuple[dict[str, dict[str, int]], list[int]]:
    """What entries say of each spatial axis, and its elements; that of rows is that of columns."""
    said = {name: value for name, value in entries.items() if value != (name[0] == "s")}
    axes = {axis: {n[0]: value for n, value in said.items() if n[1:] == axis} for axis in "dhw"}
    axes = {axis: values for axis, values in axes.items() if values}
    if [*axes] in (["d"], ["h"]):
        [values] = axes.values()
        axes = dict.fromkeys("dhw" if "d" in axes else "hw", values)
    if [*axes] not in (["d", "h", "w"], ["h", "w"], ["w"]):
        raise _Unread("expected one to three spatial axes, e.g. ih56iw56")
    if missing := [axis for axis, values in axes.items() if not values.get("i")]:
        raise _Unread(f"expected the elements of each axis, e.g. i{missing[0]}56")
    return axes, [values["i"] for values in axes.values()]


def _windows(entries: Mapping[str, int]) -> tuple[list[int], Window]:
    """Elements of each spatial axis, and the window that slides over all of them."""
    axes, extents = _extents(entries)
    windows = {_window(values) for values in axes.values()}
    if len(windows) != 1:
        raise _Unread("expected the same kernel, stride, padding and dilation along each axis")
    [window] = windows
    for values in axes.values():
        output = window.output_extent(values["i"])
        if values.get("o", output) != output:
            raise _Unread(
                f"its output of {values['o']} asks for a padding at one end that the other has "
                f"not; expected {output}"
            )
    return extents, window


def _window(values: Mapping[str, int]) -> Window:
    """The window along an axis; a padding that is not named is half of what the output asks for."""
    kernel, stride, dilation = values.get("k", 0), values.get("s", 1), values.get("d", 0) + 1
    span = dilation * (kernel - 1) + 1
    asked = (values["o"] - 1) * stride - values["i"] + span if "o" in values else 0
    return Window(kernel, stride, values.get("p", max(0, asked) // 2), dilation)


def _named(extents: Iterable[int], *names: str) -> dict[str, Any]:
    return dict(zip(names, extents, strict=True))


def _matmul(problem: str, given: _Given) -> Operator:
    source, weights, *output = _dimensions(problem, 2, 3)
    if len(source) < 2 or len(weights) != len(source):
        raise _Unread("expected as many dimensions of both, at least 2, e.g. 2x3:3x4")
    [*batch, m, k], [*others, rows, n] = source, weights
    if rows != k or output not in ([], [(*batch, m, n)]):
        raise _Unread("expected dimensions that fit, e.g. 2x3:3x4")
    bias, activation = given.get("bia-dt", ""), given.get("attr-post-ops", "none")
    columns = 1 << (len(source) - 1)
    if bias and given.get("bia_mask", 2) != columns:
        raise _Unread(f"its bias is not one of columns; expected {_MARK}bia_mask={columns}")
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
            raise _Unread(f"its bias is {bias}; expected {dense.output_dtype}, as its output is")
        return dense
    if batch != others or bias or activation != "none":
        raise _Unread(
            "expected the same batch of both, with no bias and no activation, e.g. 8x2x3:8x3x4"
        )
    return BatchMatmul(batch=math.prod(batch), m=m, n=n, k=k, dtype=given["dt"])


def _conv(problem: str, given: _Given) -> Operator:
    entries = _entries(problem, "g mb ic id ih iw oc od oh ow kd kh kw sd sh sw pd ph pw dd dh dw")
    extents, window = _windows(entries)
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
    raise _Unread("expected groups or a dilation in two dimensions, and not both, e.g. g2ic8ih9")


def _pool(problem: str, given: _Given) -> Operator:
    entries = _entries(problem, "mb ic id ih iw od oh ow kd kh kw sd sh sw pd ph pw dd dh dw")
    extents, window = _windows(entries)
    if len(extents) != 2 or window.dilation != 1:
        raise _Unread("expected two dimensions and no dilation, e.g. ic64ih56kh3")
    algorithm = given.get("alg", "max")
    if algorithm == "avg_np" and window.padding:
        raise _Unread("its mean leaves padding out; expected avg_p, or no padding")
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


def _softmax(problem: str, given: _Given) -> Operator:
    [dimensions] = _dimensions(problem, 1, 1)
    axis = given.get("axis", 1)
    if not 0 <= axis < len(dimensions) or math.prod(dimensions[axis + 1 :]) != 1:
        raise _Unread(f"its axis {axis} is not the last one; expected that, e.g. 128x1000")
    if given["dt"] != "float32":
        raise _Unread(f"its type is {given['dt']}; expected float32")
    first, *others = dimensions[:axis] or (1,)
    return Softmax(m=(given.get("mb") or first) * math.prod(others), n=dimensions[axis])


def _lnorm(problem: str, given: _Given) -> Operator:
    [dimensions] = _dimensions(problem, 1, 1)
    _require_own_type(given)
    *rows, features = dimensions
    family: type[LayerNorm] | type[RmsNorm] = given.get("flags", LayerNorm)
    return family(m=math.prod(rows), n=features, dtype=given["dt"])


def _gnorm(problem: str, given: _Given) -> Operator:
    entries = _entries(problem, "g mb ic id ih iw")
    _require_own_type(given)
    _, extents = _extents(entries)
    if len(extents) > 2:
        raise _Unread("expected at most two dimensions, e.g. g32ic320ih32")
    return GroupNorm(
        batch=given.get("mb") or entries.get("mb", 2),
        channels=entries.get("ic", 0),
        groups=entries.get("g", 0),
        dtype=given["dt"],
        **_named([1, *extents][-2:], "height", "width"),
    )


def _require_own_type(given: _Given) -> None:
    if given.get("ss_dt", given["dt"]) != given["dt"]:
        raise _Unread(f"its scale is {given['ss_dt']}; expected {given['dt']}, as its data is")


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

#: What decides how, when and on what benchdnn runs, and not what.
_HARMLESS: Final = {
    *("allow-enum-tags-only", "attr-deterministic", "attr-same-pd-check", "attr-scratchpad"),
    *("canonical", "check-ref-impl", "cold-cache", "cpu-isa-hints", "ctx-exe", "ctx-init"),
    *("engine", "execution-mode", "fast-ref", "fix-times-per-prb", "impl", "max-ms-per-prb"),
    *("mem-check", "memory-kind", "mode", "mode-modifier", "num-streams", "perf-template"),
    *("repeats-per-prb", "skip-impl", "stream-kind", "summary", "verbose"),
}


def _one_of(values: Mapping[str, Any] | Iterable[str]) -> _Option:
    known = values if isinstance(values, Mapping) else dict.fromkeys(values)
    return _Option(known.__getitem__, f"one of {', '.join(filter(None, known))}")


def _any_case(values: Mapping[str, Any] | Iterable[str]) -> _Option:
    """Names that may be written in capitals, or not."""
    option = _one_of(values)
    return _Option(lambda value: option.read(value.lower()), option.shown)


def _alike(tags: tuple[str, ...]) -> _Option:
    """Layouts of source and destination; one stands for both."""
    both = {f"{tag}:{other}" for tag in tags for other in (tag, "any")}
    return _Option(_one_of([*tags, *both]).read, f"one of {', '.join(tags)}")


def _types(tensors: int, more: Mapping[str, str]) -> _Option:
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
_NUMBER: Final = _Option(int, "a whole number")
_NOTHING: Final = _Option({"": None}.__getitem__, "nothing")
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
    "ss_dt": _one_of(_FLOATS),
    "inplace": _one_of(["false", "0"]),
}

_DRIVERS: Final[Mapping[str, _Driver]] = {
    "matmul": _Driver(
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
    "conv": _Driver(
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
    "pool": _Driver(
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
    "softmax": _Driver(
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
    "lnorm": _Driver(
        "256x768",
        {
            **_NORM,
            "tag": _alike(_ROWS),
            "stat_tag": _one_of(["any", "undef", *_ROWS]),
            "flags": _one_of({"CH": LayerNorm, "HC": LayerNorm, "CM": RmsNorm, "MC": RmsNorm}),
        },
        _lnorm,
    ),
    "gnorm": _Driver(
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
