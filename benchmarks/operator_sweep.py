"""Which operators of TVM's own library can be tuned, and what becomes of the others.

    python benchmarks/operator_sweep.py [--operators NAME,NAME] [--strategy NAME] [--trials N]

Each operator is a network of one layer, built with Relax in each type that it makes sense in, and
goes through the product as anybody's network does: tuned with N trials a task, every candidate
checked, the network with its winners held to the untuned one. Prints what became of each.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from swept import counts, swept
from tabulate import tabulate

from pytest_ansorbench import workloads

if TYPE_CHECKING:
    from tvm import IRModule

    from pytest_ansorbench.workloads.case import NetworkCase

TESTS: Final = """
import pytest
from operator_sweep import CASES

@pytest.mark.parametrize("name", NAMES)
def test_program(ansor_bench, name):
    ansor_bench(CASES[name]())
"""

Shape = tuple[int, ...]

FLOATS: Final = ("float32", "float16")
NUMBERS: Final = (*FLOATS, "int8")


@dataclass(frozen=True)
class Layer:
    """One operator on inputs.

    Attributes:
        make: Called with `relax.op` and the inputs.
        inputs: The shape of each; one of another type than the row's is a pair with it.
        dtypes: The types that make a row.
    """

    make: Callable[..., Any]
    inputs: Sequence[Shape | tuple[Shape, str]]
    dtypes: Sequence[str] = ("float32",)

    def module(self, dtype: str) -> IRModule:
        """The network."""
        from tvm import relax

        described = [one if isinstance(one[-1], str) else (one, dtype) for one in self.inputs]
        variables = [
            relax.Var(f"x{place}", relax.TensorType(list(shape), kind))
            for place, (shape, kind) in enumerate(described)
        ]
        builder = relax.BlockBuilder()
        with builder.function("main", variables):
            with builder.dataflow():
                out = builder.emit_output(self.make(relax.op, *variables))
            builder.emit_func_output(out)
        return builder.get()


def _const(value: float, dtype: str) -> Any:
    from tvm import relax

    return relax.const(value, dtype)


def _number(value: float) -> Any:
    from tvm.tirx import FloatImm

    return FloatImm("float32", value)


ROWS: Final = (32, 64)
LINE: Final = (1, 8, 64)
IMAGE: Final = (1, 8, 16, 16)
VOLUME: Final = (1, 4, 8, 8, 8)
HEADS: Final = (1, 16, 2, 32)

LAYERS: Final[Mapping[str, Layer]] = {
    "abs": Layer(lambda op, x: op.abs(x), [ROWS], ("float32", "int8")),
    "acosh": Layer(lambda op, x: op.acosh(x), [ROWS]),
    "erf": Layer(lambda op, x: op.erf(x), [ROWS]),
    "exp": Layer(lambda op, x: op.exp(x), [ROWS], FLOATS),
    "log": Layer(lambda op, x: op.log(x), [ROWS]),
    "round": Layer(lambda op, x: op.round(x), [ROWS]),
    "rsqrt": Layer(lambda op, x: op.rsqrt(x), [ROWS]),
    "sigmoid": Layer(lambda op, x: op.sigmoid(x), [ROWS], FLOATS),
    "tanh": Layer(lambda op, x: op.tanh(x), [ROWS]),
    "add": Layer(lambda op, x, y: op.add(x, y), [ROWS, ROWS], NUMBERS),
    "divide": Layer(lambda op, x, y: op.divide(x, y), [ROWS, ROWS]),
    "floor_mod": Layer(lambda op, x, y: op.floor_mod(x, y), [ROWS, ROWS]),
    "greater": Layer(lambda op, x, y: op.greater(x, y), [ROWS, ROWS]),
    "logical_and": Layer(lambda op, x, y: op.logical_and(x, y), [ROWS, ROWS], ("bool",)),
    "maximum": Layer(lambda op, x, y: op.maximum(x, y), [ROWS, ROWS], ("float32", "int8")),
    "power": Layer(lambda op, x, y: op.power(x, y), [ROWS, ROWS]),
    "where": Layer(lambda op, c, x, y: op.where(c, x, y), [(ROWS, "bool"), ROWS, ROWS]),
    "argmax": Layer(lambda op, x: op.argmax(x, axis=-1), [ROWS]),
    "max": Layer(lambda op, x: op.max(x, axis=[1]), [ROWS], NUMBERS),
    "mean": Layer(lambda op, x: op.mean(x, axis=[1]), [ROWS], FLOATS),
    "prod": Layer(lambda op, x: op.prod(x, axis=[1]), [ROWS]),
    "sum": Layer(lambda op, x: op.sum(x, axis=[1]), [ROWS], FLOATS),
    "variance": Layer(lambda op, x: op.variance(x, axis=[1]), [ROWS]),
    "einsum": Layer(
        lambda op, x, y: op.einsum((x, y), "bij,bjk->bik"), [(2, 16, 16), (2, 16, 16)], FLOATS
    ),
    "matmul": Layer(lambda op, x, y: op.matmul(x, y), [ROWS, (64, 32)], FLOATS),
    "matmul to int32": Layer(
        lambda op, x, y: op.matmul(x, y, out_dtype="int32"), [ROWS, (64, 32)], ("int8", "uint8")
    ),
    "attention": Layer(lambda op, q, k, v: op.nn.attention(q, k, v), [HEADS] * 3),
    "conv1d": Layer(lambda op, x, w: op.nn.conv1d(x, w, padding=1), [LINE, (16, 8, 3)]),
    "conv1d_transpose": Layer(
        lambda op, x, w: op.nn.conv1d_transpose(x, w, strides=2), [LINE, (8, 4, 4)]
    ),
    "conv2d": Layer(lambda op, x, w: op.nn.conv2d(x, w, padding=1), [IMAGE, (16, 8, 3, 3)], FLOATS),
    "conv2d, grouped": Layer(lambda op, x, w: op.nn.conv2d(x, w, groups=4), [IMAGE, (8, 2, 3, 3)]),
    "conv2d to int32": Layer(
        lambda op, x, w: op.nn.conv2d(x, w, out_dtype="int32"), [IMAGE, (16, 8, 3, 3)], ("int8",)
    ),
    "conv2d_transpose": Layer(
        lambda op, x, w: op.nn.conv2d_transpose(x, w, strides=[2, 2]), [IMAGE, (8, 4, 3, 3)]
    ),
    "conv3d": Layer(lambda op, x, w: op.nn.conv3d(x, w), [VOLUME, (8, 4, 3, 3, 3)]),
    "conv3d_transpose": Layer(
        lambda op, x, w: op.nn.conv3d_transpose(x, w, strides=[2, 2, 2]), [VOLUME, (4, 4, 2, 2, 2)]
    ),
    "avg_pool2d": Layer(lambda op, x: op.nn.avg_pool2d(x, [3, 3], [2, 2]), [IMAGE]),
    "avg_pool3d": Layer(lambda op, x: op.nn.avg_pool3d(x, [2, 2, 2], [2, 2, 2]), [VOLUME]),
    "max_pool1d": Layer(lambda op, x: op.nn.max_pool1d(x, [3], [2]), [LINE]),
    "max_pool2d": Layer(
        lambda op, x: op.nn.max_pool2d(x, [3, 3], [2, 2], ceil_mode=True), [IMAGE], NUMBERS
    ),
    "adaptive_avg_pool2d": Layer(lambda op, x: op.nn.adaptive_avg_pool2d(x, [4, 4]), [IMAGE]),
    "batch_norm": Layer(
        lambda op, x, *of: op.nn.batch_norm(x, *of, axis=1, training=False), [IMAGE, *[(8,)] * 4]
    ),
    "group_norm": Layer(
        lambda op, x, g, b: op.nn.group_norm(x, g, b, num_groups=2, channel_axis=1, axes=[2, 3]),
        [IMAGE, (8,), (8,)],
    ),
    "instance_norm": Layer(
        lambda op, x, g, b: op.nn.instance_norm(x, g, b, channel_axis=1, axes=[2, 3]),
        [IMAGE, (8,), (8,)],
    ),
    "layer_norm": Layer(
        lambda op, x, g, b: op.nn.layer_norm(x, g, b, axes=[-1]), [ROWS, (64,), (64,)], FLOATS
    ),
    "rms_norm": Layer(lambda op, x, w: op.nn.rms_norm(x, w, axes=[-1]), [ROWS, (64,)]),
    "gelu": Layer(lambda op, x: op.nn.gelu(x), [ROWS]),
    "leakyrelu": Layer(lambda op, x: op.nn.leakyrelu(x), [ROWS]),
    "relu": Layer(lambda op, x: op.nn.relu(x), [ROWS], NUMBERS),
    "silu": Layer(lambda op, x: op.nn.silu(x), [ROWS]),
    "softmax": Layer(lambda op, x: op.nn.softmax(x, axis=-1), [ROWS], FLOATS),
    "log_softmax": Layer(lambda op, x: op.nn.log_softmax(x, axis=-1), [ROWS]),
    "cross_entropy": Layer(lambda op, x, y: op.nn.cross_entropy_with_logits(x, y), [ROWS, ROWS]),
    "pad": Layer(lambda op, x: op.nn.pad(x, [0, 0, 0, 0, 1, 1, 1, 1]), [IMAGE]),
    "pixel_shuffle": Layer(lambda op, x: op.nn.pixel_shuffle(x, 2), [IMAGE]),
    "resize2d": Layer(lambda op, x: op.image.resize2d(x, (32, 32)), [IMAGE]),
    "concat": Layer(lambda op, x, y: op.concat([x, y], axis=1), [ROWS, ROWS], ("float32", "int8")),
    "permute_dims": Layer(lambda op, x: op.permute_dims(x), [ROWS]),
    "split": Layer(lambda op, x: op.split(x, 2, axis=1), [ROWS]),
    "strided_slice": Layer(
        lambda op, x: op.strided_slice(x, axes=[1], begin=[1], end=[63], strides=[2]), [ROWS]
    ),
    "tile": Layer(lambda op, x: op.tile(x, (2, 2)), [ROWS]),
    "gather_elements": Layer(
        lambda op, x, at: op.gather_elements(x, at, axis=1), [ROWS, ((32, 8), "int64")]
    ),
    "gather_nd": Layer(lambda op, x, at: op.gather_nd(x, at), [ROWS, ((8, 2), "int64")]),
    "take": Layer(lambda op, x, at: op.take(x, at, axis=0), [ROWS, ((16,), "int64")]),
    "scatter_elements": Layer(
        lambda op, x, at, y: op.scatter_elements(x, at, y, axis=0),
        [ROWS, ((8, 64), "int64"), (8, 64)],
    ),
    "scatter_nd": Layer(
        lambda op, x, at, y: op.scatter_nd(x, at, y), [ROWS, ((8, 1), "int64"), (8, 64)]
    ),
    "one_hot": Layer(
        lambda op, at: op.one_hot(at, _number(1.0), _number(0.0), depth=16), [(32,)], ("int64",)
    ),
    "cumsum": Layer(lambda op, x: op.cumsum(x, axis=1), [ROWS]),
    "sort": Layer(lambda op, x: op.sort(x), [ROWS]),
    "topk": Layer(lambda op, x: op.topk(x, k=3), [ROWS]),
    "unique": Layer(lambda op, x: op.unique(x), [(64,)], ("int64",)),
    "tril": Layer(lambda op, x: op.tril(x), [(32, 32)]),
    "astype": Layer(lambda op, x: op.astype(x, "float32"), [ROWS], ("float16", "int8")),
    "quantize": Layer(
        lambda op, x: op.quantize(x, _const(0.05, "float32"), _const(2, "int8")), [ROWS]
    ),
    "dequantize": Layer(
        lambda op, x: op.dequantize(x, _const(0.05, "float32"), _const(2, "int8")),
        [ROWS],
        ("int8",),
    ),
}


def network(name: str, dtype: str) -> NetworkCase:
    """The network of an operator in a type."""
    words = name.replace(",", "").replace(" ", "-")
    return workloads.from_relax(f"{words}-{dtype}", partial(LAYERS[name].module, dtype))


CASES: Final[Mapping[str, Callable[[], NetworkCase]]] = {
    f"{name}, {dtype}": partial(network, name, dtype)
    for name, layer in LAYERS.items()
    for dtype in layer.dtypes
}


def main() -> None:
    """Sweep and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--operators", help="some of them (default: all)")
    parser.add_argument("--strategy", default="random")
    parser.add_argument("--trials", type=int, default=4, help="trials a task (default: 4)")
    given = parser.parse_args()
    wanted = given.operators.split(",") if given.operators else [*LAYERS]
    names = [
        f"{name}, {dtype}" for name in wanted if name in LAYERS for dtype in LAYERS[name].dtypes
    ]
    with tempfile.TemporaryDirectory() as folder:
        outcomes = swept(
            Path(folder),
            TESTS,
            [name for name in CASES if name in names],
            strategy=given.strategy,
            trials=f"{given.trials}/task",
            round=given.trials,
        )
    rows = [[*name.rsplit(", ", 1), outcome] for name, outcome in outcomes.items()]
    print(tabulate(rows, ["operator", "dtype", "outcome"]), counts(outcomes), sep="\n\n")


if __name__ == "__main__":
    main()
