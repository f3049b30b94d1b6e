"""The layers of today's models against plain loops, and bad sizes; inputs and ids of all."""

import contextlib
import dataclasses
import math

import numpy as np
import pytest

from pytest_ansorbench import workloads
from pytest_ansorbench.measure.arguments import mismatch
from pytest_ansorbench.workloads import BadShape
from pytest_ansorbench.workloads.dataflow import index_bounds
from pytest_ansorbench.workloads.operator import Operator
from tests.workloads.conftest import LAYERS, SMALL, TYPED_LAYERS

OF_THE_PAPER = {type(operator) for operator in SMALL}


def assert_close(operator, inputs, expected):
    np.testing.assert_allclose(operator.reference(*inputs), expected, rtol=1e-5, atol=1e-5)


def test_every_new_family_is_tried_and_ships():
    families = {type(operator) for operator in LAYERS}
    assert len(families) == 17
    shipped = {type(case) for case in workloads.CASES if isinstance(case, Operator)}
    assert families == shipped - OF_THE_PAPER
    assert {operator.dtype for operator in TYPED_LAYERS} == {"bfloat16", "uint8"}
    assert len(TYPED_LAYERS) >= 16


def gelu(x):
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


def silu(x):
    return x / (1 + math.exp(-x))


ACTIVATIONS = {"none": lambda x: x, "gelu": gelu, "silu": silu}


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_dense(bias, activation):
    operator = workloads.Dense(m=2, n=3, k=4, bias=bias, activation=activation)
    data, weight, *shift = inputs = operator.inputs()
    expected = np.zeros((2, 3))
    for i, j in np.ndindex(2, 3):
        total = sum(float(data[i, k]) * float(weight[k, j]) for k in range(4))
        expected[i, j] = ACTIVATIONS[activation](total + sum(float(one[j]) for one in shift))
    assert len(shift) == bias
    assert_close(operator, inputs, expected)


def test_swiglu():
    operator = workloads.SwiGlu(m=2, n=3, k=4)
    data, weight = (array.astype(float) for array in operator.inputs())
    gate, up = weight[:, [0, 2, 4]], weight[:, [1, 3, 5]]
    expected = np.vectorize(silu)(data @ gate) * (data @ up)
    assert_close(operator, (data, weight), expected)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("heads", "key_heads"), [(2, 2), (6, 2), (3, 1)])
@pytest.mark.parametrize(("queries", "keys"), [(1, 4), (3, 5), (4, 4)])
def test_attention(heads, key_heads, queries, keys, causal):
    operator = workloads.Attention(
        batch=2,
        heads=heads,
        key_heads=key_heads,
        queries=queries,
        keys=keys,
        size=3,
        causal=causal,
    )
    asked, known, values = (array.astype(float) for array in operator.inputs())
    expected = np.zeros((2, queries, heads, 3))
    for b, h, i in np.ndindex(2, heads, queries):
        seen = keys - queries + i + 1 if causal else keys
        of = h * key_heads // heads
        scores = [asked[b, h, i] @ known[b, of, j] / math.sqrt(3) for j in range(seen)]
        powers = [math.exp(score) for score in scores]
        for j in range(seen):
            expected[b, i, h] += powers[j] / sum(powers) * values[b, of, j]
    assert_close(operator, (asked, known, values), expected)


def test_rope_turns_pairs_of_features_by_an_angle():
    operator = workloads.Rope(batch=1, heads=2, length=3, size=4)
    data = operator.inputs()[0].astype(float)
    angles = np.arange(6.0).reshape(3, 2)
    full = np.concatenate([angles, angles], axis=1)
    pairs = (data[..., :2] + 1j * data[..., 2:]) * np.exp(1j * angles)
    expected = np.concatenate([pairs.real, pairs.imag], axis=-1)
    assert_close(operator, (data, np.cos(full), np.sin(full)), expected)


