"""Arrays on their way to another process."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from pytest_ansorbench.arrays import (
    BadArchive,
    epsilon,
    is_float,
    opened_archive,
    pack_arrays,
    unpack_arrays,
)

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


def damaged(content: bytes) -> list[bytes]:
    """An archive of arrays, damaged in ways that each raise another type."""
    entry, name = content.index(b"PK\x01\x02"), content.index(b"x.npy")
    changes = {
        "encrypted": (entry + 8, b"\x01\x00"),
        "an unknown method": (entry + 10, b"\x63\x00"),
        "a newer version": (entry + 6, b"\xff\x00"),
        "a name that is no text": (content.rindex(b"x.npy"), b"\xff"),
        "another name in its header": (name, b"y"),
        "larger than any": (entry + 24, b"\xff\xff\xff\x7f"),
    }
    found = [b"", content[:-30], content[:60], content[::-1]]
    for at, new in changes.values():
        found.append(content[:at] + new + content[at + len(new) :])
    return found


def test_a_damaged_archive_is_refused_shortly_whatever_its_damage_raises(tmp_path):
    path = tmp_path / "arrays.npz"
    np.savez_compressed(path, x=np.zeros(100))
    for content in damaged(path.read_bytes()):
        path.write_bytes(content)
        with pytest.raises(BadArchive) as caught, opened_archive(path) as arrays:
            dict(arrays)
        assert 0 < len(str(caught.value)) <= 200


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999,), }",
        "{" * 500,
        "1" * 9_000,
    ],
)
def test_a_header_that_claims_too_much_or_nothing_is_refused(tmp_path, header):
    text = header.encode() + b"\n"
    npy = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(100)
    with zipfile.ZipFile(tmp_path / "arrays.npz", "w") as archive:
        archive.writestr("x.npy", npy)
    with (
        pytest.raises(BadArchive) as caught,
        opened_archive(tmp_path / "arrays.npz") as arrays,
    ):
        dict(arrays)
    assert 0 < len(str(caught.value)) <= 200


def test_an_archive_is_read_as_it_was_written_and_a_missing_one_refused(tmp_path):
    np.savez(tmp_path / "arrays.npz", x=np.arange(3))
    with opened_archive(tmp_path / "arrays.npz") as arrays:
        assert arrays["x"].tolist() == [0, 1, 2]
    with pytest.raises(BadArchive, match="No such file"), opened_archive(tmp_path / "no.npz"):
        pass
