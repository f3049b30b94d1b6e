"""A rewritten model computes what it did."""

import re

import numpy as np
import pytest

from pytest_ansorbench import workloads
from pytest_ansorbench.workloads.case import PREFETCH
from pytest_ansorbench.workloads.dataflow import Rounding
from pytest_ansorbench.workloads.networks.relax_checks import tir_calls
from pytest_ansorbench.workloads.networks.relax_names import tensor_type
from pytest_ansorbench.workloads.signature import buffer_of, buffers_of, nodes, same_buffer
from tests.inference import infer
from tests.relax_modules import relax_module

SHAPE = (1, 32, 17, 14)
"""Channels second, as exporters write images; no multiple of a tile."""


def model(shape, body):
    """What `body` makes of an input, as a function for from_relax."""
    return lambda: relax_module(
        lambda relax, builder, x: body(relax.op, relax.const, x), ("x", shape, "float32")
    )


def images(kernel, *, shape=SHAPE, residual=False, dtype="float32", **attributes):
    """A convolution of a random kernel, its bias and a rectifier."""
    rng = np.random.default_rng(0)
    array = rng.standard_normal(kernel, np.float32).astype(dtype)
    bias = rng.standard_normal((1, kernel[0], 1, 1), np.float32)

    def body(op, const, x):
        y = op.nn.conv2d(op.astype(x, dtype), const(array), out_dtype="float32", **attributes)
        y = op.nn.relu(op.add(y, const(bias)))
        return op.mean(op.add(x, y) if residual else y, axis=[1])

    return model(shape, body)


def clipped():
    """Convolutions with what TVM's conversion of layouts does not know between and after them."""
    rng = np.random.default_rng(0)
    first, second = (rng.standard_normal((32, 32, 1, 1), np.float32) for _ in range(2))

    def body(op, const, x):
        y = op.clip(op.nn.leakyrelu(op.nn.conv2d(x, const(first)), 0.5), -1, 6)
        return op.nn.softplus(op.nn.conv2d(y, const(second)))

    return model(SHAPE, body)


def products(weights, *, shape=(2, 5, 24), dtype="float32"):
    """A product with random weights and a rectifier."""
    array = np.random.default_rng(0).standard_normal(weights, np.float32).astype(dtype)

    def body(op, const, x):
        return op.nn.relu(op.matmul(op.astype(x, dtype), const(array), out_dtype="float32"))

    return model(shape, body)


