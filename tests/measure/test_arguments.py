"""Arrays for kernels: aligned, filled, and with guards that tell of trespassing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.measure.arguments import ALIGNMENT, GUARD, Arguments, aligned
from pytest_ansorbench.workloads import Check

SHAPES = [("float32", [3, 5]), ("float32", [7])]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=3), st.sampled_from(["float32", "float16"]))
def test_outputs_are_aligned_and_full_of_nan(shape, dtype):
    output = Arguments([("float32", [2]), (dtype, shape)], None).output
    assert output.ctypes.data % ALIGNMENT == 0
    assert output.shape == tuple(shape)
    assert output.dtype == dtype
    assert np.isnan(output).all()


def test_outputs_of_whole_numbers_are_zero():
    assert not Arguments([("int32", [4])], None).output.any()


def test_inputs_are_the_checks_own():
    check = Check((np.arange(15, dtype=np.float32).reshape(3, 5),), np.zeros(7, "f"), 0.0, 0.0)
    arguments = Arguments(SHAPES, check)
    np.testing.assert_array_equal(arguments.arrays[0], check.inputs[0])
    assert arguments.arrays[1] is arguments.output


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


def test_an_untouched_guard_reports_nothing():
    arguments = Arguments(SHAPES, None)
    arguments.output[...] = 1.0
    assert arguments.damage() == ""


@pytest.mark.parametrize("offset", [-GUARD, -1, 28, 27 + GUARD])
def test_one_byte_outside_is_found(offset):
    arguments = Arguments(SHAPES, None)
    arguments._guarded[GUARD + offset] ^= 1
    assert "outside" in arguments.damage()
