"""Arrays as bytes and back, in NumPy's data types and those of ml_dtypes."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

# Makes bfloat16 and the kinds of float8 names that np.dtype knows.
import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LENGTH: Final = struct.Struct("!Q")
_MOST_BYTES: Final = 1 << 29
"""Of all arrays of an archive; one that claims more is hostile."""


class BadArchive(ValueError):
    """A file that holds no arrays, or others than were asked for; the message says why."""


@contextmanager
def opened_archive(path: Path) -> Iterator[Mapping[str, NDArray[Any]]]:
    """The arrays of an `.npz` file by name, each read when it is asked for, never unpickled.

    Raises:
        BadArchive: The file cannot be read, or what is done with its arrays fails.
    """
    try:
        # Opened here, since NumPy leaves open what it cannot read.
        with path.open("rb") as file:
            with zipfile.ZipFile(file) as archive:
                claimed = sum(entry.file_size for entry in archive.infolist())
            if claimed > _MOST_BYTES:
                raise BadArchive(f"expected {_MOST_BYTES} bytes at most, got {claimed}")
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                yield arrays
    except Exception as error:  # a damaged file has NumPy, zipfile and zlib raise many types
        words = " ".join(str(error).split())[:200]
        raise BadArchive(words or type(error).__name__) from None


def array_names(path: Path) -> set[str]:
    """What the arrays of an `.npz` file are called; none if it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {name.removesuffix(".npy") for name in archive.namelist()}
    except Exception:  # zipfile raises many types on damaged files
        return set()


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether it is a floating-point type, one of ml_dtypes included."""
    try:
        _description(dtype)
    except ValueError:
        return False
    return True


def epsilon(dtype: np.dtype[Any]) -> float:
    """Distance from 1 to the next larger number of a floating-point type."""
    return float(_description(dtype).eps)


def largest(dtype: np.dtype[Any]) -> float:
    """The largest number of a floating-point type."""
    return float(_description(dtype).max)


def _description(dtype: np.dtype[Any]) -> Any:
    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]


def pack_arrays(arrays: Iterable[NDArray[Any]]) -> bytes:
    """Arrays as one string of bytes: their types and shapes as JSON, then what is in them."""
    contiguous = [np.ascontiguousarray(array).reshape(array.shape) for array in arrays]
    header = json.dumps([[array.dtype.name, array.shape] for array in contiguous]).encode()
    return b"".join((_LENGTH.pack(len(header)), header, *(a.tobytes() for a in contiguous)))


def unpack_arrays(packed: bytes) -> list[NDArray[Any]]:
    """What `pack_arrays` packed, as read-only views on the bytes."""
    start = _LENGTH.size + _LENGTH.unpack_from(packed)[0]
    arrays = []
    for name, shape in json.loads(packed[_LENGTH.size : start]):
        dtype = np.dtype(name)
        array = np.frombuffer(packed, dtype, int(np.prod(shape, dtype=np.int64)), start)
        arrays.append(array.reshape(shape))
        start += array.nbytes
    return arrays