def dense_layers(tokens=10):
    """Dense layers as PyTorch exports them, GELU between them, then a sum with what came in."""
    rng = np.random.default_rng(0)
    wide, back = (rng.standard_normal(shape, np.float32) / 5 for shape in ((32, 64), (64, 32)))
    bias = rng.standard_normal(64, np.float32)
    shape, flat = (2, tokens // 2, 32), (tokens, 32)

    def body(op, const, x):
        y = op.add(op.matmul(op.reshape(x, flat), const(wide)), const(bias))
        y = op.nn.gelu(op.reshape(y, (*shape[:2], 64)))
        y = op.matmul(op.reshape(y, (tokens, 64)), const(back))
        return op.mean(op.add(x, op.reshape(y, shape)), axis=[2])

    return model(shape, body)


def branched():
    """Convolutions before a branch and on both of its sides."""
    from tvm import relax

    rng, shape = np.random.default_rng(0), (1, 4, 3, 2)

    def convolved(y):
        kernel = relax.const(rng.standard_normal((4, 4, 1, 1), np.float32))
        return relax.op.nn.relu(relax.op.nn.conv2d(y, kernel))

    flag = relax.Var("flag", tensor_type((), "bool"))
    x = relax.Var("x", tensor_type(shape, "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [flag, x]):
        y, sides = builder.emit(convolved(x)), []
        for _ in range(2):
            variable = relax.Var("side", tensor_type(shape, "float32"))
            block = relax.BindingBlock([relax.VarBinding(variable, convolved(y))])
            sides.append(relax.SeqExpr([block], variable))
        builder.emit_func_output(builder.emit(relax.If(flag, *sides)))
    return builder.get()


def rewritten(build, rewrite):
    """What is called after it; what comes out has to be the same."""
    cases = [workloads.from_relax("rewritten", build, rewrite=how) for how in (None, rewrite)]
    before, after = (infer(case.program(), case.arguments()) for case in cases)
    np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-3)
    return " ".join(call.args[0].name_hint for _, call in tir_calls(cases[1].program()))


@pytest.mark.parametrize(
    "build",
    [
        images((48, 32, 3, 3), padding=(1, 1)),
        images((32, 32, 3, 3), padding=(1, 1), residual=True),
        images((32, 32, 3, 3), padding=(0, 2, 1, 0), shape=(2, 32, 9, 16)),
    ],
    ids=["plain", "residual", "batch"],
)
def test_winograd_computes_the_same(build):
    assert "winograd" in rewritten(build, workloads.winograd)


def test_errors_of_what_cancels_out_in_winograd_s_sums_are_allowed():
    """Terms of an output are up to 31 times as large as it, and so are their errors."""
    build = images((48, 32, 3, 3), padding=(1, 1))
    case = workloads.from_relax("found", build, rewrite=workloads.winograd)
    of_a_sum = np.finfo(np.float32).eps * 32**0.5
    assert Rounding.of_network(case.tasks()).error > 31 * of_a_sum


def test_a_rewritten_model_has_the_flops_of_its_original():
    build, read = images((48, 32, 3, 3), padding=(1, 1)), []

    def counted():
        read.append(build)
        return build()

    plain = workloads.from_relax("plain", build)
    found = workloads.from_relax("found", counted, rewrite=workloads.winograd)
    assert found.flops == found.flops == plain.flops
    assert len(read) == 1
    assert sum(task.weight * task.flops for task in found.tasks()) != plain.flops


@pytest.mark.parametrize(
    "build",
    [
        images((48, 32, 3, 3), strides=(2, 2)),
        images((48, 32, 3, 3), dilation=(2, 2)),
        images((48, 32, 1, 1)),
        images((16, 32, 3, 3)),
        images((64, 1, 3, 3), groups=32),
        images((48, 32, 3, 3), shape=(1, 32, 9, 9)),
    ],
    ids=["stride", "dilation", "point", "features", "groups", "tiles"],
)
def test_what_does_not_gain_by_winograd_is_left(build):
    assert "winograd" not in rewritten(build, workloads.winograd)


@pytest.mark.parametrize(
    "build",
    [
        images((48, 32, 3, 3), padding=(1, 1)),
        images((32, 32, 1, 1), residual=True),
        images((32, 32, 3, 2), padding=(0, 2, 1, 0), strides=(2, 1), shape=(2, 32, 9, 16)),
        images((16, 32, 3, 3), dilation=(2, 1)),
        products((24, 32)),
        products((24, 16), shape=(1, 24)),
        products((24, 32), shape=(2, 37, 24)),
        dense_layers(),
        dense_layers(tokens=74),
    ],
    ids=["plain", "residual", "stride", "dilation", "product", "row", "prime", "dense", "tokens"],
)
def test_packing_computes_the_same(build):
    assert "packed" in rewritten(build, workloads.packed)


def test_an_activation_is_fused_with_its_product_in_spite_of_a_reshape():
    case = workloads.from_relax("mine", dense_layers(), rewrite=workloads.fast_math)
    assert "fused_packed_matmul_add_gelu" in [task.name for task in case.tasks()]


@pytest.mark.parametrize(
    "name", ["exp", "erf", "tanh", "sigmoid", "silu", "gelu", "gelu_tanh", "softmax"]
)
def test_no_exponential_is_a_call_of_the_c_library(name):
    def body(op, const, x):
        return (getattr(op, name, None) or getattr(op.nn, name))(op.multiply(x, const(8.0)))

    build = model((3, 40), body)
    assert name in rewritten(build, workloads.fast_math)
    calls = re.compile(r"T\.(exp|erf|tanh|sigmoid)\(")
    plain, fast = (
        workloads.from_relax(name, build, rewrite=how).program().script()
        for how in (None, workloads.fast_math)
    )
    assert calls.search(plain) and not calls.search(fast)


def test_an_exponential_of_other_than_float32_is_left():
    build = model((3, 40), lambda op, const, x: op.exp(op.astype(x, "float64")))
    case = workloads.from_relax("double", build, rewrite=workloads.fast_math)
    assert "T.exp(" in case.program().script()


@pytest.mark.parametrize(
    "build",
    [
        products((24, 32)),
        images((32, 32, 1, 1)),
        images((32, 32, 3, 3), padding=(1, 1)),
    ],
    ids=["product", "packed", "winograd"],
)
def test_what_is_to_be_fetched_ahead_is_weights(build):
    tasks = workloads.from_relax("found", build, rewrite=workloads.winograd).tasks()
    annotated = [
        (task, node)
        for task in tasks
        for node in nodes(task.mod["main"].body)
        if PREFETCH in getattr(node, "annotations", {})
    ]
    [(task, block)] = annotated
    weights = buffer_of(block.reads[-1])
    of_arguments = [same_buffer(weights, one) for _, one in buffers_of(task.mod["main"])]
    assert of_arguments.index(True) in task.surroundings.given


def weighted(tokens, *, axis=-1, dtype="float32", between=lambda op, scores: scores):
    """Attention of tokens to each other, two heads in a batch."""

    def body(op, const, x):
        half = op.astype(x, dtype)
        scores = op.matmul(half, op.permute_dims(half, [0, 2, 1]), out_dtype="float32")
        scores = op.reshape(scores, (1, 2, tokens, tokens))
        scores = op.nn.softmax(op.multiply(between(op, scores), const(0.2)), axis)
        shape = (1, 2, tokens, tokens)
        scores = op.reshape(op.broadcast_to(scores, shape), (2, tokens, tokens))
        return op.matmul(scores, x)

    return model((2, tokens, 24), body)


def of_vectors(*shapes):
    """Softmax of a product with an array, times another one."""
    first, second = (np.random.default_rng(0).standard_normal(one, np.float32) for one in shapes)

    def body(op, const, x):
        return op.matmul(op.nn.softmax(op.matmul(x, const(first))), const(second))

    return model((20, 37, 24), body)


@pytest.mark.parametrize("tokens", [37, 36, 15])
def test_softmax_of_attention_works_on_whole_vectors(tokens):
    build = weighted(tokens)
    assert "scores" in rewritten(build, workloads.fast_math)
    text = workloads.from_relax("mine", build, rewrite=workloads.fast_math).program().script()
    columns = -(-tokens // 32) * 32
    assert f"T_divide: T.Buffer((T.int64(2), T.int64({tokens}), T.int64({columns}))" in text


@pytest.mark.parametrize(
    "build",
    [
        weighted(32),
        weighted(13),
        weighted(37, axis=2),
        weighted(37, dtype="float16"),
        weighted(37, between=lambda op, scores: op.nn.relu(scores)),
        weighted(37, between=lambda op, scores: op.permute_dims(scores, [0, 1, 3, 2])),
        weighted(37, between=lambda op, scores: op.nn.softmax(scores)),
        of_vectors((24,), (37, 5)),
        of_vectors((24, 37), (37,)),
    ],
    ids=["fits", "few rows", "axis", "half", "relu", "transposed", "twice", "by vector", "vector"],
)
def test_other_attention_is_left(build):
    assert "scores" not in rewritten(build, workloads.fast_math)


def test_rows_that_no_tile_divides_are_padded():
    build = products((24, 32), shape=(37, 24))
    text = workloads.from_relax("prime", build, rewrite=workloads.packed).program().script()
    assert "(T.int64(39), T.int64(32))" in text


def attention(tokens, dtype="float32"):
    """Each token's product with each other one."""

    def body(op, const, x):
        x = op.astype(x, dtype)
        return op.matmul(x, op.permute_dims(x, [0, 2, 1]), out_dtype="float32")

    return model((2, tokens, 24), body)


@pytest.mark.parametrize(("tokens", "padded"), [(37, (39, 64)), (36, (36, 64)), (39, (39, 64))])
def test_products_of_activations_are_padded_until_tiles_divide_them(tokens, padded):
    build = attention(tokens)
    assert "matmul" in rewritten(build, workloads.packed)
    text = workloads.from_relax("tokens", build, rewrite=workloads.packed).program().script()
    rows, columns = padded
    assert f"(T.int64(2), T.int64({rows}), T.int64({columns}))" in text


@pytest.mark.parametrize(
    "build",
    [attention(32), attention(13), attention(37, "float16")],
    ids=["fits", "few rows", "half"],
)
def test_other_products_of_activations_are_left(build):
    assert "columns_in_blocks" not in rewritten(build, workloads.packed)


@pytest.mark.parametrize("rewrite", [workloads.channels_last, workloads.fast_math])
def test_axes_may_be_counted_from_the_end(rewrite):
    kernel = np.random.default_rng(0).standard_normal((4, 14, 3, 3), np.float32)

    def body(op, const, x):
        return op.nn.conv2d(op.permute_dims(x, [0, -1, 1, 2]), const(kernel))

    rewritten(model(SHAPE, body), rewrite)


def test_images_are_transposed_at_both_ends_and_nowhere_else():
    first, *convolutions, last = rewritten(clipped(), workloads.channels_last).split()
    assert (first, last) == ("transpose", "transpose1")
    assert convolutions == ["fused_conv2d_leaky_relu_tir_clip", "fused_conv2d_softplus"]


def test_a_side_of_a_branch_takes_nothing_from_within_the_block_before():
    from tvm import relax

    module = relax.transform.ConvertToDataflow()(branched())
    found = workloads.channels_last(module)
    assert relax.analysis.well_formed(found) is not False  # later versions raise
    assert found.script().count("R.permute_dims(") == 6


@pytest.mark.parametrize(
    "build",
    [
        images((40, 32, 3, 3)),
        images((64, 1, 3, 3), groups=32),
        products((24, 24)),
        products((2, 24, 16)),
        products((24, 32), shape=(24,)),
        images((32, 32, 1, 1), dtype="float16"),
        products((24, 32), dtype="float16"),
    ],
    ids=["features", "groups", "columns", "batch", "vector", "half", "half product"],
)
def test_what_does_not_come_in_blocks_of_float32_is_left(build):
    assert "packed" not in rewritten(build, workloads.packed)
