"""Right and wrong outputs, and their way to another process."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ansorbench.measure.arguments import dump_check, load_check, mismatch
from pytest_ansorbench.workloads import Check

EXPECTED = np.array([0.0, 1.0, -100.0], np.float32)
CHECK = Check((np.arange(3, dtype=np.float32),), EXPECTED, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("output", [EXPECTED, EXPECTED * np.float32(1.0009), EXPECTED + 9e-5])
def test_outputs_within_tolerance_agree(output):
    assert mismatch([output.astype(np.float32)], CHECK) == ""


@pytest.mark.parametrize("wrong", [1.01, np.nan, np.inf, -np.inf])
def test_one_wrong_element_is_found(wrong):
    output = EXPECTED.copy()
    output[1] = wrong
    assert mismatch([output], CHECK).startswith("1 of 3 elements differ")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_what_is_no_number_in_the_same_places_agrees(dtype):
    expected = np.array([np.nan, np.inf, -np.inf, 1.0]).astype(dtype)
    check = Check((), expected, 1e-3, 1e-3)
    assert mismatch([expected.copy()], check) == ""
    assert mismatch([expected[[1, 0, 2, 3]]], check).startswith("2 of 4 elements differ")


def test_whole_numbers_are_compared_exactly():
    expected = np.array([2**60, 0], np.int64)
    check = Check((), expected)
    assert mismatch([expected.copy()], check) == ""
    assert mismatch([expected + np.array([1, 0])], check) == (
        "1 of 2 elements differ from the reference, by up to 0"
    )


def test_each_of_several_outputs_is_compared():
    halves = np.ones(4, np.float32), np.ones(2, np.int8)
    check = Check((), halves, (1e-3, 0.0), (0.0, 0.0))
    assert mismatch(halves, check) == ""
    assert mismatch((halves[0], halves[1] * 2), check).startswith("output 1: 2 of 2 elements")
    assert mismatch(halves[:1], check) == "1 outputs instead of 2"
    assert mismatch((halves[0], halves[0]), check) == (
        "output 1: its shape is (4,) instead of (2,)"
    )


def test_the_last_of_many_elements_is_compared():
    expected = np.zeros(600_000, np.float32)
    output = expected.copy()
    output[-1] = 1.0
    check = Check((), expected, 1e-3, 1e-3)
    assert mismatch([output], check) == (
        "1 of 600000 elements differ from the reference, by up to 1"
    )


def test_as_many_tolerances_as_outputs():
    with pytest.raises(ValueError, match="zip"):
        assert Check((), (EXPECTED, EXPECTED), (1e-3,), (0.0,)).outputs


def test_a_check_survives_its_archive():
    weights = np.ones((64, 64), np.float32)
    fresh = Check((np.zeros(3, "bfloat16"), weights), (EXPECTED + 1, EXPECTED > 0), 0.1, 0.2)
    check = Check(
        (np.ones(3, "bfloat16"), weights), (EXPECTED, EXPECTED < 0), (0.1, 0.0), 0.2, fresh, "here"
    )
    packed = dump_check(check)
    assert len(packed) < 1.1 * weights.nbytes  # which it has twice
    loaded = load_check(packed)
    for one, other in ((loaded, check), (loaded.fresh, fresh)):
        assert [array.dtype for array in one.inputs] == [array.dtype for array in other.inputs]
        for array, same in zip(one.inputs, other.inputs, strict=True):
            np.testing.assert_array_equal(array, same)
            assert array.ctypes.data % 64 == 0
            assert array.flags.writeable
        for output, same in zip(one.outputs, other.outputs, strict=True):
            np.testing.assert_array_equal(output.expected, same.expected)
            assert (output.rtol, output.atol) == (same.rtol, same.atol)
        assert one.drawn == other.drawn
    assert loaded.inputs[1] is loaded.fresh.inputs[1]
