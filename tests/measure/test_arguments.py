"""Arrays for kernels: aligned, filled, and with guards that tell of trespassing."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.measure.arguments import (
    ALIGNMENT,
    GUARD,
    Arguments,
    OwnInputs,
    aligned,
    dump_check,
    in_numpys_pages,
    load_check,
    mismatch,
    same_bytes,
)
from pytest_ansorbench.workloads import Check

SHAPES = [("float32", [3, 5]), ("float32", [7])]
FLOATS = ["float64", "float32", "float16", "bfloat16"]


def resident_bytes(path):
    """How much of a mapped file this process has touched, as Linux tells."""
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    next(line for line in lines if line.endswith(str(path)))
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("Rss:"))


def test_each_page_of_an_input_is_touched(tmp_path):
    path = tmp_path / "inputs"
    path.write_bytes(bytes(1 << 22))
    given = np.memmap(path, np.uint8, "r")
    assert resident_bytes(path) < given.size
    check = Check((given,), (np.zeros(1, np.uint8),))
    arguments = Arguments([("uint8", given.shape), ("uint8", [1])], check)
    assert arguments.inputs[0] is given
    assert resident_bytes(path) == given.size


@given(st.lists(st.integers(1, 9), min_size=1, max_size=3), st.sampled_from(FLOATS))
def test_outputs_are_aligned_and_full_of_nan(shape, dtype):
    [output] = Arguments([("float32", [2]), (dtype, shape)], None).outputs
    assert output.ctypes.data % ALIGNMENT == 0
    assert output.shape == tuple(shape)
    assert output.dtype == dtype
    assert np.isnan(output).all()


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "uint8", "int32", "int64", "bool"])
def test_an_output_that_nobody_wrote_is_wrong_everywhere(dtype):
    rng = np.random.default_rng(0)
    expected = rng.integers(0, 2, (3, 7)).astype(dtype)
    if dtype in FLOATS:
        expected[0, 0] = np.nan
    check = Check((), expected)
    arguments = Arguments([(dtype, [3, 7])], check)
    assert mismatch(arguments.outputs, check).startswith("21 of 21 elements differ")
    arguments.outputs[0][...] = expected
    assert mismatch(arguments.outputs, check) == ""


def test_what_does_not_belong_to_the_inputs_is_an_output():
    inputs = (np.zeros((3, 5), np.float32),)
    shapes = [("float32", [3, 5]), ("int8", [2]), ("bfloat16", [7])]
    for expected in ((), (np.zeros(2, np.int8), np.zeros(7, "bfloat16"))):
        outputs = Arguments(shapes, Check(inputs, expected)).outputs
        assert [(array.dtype.name, array.shape) for array in outputs] == [
            ("int8", (2,)),
            ("bfloat16", (7,)),
        ]


def test_inputs_are_the_checks_own():
    check = Check((np.arange(15, dtype=np.float32).reshape(3, 5),), np.zeros(7, "f"), 0.0, 0.0)
    arguments = Arguments(SHAPES, check)
    np.testing.assert_array_equal(arguments.arrays[0], check.inputs[0])
    assert arguments.arrays[1] is arguments.outputs[0]


def test_without_a_check_inputs_are_random_and_the_same_every_time():
    one, other = (Arguments(SHAPES, None).arrays[0] for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert one.shape == (3, 5)
    assert len(set(one.flat)) == 15


@given(st.integers(0, 64))
def test_alignment_keeps_the_values(offset):
    memory = np.zeros(400, np.uint8)
    array = memory[offset : offset + 80].view(np.float32)
    array[:] = np.arange(20)
    result = aligned(array)
    assert result.ctypes.data % ALIGNMENT == 0
    np.testing.assert_array_equal(result, array)


def test_an_aligned_array_is_not_copied():
    array = aligned(np.zeros(16, np.float32)[1:])
    assert aligned(array) is array


@pytest.mark.parametrize("shape", [(), (0, 3), (5, 7), (1 << 20, 3)])
def test_a_copy_in_pages_of_numpys_choice_is_aligned(shape):
    array = np.full(shape, 3.0, "bfloat16")
    copy = in_numpys_pages(array)
    assert copy.ctypes.data % ALIGNMENT == 0 and not np.shares_memory(copy, array)
    assert copy.dtype == array.dtype and same_bytes([copy], [array])


def test_an_untouched_guard_reports_nothing():
    arguments = Arguments(SHAPES, None)
    arguments.outputs[0][...] = 1.0
    assert arguments.damage() == ""


@pytest.mark.parametrize("offset", [-GUARD, -1, 28, 27 + GUARD])
def test_one_byte_outside_is_found(offset):
    arguments = Arguments(SHAPES, None)
    arguments.output_memories[0][GUARD + offset] ^= 1
    assert "outside" in arguments.damage()


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "bool"])
def test_an_output_can_be_cleared_as_often_as_one_likes(dtype):
    expected = np.ones((3, 7), dtype)
    check = Check((), expected)
    arguments = Arguments([(dtype, [3, 7])], check)
    for _ in range(2):
        arguments.outputs[0][...] = expected
        arguments.clear(check)
        assert mismatch(arguments.outputs, check).startswith("21 of 21 elements differ")
    arguments.outputs[0][...] = expected
    arguments.clear(Check((), ()))
    unknown = Arguments([(dtype, [3, 7])], Check((), ()))
    assert same_bytes(arguments.outputs, unknown.outputs)


def test_a_byte_that_is_written_to_a_blank_output_is_found():
    arguments = Arguments(SHAPES, None)
    arguments.blank()
    assert arguments.is_blank()
    arguments.outputs[0][-1] = 1.0
    assert not arguments.is_blank()


def test_inputs_of_their_own_tell_what_was_written_to_them():
    given = np.arange(15, dtype=np.float32).reshape(3, 5), np.ones(2, "bfloat16")
    own = OwnInputs(given)
    assert own.damage() == ""
    own.hold(given)
    assert same_bytes(own.arrays, given)
    assert own.damage() == ""
    own.arrays[1][0] = 2
    assert own.damage() == "the kernel wrote to its input 1"
    own.hold(given)
    own.memories[0][GUARD - 1] ^= 1
    assert own.damage() == "the kernel wrote beside its input 0"


def test_numbers_that_are_none_are_the_same_if_their_bytes_are():
    one = np.array([np.nan, 0.0], np.float32)
    assert same_bytes([one], [one.copy()])
    assert not same_bytes([one], [np.array([np.nan, -0.0], np.float32)])


def off_by(dtype, step, count):
    """A check that a few may be off, and outputs of which so many are by a step."""
    expected = np.linspace(-100, 100, 1000).astype(dtype)
    found = expected.copy()
    found[:count] += np.asarray(step).astype(dtype)
    return [found], Check((), expected, few=0.01)


@pytest.mark.parametrize(
    ("dtype", "step", "count", "agrees"),
    [
        ("float32", 10.0, 10, True),
        ("float32", 10.0, 11, False),
        ("float32", 20.0, 1, False),  # a quarter of the root mean square is 14.4
        ("float32", np.nan, 1, False),
        ("int8", 4, 10, True),
        ("int8", 5, 1, False),
        ("int32", 1, 1, False),
    ],
)
def test_few_elements_may_be_rounded_the_other_way(dtype, step, count, agrees):
    outputs, check = off_by(dtype, step, count)
    assert (mismatch(outputs, check) == "") == agrees
    assert mismatch(outputs, dataclasses.replace(check, few=0.0))
    assert load_check(dump_check(check)).few == check.few
