"""Arrays as bytes and back, in NumPy's data types and those of ml_dtypes."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

# Makes bfloat16 and the kinds of float8 names that np.dtype knows.
import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LENGTH: Final = struct.Struct("!Q")


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
