"""Right and wrong outputs, and their way to another process."""

from __future__ import annotations

import io

import numpy as np
import pytest

from pytest_ansorbench.measure.arguments import dump_check, load_check, mismatch
from pytest_ansorbench.workloads import Check

EXPECTED = np.array([0.0, 1.0, -100.0], np.float32)
CHECK = Check((np.arange(3, dtype=np.float32),), EXPECTED, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("output", [EXPECTED, EXPECTED * np.float32(1.0009), EXPECTED + 9e-5])
def test_outputs_within_tolerance_agree(output):
    assert mismatch(output.astype(np.float32), CHECK) == ""


@pytest.mark.parametrize("wrong", [1.01, np.nan, np.inf, -np.inf])
def test_one_wrong_element_is_found(wrong):
    output = EXPECTED.copy()
    output[1] = wrong
    assert mismatch(output, CHECK).startswith("1 of 3 elements differ")


def test_a_check_survives_its_archive():
    loaded = load_check(dump_check(CHECK))
    assert (loaded.rtol, loaded.atol) == (CHECK.rtol, CHECK.atol)
    np.testing.assert_array_equal(loaded.expected, CHECK.expected)
    assert len(loaded.inputs) == 1
    np.testing.assert_array_equal(loaded.inputs[0], CHECK.inputs[0])
    assert loaded.inputs[0].ctypes.data % 64 == 0


def test_an_archive_with_objects_in_it_is_refused():
    archive = io.BytesIO()
    np.savez(archive, expected=np.array([object()]), tolerance=np.zeros(2))
    with pytest.raises(ValueError, match="allow_pickle"):
        load_check(archive.getvalue())
