"""Products and convolutions in other types than float32: ids, fields, references, and faults."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ansorbench import workloads
from pytest_ansorbench.measure.arguments import Arguments, mismatch
from pytest_ansorbench.workloads import BadShape, BatchMatmul, Conv2d
from pytest_ansorbench.workloads.operators.typed import ALL, Typed
from tests.workloads.conftest import SMALL

TYPES = [(dtype, accumulator) for dtype, sums in ALL.items() for accumulator in sums]
FAMILIES = [operator for operator in SMALL if isinstance(operator, Typed)]


@st.composite
def operators(draw):
    """A small operator of any family, in any types, its accumulator named or not."""
    operator = draw(st.sampled_from(FAMILIES))
    dtype = draw(st.sampled_from([*operator.accumulators]))
    accumulator = draw(st.sampled_from([None, *operator.accumulators[dtype]]))
    return replace(operator, dtype=dtype, accumulator=accumulator)


@given(operators(), operators())
def test_equal_ids_are_equal_cases(one, other):
    assert (one.id == other.id) == (one == other)


@given(operators())
def test_types_follow_the_id_of_float32(operator):
    plain = replace(operator, dtype="float32", accumulator=None)
    types = operator.id.removeprefix(plain.id)
    assert operator.id == plain.id + types
    named = [] if (operator.dtype, operator.accumulator) == ("float32", None) else [operator.dtype]
    named += [operator.accumulator] if operator.accumulator else []
    assert types == "".join(f"-{name}" for name in named)


@pytest.mark.parametrize(
    ("operator", "case_id"),
    [
        (BatchMatmul(batch=1, m=512, n=512, k=512, dtype="int8"), "matmul-b1-m512-n512-k512-int8"),
        (
            replace(FAMILIES[0], dtype="float16", accumulator="float16"),
            "conv1d-n2-l9-ci4-co6-k3-s2-p1-float16-float16",
        ),
        (
            workloads.DilatedConv2d.square(9, 4, 6, 3, dilation=2, dtype="uint8"),
            "dilated-conv2d-n1-h9-w9-ci4-co6-k3-s1-p0-d2-uint8",
        ),
    ],
)
def test_ids_that_saved_results_will_rely_on(operator, case_id):
    assert operator.id == case_id


def test_a_default_that_is_named_is_the_default():
    small = BatchMatmul(batch=1, m=2, n=3, k=4, dtype="int8", accumulator="int32")
    assert small == BatchMatmul(batch=1, m=2, n=3, k=4, dtype="int8")
    assert replace(small, dtype="float16") == BatchMatmul(batch=1, m=2, n=3, k=4, dtype="float16")


@given(operators())
def test_types_of_what_is_computed(operator):
    check = operator.check()
    assert [str(array.dtype) for array in check.inputs] == [*operator.input_dtypes]
    assert str(check.expected.dtype) == operator.sum_dtype
    whole = operator.dtype in ("int8", "uint8")
    assert operator.output_dtype == (operator.sum_dtype if whole else operator.dtype)
    assert ((check.rtol, check.atol) == (0.0, 0.0)) == whole
    assert mismatch([check.expected.astype(operator.output_dtype)], check) == ""


def test_weights_of_unsigned_data_are_signed():
    """As VNNI's instructions multiply them."""
    matmul = BatchMatmul(batch=1, m=64, n=64, k=64, dtype="uint8")
    left, right = matmul.inputs()
    assert (left.min(), left.max()) == (0, 255)
    assert (right.min(), right.max()) == (-128, 127)
    assert (right.dtype, matmul.check().drawn) == (np.int8, "all of uint8, all of int8")


@settings(max_examples=40, deadline=None)
@given(operators())
def test_references_are_exact(operator):
    """Whole numbers are compared with sums in 64 bits, floats with sums of their own values."""
    operator = replace(operator, accumulator=None)
    inputs = operator.inputs()
    if operator.dtype in ("int8", "uint8"):
        wide = operator.exact(*(array.astype(np.int64) for array in inputs))
        assert np.array_equal(operator.reference(*inputs).astype(np.int64), wide)
    else:
        plain = replace(operator, dtype="float64").reference(*(x.astype(float) for x in inputs))
        expected = plain.astype(operator.sum_dtype)
        assert np.array_equal(operator.reference(*inputs), expected)