def test_rows_are_normalized():
    layer, rms = workloads.LayerNorm(m=3, n=64), workloads.RmsNorm(m=3, n=64)
    data = layer.inputs()[0] + np.float32(5)
    ones, zeros = np.ones(64, np.float32), np.zeros(64, np.float32)
    normalized = layer.reference(data, ones, zeros)
    np.testing.assert_allclose(normalized.mean(axis=1), 0, atol=1e-6)
    np.testing.assert_allclose(normalized.std(axis=1), 1, rtol=1e-4)
    np.testing.assert_allclose(layer.reference(data, 2 * ones, ones), 2 * normalized + 1, atol=1e-5)
    of_rms = rms.reference(data, ones)
    np.testing.assert_allclose(np.square(of_rms).mean(axis=1), 1, rtol=1e-4)
    np.testing.assert_allclose(of_rms / of_rms[:, :1], data / data[:, :1], rtol=1e-5)


def test_a_group_norm_is_a_layer_norm_of_each_group():
    operator = workloads.GroupNorm(batch=2, height=3, width=2, channels=6, groups=3)
    data, scale, shift = operator.inputs()
    layer = workloads.LayerNorm(m=1, n=12)
    plain = np.zeros(data.shape)
    for n, g in np.ndindex(2, 3):
        group = data[n, :, :, 2 * g : 2 * g + 2]
        ones, zeros = np.ones(12, np.float32), np.zeros(12, np.float32)
        flat = layer.reference(group.reshape(1, 12), ones, zeros)
        plain[n, :, :, 2 * g : 2 * g + 2] = flat.reshape(group.shape)
    assert_close(operator, (data, scale, shift), plain * scale + shift)


def test_what_indices_choose():
    embedding = workloads.Embedding(tokens=4, vocabulary=6, size=3)
    table, tokens = embedding.inputs()
    assert_close(embedding, (table, tokens), [table[token] for token in tokens])
    moe = workloads.Moe(blocks=4, rows=2, experts=3, n=5, k=6)
    data, weight, experts = moe.inputs()
    expected = [data[b] @ weight[experts[b]] for b in range(4)]
    assert_close(moe, (data, weight, experts), expected)


def test_block_sparse_dense_is_dense_with_zeros():
    operator = workloads.BlockSparseDense(m=3, n=8, k=12, block=4, blocks=2)
    data, weight, columns = operator.inputs()
    full = np.zeros((12, 8))
    for row, e in np.ndindex(columns.shape):
        column = columns[row, e]
        full[4 * column : 4 * column + 4, 4 * row : 4 * row + 4] += weight[row, e]
    expected = (data.reshape(3, 12) @ full).reshape(3, 2, 4)
    assert_close(operator, (data, weight, columns), expected)


@pytest.mark.parametrize("family", [workloads.MaxPool2d, workloads.AvgPool2d])
def test_pooling(family):
    operator = family(batch=1, height=5, width=6, channels=2, kernel=3, stride=2, padding=1)
    [data] = inputs = operator.inputs()
    expected = np.zeros(operator.output_shape)
    for n, h, w, c in np.ndindex(*operator.output_shape):
        rows, columns = (slice(max(0, 2 * at - 1), 2 * at + 2) for at in (h, w))
        window = data[n, rows, columns, c]
        largest = family is workloads.MaxPool2d
        expected[n, h, w, c] = window.max() if largest else window.sum() / 9
    assert_close(operator, inputs, expected)


def test_a_maximum_is_not_of_the_padding():
    operator = workloads.MaxPool2d(batch=1, height=2, width=2, channels=1, kernel=3, padding=1)
    below = np.full((1, 2, 2, 1), -0.5, np.float32)
    assert_close(operator, (below,), below)


