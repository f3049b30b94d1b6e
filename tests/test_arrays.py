"""Arrays on their way to another process."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from pytest_ansorbench.arrays import epsilon, is_float, pack_arrays, unpack_arrays

DTYPES = ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "int8", "int64", "bool"]
SHAPES = arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


@given(st.lists(st.tuples(st.sampled_from(DTYPES), SHAPES, st.booleans()), max_size=4))
def test_arrays_come_back_as_they_were(described):
    given_ = []
    for number, (dtype, shape, reverse) in enumerate(described):
        array = np.random.default_rng(number).integers(-1, 2, shape).astype(dtype)
        given_.append(array.T if reverse else array)
    back = unpack_arrays(pack_arrays(given_))
    assert [(one.dtype, one.shape) for one in back] == [(one.dtype, one.shape) for one in given_]
    for one, other in zip(back, given_, strict=True):
        assert one.tobytes() == np.ascontiguousarray(other).tobytes()


def test_an_array_of_objects_does_not_come_back():
    with pytest.raises(ValueError, match=r"(?i)object"):
        unpack_arrays(pack_arrays([np.array([object()])]))


@pytest.mark.parametrize(
    ("dtype", "bits"), [("float64", 52), ("float32", 23), ("float16", 10), ("bfloat16", 7)]
)
def test_a_floating_point_type_has_a_least_step(dtype, bits):
    assert is_float(np.dtype(dtype))
    assert epsilon(np.dtype(dtype)) == 2.0**-bits


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "bool"])
def test_whole_numbers_have_none(dtype):
    assert not is_float(np.dtype(dtype))
