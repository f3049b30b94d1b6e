"""The arrays a kernel is called with, and how its output is compared with the reference."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.workloads.case import Check

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo

Shapes = Sequence[tuple[str, Sequence[int]]]
"""Data type and shape of each argument of a kernel, the inputs first, then the output."""

ALIGNMENT: Final = 64
"""TVM's own alignment of tensors, in bytes."""
GUARD: Final = 4096
"""Bytes on each side of an output that a kernel must not touch."""
_GUARD_BYTE: Final = 0xA5


class Arguments:
    """Inputs from the check, or random ones in [-1, 1), and an output full of NaN between guards.

    They are aligned as TVM wants them, and not copied unless that takes it.
    """

    def __init__(self, shapes: Shapes, check: Check | None) -> None:
        *inputs, (dtype, shape) = shapes
        if check is None:
            rng = np.random.default_rng(0)
            given = tuple(rng.uniform(-1, 1, extent).astype(kind) for kind, extent in inputs)
        else:
            given = check.inputs
        self._guarded, self.output = _guarded(dtype, shape)
        # One for each argument of the kernel, in order; the last is the output.
        self.arrays: tuple[NDArray[Any], ...] = (*map(aligned, given), self.output)

    def damage(self) -> str:
        """What the kernel wrote where it should not: one sentence, empty if nothing."""
        for side in (self._guarded[:GUARD], self._guarded[-GUARD:]):
            if (side != _GUARD_BYTE).any():
                return "the kernel wrote outside of its output"
        return ""


def shapes_of(args_info: Sequence[ArgInfo]) -> Shapes:
    """Read TVM's description of a kernel's arguments."""
    return [
        (str(dtype), [int(extent) for extent in shape])
        for _, dtype, shape in (info.as_json() for info in args_info)
    ]


def aligned(array: NDArray[Any]) -> NDArray[Any]:
    """The array itself if it is aligned as TVM wants it, else an aligned copy."""
    if array.ctypes.data % ALIGNMENT == 0 and array.flags.c_contiguous:
        return array
    return in_own_memory(array)


def in_own_memory(array: NDArray[Any]) -> NDArray[Any]:
    """An aligned copy, whose pages are this process's alone."""
    _, copy = _guarded(array.dtype, array.shape)
    copy[...] = array
    return copy


def in_ordinary_pages(size: int) -> NDArray[np.uint8]:
    """Zeros, aligned, in pages of the default size, in which TVM's runtime has its tensors.

    NumPy asks Linux for huge pages where an array has 4 MB or more
    (https://numpy.org/doc/stable/reference/global_state.html). A kernel then needs hardly any
    address translations for its large arguments, as it would nowhere else.
    """
    memory = np.frombuffer(bytearray(size + ALIGNMENT), np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size]


def _guarded(
    dtype: np.dtype[Any] | str, shape: Sequence[int]
) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """An aligned array of NaN (0 where there is none) and the bytes it lies in, guards included."""
    kind = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    # The guard behind starts at the very next byte, whatever the size.
    memory = in_ordinary_pages(size + 2 * GUARD)
    memory.fill(_GUARD_BYTE)
    array = memory[GUARD : GUARD + size].view(kind).reshape(shape)
    array.fill(np.nan if kind.kind == "f" else 0)
    return memory, array


def mismatch(output: NDArray[np.float32], check: Check) -> str:
    """How an output differs from the reference; empty if all is within atol + rtol * |expected|."""
    expected = check.expected
    agrees = np.isclose(output, expected, rtol=check.rtol, atol=check.atol)
    if agrees.all():
        return ""
    worst = float(np.nanmax(np.abs(np.where(agrees, 0.0, output - expected))))
    return (
        f"{agrees.size - int(agrees.sum())} of {agrees.size} elements differ from the reference, "
        f"by up to {worst:.3g}"
    )


def dump_check(check: Check) -> bytes:
    """Pack a check as an `.npz` archive."""
    arrays: dict[str, Any] = {f"input{i}": array for i, array in enumerate(check.inputs)}
    tolerance = np.array([check.rtol, check.atol])
    archive = io.BytesIO()
    np.savez(archive, expected=check.expected, tolerance=tolerance, **arrays)
    return archive.getvalue()


def load_check(archive: bytes) -> Check:
    """Unpack what `dump_check` packed, with aligned inputs. Never unpickles."""
    with np.load(io.BytesIO(archive), allow_pickle=False) as arrays:
        inputs = tuple(aligned(arrays[f"input{i}"]) for i in range(len(arrays.files) - 2))
        rtol, atol = (float(value) for value in arrays["tolerance"])
        return Check(inputs, arrays["expected"], rtol, atol)