def test_the_largest_sum_of_whole_numbers_is_exact():
    fields = {"batch": 1, "m": 1, "n": 1, "k": 131071, "dtype": "int8"}
    lowest = np.full((1, 1, fields["k"]), -128, np.int8)
    [[[total]]] = BatchMatmul(**fields).reference(lowest, lowest.reshape(1, -1, 1))
    assert total == 131071 * 128 * 128


@pytest.mark.parametrize(("dtype", "most"), [("int8", 131071), ("uint8", 65793)])
def test_sums_that_may_overflow_are_refused(dtype, most):
    fields = {"batch": 1, "m": 1, "n": 1, "dtype": dtype}
    BatchMatmul(k=most, **fields)
    with pytest.raises(
        BadShape,
        match=rf"^bad accumulator 'int32': expected a type that holds {most + 1} products of "
        rf"u?int8 \* int8, of which int32 holds {most}, e.g. int64$",
    ):
        BatchMatmul(k=most + 1, **fields)
    assert BatchMatmul(k=most + 1, accumulator="int64", **fields).output_dtype == "int64"


@pytest.mark.parametrize("value", ["int4", "", None, 8, np.float32, np.dtype("int8"), ["int8"]])
def test_types_that_there_are_not(value):
    with pytest.raises(
        BadShape,
        match=r"^bad dtype .*: expected one of float32, float64, float16, bfloat16, int8, uint8, "
        "e.g. float32$",
    ) as caught:
        BatchMatmul(batch=1, m=2, n=3, k=4, dtype=value)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("value", ["int16", "float32", "", 32])
def test_accumulators_that_there_are_not(value):
    with pytest.raises(
        BadShape, match=r"^bad accumulator .*: expected one of int32, int64, e.g. int32$"
    ):
        BatchMatmul(batch=1, m=2, n=3, k=4, dtype="int8", accumulator=value)


def test_batch_normalization_is_of_floats():
    with pytest.raises(BadShape, match=r"^bad dtype 'int8': expected one of float32, float64"):
        workloads.Conv2dBnRelu.square(7, 4, 6, 3, dtype="int8")


def long_sums(dtype, accumulator):
    """A product and a convolution, of sums of 512 and 576 terms."""
    types = {"dtype": dtype, "accumulator": accumulator}
    yield BatchMatmul(batch=1, m=48, n=64, k=512, **types)
    yield Conv2d.square(8, 64, 32, 3, padding=1, **types)


def lacks(operator, inputs, share):
    """The output without a tile of the reduction: of the last axis of data, or the channels."""
    data, weight = (array.copy() for array in inputs)
    data[..., data.shape[-1] - round(data.shape[-1] * share) :] = 0
    return operator.reference(data, weight)


def half_written(output, right):
    output[:, : output.shape[1] // 2] = right[:, : output.shape[1] // 2]
    return output


FAULTS = {
    "zeros": lambda operator, right, empty: np.zeros_like(right),
    "ones": lambda operator, right, empty: np.ones_like(right),
    "its mean": lambda operator, right, empty: np.full_like(right, np.mean(right)),
    "nothing": lambda operator, right, empty: empty,
    "half of it": lambda operator, right, empty: half_written(empty, right),
    "rows swapped": lambda operator, right, empty: right[:, ::-1],
    "an eighth left out": lambda operator, right, empty: lacks(operator, operator.inputs(), 1 / 8),
    "a 64th left out": lambda operator, right, empty: lacks(operator, operator.inputs(), 1 / 64),
}


@pytest.mark.parametrize(("dtype", "accumulator"), TYPES)
def test_faults_are_outside_of_the_tolerance(dtype, accumulator):
    for operator in long_sums(dtype, accumulator):
        check = operator.check()
        shapes = [*zip(operator.input_dtypes, operator.input_shapes, strict=True)]
        arguments = Arguments([*shapes, (operator.output_dtype, check.expected.shape)], check)
        right = check.expected.astype(operator.output_dtype)
        assert mismatch([right], check) == ""
        outputs = {
            fault: make(operator, right, arguments.arrays[-1].copy())
            for fault, make in FAULTS.items()
        }
        outputs["output of other inputs"] = check.fresh.expected
        for fault, output in outputs.items():
            found = mismatch([output.astype(operator.output_dtype)], check)
            if (fault, accumulator) == ("a 64th left out", "bfloat16"):
                continue  # 8 bits of mantissa: a right kernel may be that far off
            assert "differ from the reference" in found, fault


def test_bfloat16_is_ml_dtypes_own():
    (left, _) = BatchMatmul(batch=1, m=2, n=2, k=2, dtype="bfloat16").inputs()
    assert left.dtype == ml_dtypes.bfloat16