def test_the_largest_of_a_row_come_first():
    rows = np.array([[0.5, -1, 0.5, 0.25], [-3, -2, -1, -1]], np.float32)
    assert workloads.ArgMax(m=2, n=4).reference(rows).tolist() == [0, 2]
    assert workloads.TopK(m=2, n=4, k=3).reference(rows).tolist() == [[0, 2, 3], [2, 3, 1]]
    unsigned = np.array([[1, 0, 255, 255]], np.uint8)
    assert workloads.ArgMax(m=1, n=4, dtype="uint8").reference(unsigned).tolist() == [2]
    assert workloads.TopK(m=1, n=4, k=3, dtype="uint8").reference(unsigned).tolist() == [[2, 3, 0]]


def test_packed_products_are_the_plain_ones():
    packed = workloads.PackedDense(m=3, n=32, k=8)
    data, weight = packed.inputs()
    plain = np.zeros((8, 32), np.int8)
    for k, n in np.ndindex(8, 32):
        plain[k, n] = weight[n // 16, k // 4, n % 16, k % 4]
    dense = workloads.Dense(m=3, n=32, k=8, dtype="uint8")
    assert np.array_equal(
        packed.reference(data, weight).reshape(3, 32), dense.reference(data, plain)
    )


def test_packed_convolutions_are_the_plain_ones():
    sizes = {"batch": 2, "height": 4, "width": 5, "kernel": 3, "stride": 2, "padding": 1}
    packed = workloads.PackedConv2d(in_channels=32, out_channels=48, **sizes)
    data, weight = packed.inputs()
    image = data.transpose(0, 2, 3, 1, 4).reshape(2, 4, 5, 32)
    plain = np.zeros((3, 3, 32, 48), np.int8)
    for i, o in np.ndindex(32, 48):
        plain[:, :, i, o] = weight[o // 16, i // 16, :, :, i % 16 // 4, o % 16, i % 4]
    conv = workloads.Conv2d(in_channels=32, out_channels=48, dtype="uint8", **sizes)
    expected = conv.reference(image, plain)
    blocked = packed.reference(data, weight).transpose(0, 2, 3, 1, 4)
    assert np.array_equal(blocked.reshape(expected.shape), expected)


def test_inputs_fit_what_they_are_for():
    for operator in (*SMALL, *LAYERS, *TYPED_LAYERS):
        arrays = operator.inputs()
        assert [array.shape for array in arrays] == [*operator.input_shapes]
        assert [str(array.dtype) for array in arrays] == [*operator.input_dtypes]
        for array, bound in zip(arrays, operator.input_bounds, strict=True):
            if bound is not None:
                assert 0 <= array.min() <= array.max() < bound, operator
            elif array.dtype == np.float32:
                assert -1 <= array.min() < array.max() < 1, operator
        check = operator.check()
        assert mismatch([check.expected.astype(operator.output_dtype)], check) == "", operator
        assert mismatch([check.fresh.expected.astype(operator.output_dtype)], check), operator


def test_indices_have_the_bounds_that_their_programs_use(monkeypatch):
    monkeypatch.setattr(Operator, "check", lambda self: None)
    for operator in LAYERS:
        [task] = operator.tasks()
        *found, of_output = index_bounds(task.mod)
        assert tuple(found) == operator.input_bounds, operator
        assert of_output is None


def test_it_is_told_what_indices_are_drawn_from():
    moe = workloads.Moe(blocks=5, rows=2, experts=3, n=6, k=7)
    assert moe.check().drawn == "[-1, 1), [0, 3)"
    dense = workloads.Dense(m=3, n=5, k=7, bias=True, dtype="uint8")
    assert dense.check().drawn == "all of uint8, all of int8, [-128, 128)"


CHOICES = {
    "dtype": ("float32", "bfloat16", "uint8"),
    "accumulator": (None, "float64"),
    "bias": (False, True),
    "causal": (False, True),
    "activation": ("none", "gelu", "silu"),
}


def test_every_field_changes_the_id():
    """Equal ids, equal programs."""
    operators = (*SMALL, *LAYERS)
    for operator, field in ((one, field) for one in operators for field in dataclasses.fields(one)):
        value = getattr(operator, field.name)
        others = CHOICES.get(field.name) or (1, 2 * value, 3 * value, value + 16)
        changed = {operator}
        for other in others:
            with contextlib.suppress(BadShape):
                changed.add(dataclasses.replace(operator, **{field.name: other}))
        assert len({one.id for one in changed}) == len(changed), (operator, field.name)
        assert len(changed) > 1 or field.name in ("dtype", "accumulator"), (operator, field.name)


@pytest.mark.parametrize(
    ("case_id", "expected"),
    [
        ("dense-m32-n3072-k2048", workloads.Dense(m=32, n=3072, k=2048)),
        (
            "dense-m197-n3072-k768-bias-gelu",
            workloads.Dense(m=197, n=3072, k=768, bias=True, activation="gelu"),
        ),
        (
            "attention-b1-h32-kh8-q32-k256-s64-causal",
            workloads.Attention(
                batch=1, heads=32, key_heads=8, queries=32, keys=256, size=64, causal=True
            ),
        ),
        ("packed-dense-m384-n768-k768-uint8", workloads.PackedDense(m=384, n=768, k=768)),
        ("matmul-b1-m16-n2048-k7168", workloads.BatchMatmul(batch=1, m=16, n=2048, k=7168)),
        ("argmax-m1-n128256", workloads.ArgMax(m=1, n=128256)),
        ("topk-m32-n128-k8", workloads.TopK(m=32, n=128, k=8)),
    ],
)
def test_ids_that_saved_results_will_rely_on(case_id, expected):
    assert workloads.get(case_id) == expected


FIRST = {type(operator).__name__: operator for operator in reversed(LAYERS)}


@pytest.mark.parametrize(
    ("family", "changes", "message"),
    [
        ("Dense", {"bias": 1}, "bad bias 1: expected a bool, e.g. True"),
        (
            "Dense",
            {"activation": "relu"},
            "bad activation 'relu': expected one of none, gelu, silu, e.g. none",
        ),
        (
            "Dense",
            {"activation": "gelu", "dtype": "int8"},
            "bad activation 'gelu': expected none for int8, e.g. none",
        ),
        (
            "SwiGlu",
            {"dtype": "int8"},
            "bad dtype 'int8': expected one of float32, float64, float16, bfloat16, e.g. float32",
        ),
        ("Attention", {"key_heads": 4}, "bad key_heads 4: expected a divisor of heads 6, e.g. 3"),
        ("Attention", {"queries": 8}, "bad queries 8: expected at most keys 7 if causal, e.g. 7"),
        ("Attention", {"causal": None}, "bad causal None: expected a bool, e.g. True"),
        ("Rope", {"size": 7}, "bad size 7: expected a multiple of 2, e.g. 6"),
        ("GroupNorm", {"groups": 4}, "bad groups 4: expected a divisor of channels 6, e.g. 3"),
        (
            "BlockSparseDense",
            {"block": 8},
            "bad block 8: expected a divisor of n 8 and k 12, e.g. 4",
        ),
        (
            "BlockSparseDense",
            {"blocks": 4},
            "bad blocks 4: expected at most 3 for k 12 and block 4, e.g. 3",
        ),
        ("MaxPool2d", {"padding": 3}, "bad padding 3: expected less than kernel 3, e.g. 0"),
        ("TopK", {"k": 10}, "bad k 10: expected at most n 9, e.g. 9"),
        ("PackedDense", {"n": 8}, "bad n 8: expected a multiple of 16, e.g. 16"),
        ("PackedDense", {"k": 7}, "bad k 7: expected a multiple of 4, e.g. 4"),
        ("PackedDense", {"dtype": "int8"}, "bad dtype 'int8': expected one of uint8, e.g. uint8"),
        (
            "PackedConv2d",
            {"out_channels": 40},
            "bad out_channels 40: expected a multiple of 16, e.g. 32",
        ),
    ],
)
def test_sizes_that_there_are_not(family, changes, message):
    with pytest.raises(BadShape) as caught:
        dataclasses.replace(FIRST[family], **changes)
    assert str(caught.value) == message
