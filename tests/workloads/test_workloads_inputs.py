"""Inputs: their ranges, in which order they are tried, and those that a user gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.workloads.inputs import FLOAT_RANGES, BadInputs, Draw, Input, draws

FLOATS = ["float32", "float16", "bfloat16", "float64"]
X = Input("float32", (2, 3), "x")
MASK = Input("int64", (50,), "mask")


@given(st.sampled_from(FLOATS), st.integers(0, 5))
def test_floats_are_of_the_range(dtype, seed):
    for low, high in FLOAT_RANGES:
        [array] = Draw([Input(dtype, (4, 50))], (low, high))(seed)
        assert array.dtype == dtype
        assert (low <= array).all()
        assert (array <= high).all()
        assert len(np.unique(array.astype(float))) > 20


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [("int8", -128, 127), ("uint8", 0, 255), ("int32", -128, 127), ("int64", -128, 127)],
)
def test_whole_numbers_take_all_of_their_range(dtype, low, high):
    [array] = Draw([Input(dtype, (100, 100))], FLOAT_RANGES[0])(0)
    assert (array.min(), array.max()) == (low, high)


def test_an_unsigned_number_is_not_negative():
    [array] = Draw([Input("uint16", (1000,))], FLOAT_RANGES[0])(0)
    assert array.max() == 127


@given(st.integers(1, 9))
def test_an_index_is_within_its_bound(bound):
    [array] = Draw([Input("int32", (300,), bound=bound)], FLOAT_RANGES[0])(1)
    assert set(array) == set(range(bound))


@pytest.mark.parametrize(("dtype", "most"), [("int8", 127), ("uint8", 255)])
def test_an_index_of_a_narrow_type_is_one_that_the_type_has(dtype, most):
    [array] = Draw([Input(dtype, (5000,), bound=1000)], FLOAT_RANGES[0])(0)
    assert (array.min(), array.max()) == (0, most)


def test_masks_are_ones_where_that_is_asked_for():
    inputs = [X, MASK, Input("bool", (50,)), Input("int8", (50,)), Input("int64", (9,), bound=7)]
    x, mask, truth, quantized, index = Draw(inputs, FLOAT_RANGES[0], ones=True)(0)
    assert mask.all() and (mask == 1).all() and truth.all()
    for varied in (x, quantized, index):
        assert len(np.unique(varied)) > 1


def test_a_seed_says_it_all():
    one, again, other = (Draw([X], FLOAT_RANGES[0])(seed)[0] for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, again)
    assert (one != other).all()


def test_what_is_tried_first_is_what_most_programs_take():
    tried = list(draws([X, MASK]))
    assert [str(way) for way in tried[:3]] == ["[-1, 1)", "[0.1, 1)", "[1, 2)"]
    assert [way.ones for way in tried] == [False] * 3 + [True] * 3


def test_a_range_is_given_by_name():
    for way in draws([X, MASK], {"mask": (5, 7)}):
        x, mask = way(0)
        assert set(mask) == {5, 6}
        assert len(np.unique(x)) == 6
    assert str(next(iter(draws([X, MASK], {"mask": (5, 7)})))) == "[-1, 1), mask from [5, 7)"


def test_a_file_gives_all_arrays(tmp_path):
    path = tmp_path / "inputs.npz"
    arrays = {"x": np.ones((2, 3), np.float32), "mask": np.arange(50)}
    np.savez(path, **arrays)
    for given_ in (path, str(path)):
        [way] = draws([X, MASK], given_)
        assert way.fixed
        assert str(way) == str(path)
        for seed in (0, 1):
            for array, same in zip(way(seed), arrays.values(), strict=True):
                np.testing.assert_array_equal(array, same)


def test_a_function_gives_arrays_of_a_seed():
    def mine(seed):
        return {"mask": np.full(50, seed), "x": np.full((2, 3), seed, np.float32)}

    [way] = draws([X, MASK], mine)
    assert not way.fixed
    assert str(way).endswith("mine")
    x, mask = way(7)
    assert (x == 7).all() and (mask == 7).all()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.ones((2, 3), np.float32)}, "missing input 'mask' in .*: expected 'x', 'mask'"),
        (
            {"x": np.ones((2, 3), np.float32), "mask": np.arange(50), "y": np.ones(1)},
            "unknown input 'y' in .*: expected 'x', 'mask'",
        ),
        (
            {"x": np.ones((3, 2), np.float32), "mask": np.arange(50)},
            r"bad input 'x' of .*: it is float32\[3, 2\]; expected float32\[2, 3\]",
        ),
        (
            {"x": np.ones((2, 3)), "mask": np.arange(50)},
            r"it is float64\[2, 3\]; expected float32\[2, 3\]",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arrays, message):
    with pytest.raises(BadInputs, match=message):
        [way(0) for way in draws([X, MASK], lambda seed: arrays)]


def test_an_unknown_name_of_a_range_is_refused():
    with pytest.raises(BadInputs, match="unknown input 'tokens' in inputs: expected 'x', 'mask'"):
        list(draws([X, MASK], {"tokens": (0, 5)}))


@pytest.mark.parametrize(
    ("dtype", "bad"),
    [
        ("int64", (10, 0)),
        ("int64", (5, 5)),
        ("int64", (0.2, 0.8)),
        ("int64", 5),
        ("int64", "ab"),
        ("int64", (0, 1, 2)),
        ("uint8", (0, 300)),
        ("uint8", (-1, 9)),
        ("bool", (0, 3)),
        ("float32", (1.0, 0.0)),
        ("float32", (0.0, float("inf"))),
        ("float32", (0.0, float("nan"))),
        ("float16", (0.0, 1e6)),
    ],
)
def test_a_range_that_is_none_is_refused(dtype, bad):
    with pytest.raises(BadInputs, match=r"^bad range .* of input 'x': expected two numbers, from"):
        list(draws([Input(dtype, (3,), "x")], {"x": bad}))


@pytest.mark.parametrize(
    ("dtype", "good"),
    [("uint8", (0, 256)), ("int8", (-128, 128)), ("bool", (0, 2)), ("float32", (1.5, 1.5))],
)
def test_a_range_may_be_all_of_a_type_or_one_number(dtype, good):
    [array] = next(draws([Input(dtype, (5000,), "x")], {"x": good}))(0)
    assert array.min() == good[0]
    assert array.max() == good[1] - (dtype != "float32")


@pytest.mark.parametrize("content", [b"", b"PK nothing", b"\x80\x04K*."])
def test_a_file_that_is_no_archive_is_refused(tmp_path, content):
    path = tmp_path / "inputs.npz"
    path.write_bytes(content)
    with pytest.raises(BadInputs, match=r"bad inputs file .*: .*; expected an archive of arrays"):
        [way(0) for way in draws([X], path)]


def test_a_file_with_objects_is_refused(tmp_path):
    path = tmp_path / "inputs.npz"
    np.savez(path, x=np.array([object()]))
    with pytest.raises(BadInputs, match=r"bad inputs file"):
        [way(0) for way in draws([X], path)]


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(BadInputs, match=r"bad inputs file .*nothing.npz"):
        [way(0) for way in draws([X], tmp_path / "nothing.npz")]
