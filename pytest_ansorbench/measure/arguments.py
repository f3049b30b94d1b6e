"""The arrays a kernel is called with, and how its outputs are compared with the reference."""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.arrays import is_float, pack_arrays, unpack_arrays
from pytest_ansorbench.workloads.case import Check, Output
from pytest_ansorbench.workloads.tolerance import typical_size

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo

Shapes = Sequence[tuple[str, Sequence[int]]]
"""Data type and shape of each argument of a kernel, the inputs first, then the outputs."""

ALIGNMENT: Final = 64
"""TVM's own alignment of tensors, in bytes."""
GUARD: Final = 4096
"""Bytes on each side of an output that a kernel must not touch."""
_GUARD_BYTE: Final = 0xA5


class Arguments:
    """Inputs from the check, or random ones in [-1, 1), and outputs that lie between guards.

    They are aligned as TVM wants them, and not copied unless that takes it. Outputs are full of
    what no right kernel leaves there. Without a check there is one output.
    """

    def __init__(self, shapes: Shapes, check: Check | None) -> None:
        if check is None:
            rng = np.random.default_rng(0)
            given = [rng.uniform(-1, 1, shape).astype(dtype) for dtype, shape in shapes[:-1]]
        else:
            given = list(check.inputs)
        written = shapes[len(given) :]
        guarded = [_guarded(dtype, shape) for dtype, shape in written]
        # All bytes that each output lies in, guards included.
        self.output_memories = [memory for memory, _ in guarded]
        self.outputs = tuple(output for _, output in guarded)
        self._spoil(check)
        # One for each argument of the kernel, in order; the last are the outputs.
        self.inputs = tuple(map(aligned, given))
        touch(self.inputs)
        self.arrays: tuple[NDArray[Any], ...] = (*self.inputs, *self.outputs)

    def clear(self, check: Check) -> None:
        """Fill the outputs with what a call with the check's inputs must not leave there."""
        self.blank()
        self._spoil(check)

    def blank(self) -> None:
        """Fill the outputs as the guards are."""
        for memory in self.output_memories:
            memory[GUARD:-GUARD].fill(_GUARD_BYTE)

    def is_blank(self) -> bool:
        """Whether nothing was written since."""
        return all((memory == _GUARD_BYTE).all() for memory in self.output_memories)

    def damage(self) -> str:
        """What the kernel wrote where it should not: one sentence, empty if nothing."""
        if all(map(_guards_hold, self.output_memories)):
            return ""
        return "the kernel wrote outside of its output"

    def _spoil(self, check: Check | None) -> None:
        """Put in outputs that were just made, or are blank, what no right kernel leaves there."""
        known: Sequence[Output | None] = () if check is None else check.outputs
        for output, right in zip(self.outputs, known or [None] * len(self.outputs), strict=True):
            _fill(output, None if right is None else right.expected)


class OwnInputs:
    """Inputs between guards in memory of their own, whose contents may change."""

    def __init__(self, like: Sequence[NDArray[Any]]) -> None:
        guarded = [_guarded(array.dtype, array.shape) for array in like]
        # All bytes that each lies in, guards included.
        self.memories = [memory for memory, _ in guarded]
        self.arrays = tuple(array for _, array in guarded)
        self._held: Sequence[NDArray[Any]] = ()

    def hold(self, contents: Sequence[NDArray[Any]]) -> None:
        for array, content in zip(self.arrays, contents, strict=True):
            array[...] = content
        self._held = contents

    def damage(self) -> str:
        """What the kernel wrote to them or beside them: one sentence, empty if nothing."""
        for place, (array, content) in enumerate(zip(self.arrays, self._held, strict=False)):
            if not same_bytes([array], [content]):
                return f"the kernel wrote to its input {place}"
            if not _guards_hold(self.memories[place]):
                return f"the kernel wrote beside its input {place}"
        return ""


def shapes_of(args_info: Sequence[ArgInfo]) -> Shapes:
    """Read TVM's description of a kernel's arguments."""
    return [
        (str(dtype), [int(extent) for extent in shape])
        for _, dtype, shape in (info.as_json() for info in args_info)
    ]


def same_bytes(arrays: Sequence[NDArray[Any]], others: Sequence[NDArray[Any]]) -> bool:
    """Whether arrays of equal shapes are the same in every bit."""
    return all(
        np.array_equal(bytes_of(one), bytes_of(other))
        for one, other in zip(arrays, others, strict=True)
    )


def aligned(array: NDArray[Any]) -> NDArray[Any]:
    """The array itself if it is aligned as TVM wants it, else an aligned copy."""
    if array.ctypes.data % ALIGNMENT == 0 and array.flags.c_contiguous:
        return array
    return in_own_memory(array)


def touch(arrays: Sequence[NDArray[Any]]) -> None:
    """Read a byte of each page.

    A forked process takes a page fault at the first touch of each page that it has inherited: with
    64 MB some 8 ms in a virtual machine, which would be the kernel's first call's.
    """
    for array in arrays:
        bytes_of(array)[:: mmap.PAGESIZE].max(initial=0)


def in_own_memory(array: NDArray[Any]) -> NDArray[Any]:
    """An aligned copy, whose pages are this process's alone."""
    _, copy = _guarded(array.dtype, array.shape)
    copy[...] = array
    return copy


def in_numpys_pages(array: NDArray[Any]) -> NDArray[Any]:
    """An aligned copy as `load.py` of `ansor-bench tune` has weights: NumPy chooses the pages."""
    memory = _aligned_part(np.empty(array.nbytes + ALIGNMENT, np.uint8), array.nbytes)
    copy = memory.view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def in_ordinary_pages(size: int) -> NDArray[np.uint8]:
    """Zeros, aligned, in pages of the default size, in which TVM's runtime has its tensors.

    NumPy asks Linux for huge pages where an array has 4 MB or more
    (https://numpy.org/doc/stable/reference/global_state.html). A kernel then needs hardly any
    address translations for its large arguments, as it would nowhere else.
    """
    return _aligned_part(np.frombuffer(bytearray(size + ALIGNMENT), np.uint8), size)


def _aligned_part(memory: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """The first aligned bytes of memory that has `ALIGNMENT` more of them."""
    # In two steps: NumPy has an empty slice begin where its array does.
    return memory[-memory.ctypes.data % ALIGNMENT :][:size]


def _guarded(
    dtype: np.dtype[Any] | str, shape: Sequence[int]
) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """The bytes that an aligned array lies in, guards included, and the array."""
    kind = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    # The guard behind starts at the very next byte, whatever the size.
    memory = in_ordinary_pages(size + 2 * GUARD)
    memory.fill(_GUARD_BYTE)
    return memory, memory[GUARD : GUARD + size].view(kind).reshape(shape)


def _guards_hold(memory: NDArray[np.uint8]) -> bool:
    return all((side == _GUARD_BYTE).all() for side in (memory[:GUARD], memory[-GUARD:]))


def bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of an array, on the same memory if it is contiguous."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _fill(output: NDArray[Any], right: NDArray[Any] | None) -> None:
    """Fill an output with what differs from the right one everywhere: NaN, or other bits.

    An output of whole numbers that nobody knows keeps the guards' bytes.
    """
    if is_float(output.dtype):
        output.fill(np.nan)
        if right is not None:
            output[np.isnan(right)] = 1
    elif right is not None:
        output[...] = np.invert(right.astype(output.dtype))


_CHUNK: Final = 1 << 18
"""Elements that are compared at a time: the comparison needs memory beside the arrays."""


def mismatch(outputs: Sequence[NDArray[Any]], check: Check) -> str:
    """How outputs differ from the reference: one sentence, empty if they agree.

    All is to be within `atol + rtol * |expected|`; infinities and NaN at the same places are equal.
    Of `few` elements, at least one where there are to be some, it is enough that they are near: 4
    steps of 8-bit numbers, a quarter of what is usual of floats.
    """
    expected = check.outputs
    if not expected:
        return ""
    if len(outputs) != len(expected):
        return f"{len(outputs)} outputs instead of {len(expected)}"
    for place, (output, right) in enumerate(zip(outputs, expected, strict=True)):
        if wrong := _difference(output, right):
            return wrong if len(expected) == 1 else f"output {place}: {wrong}"
    return ""


def _difference(output: NDArray[Any], right: Output) -> str:
    if output.shape != right.expected.shape:
        return f"its shape is {output.shape} instead of {right.expected.shape}"
    wrong, worst, finite = 0, 0.0, True
    for some, expected in _chunks(output, right.expected):
        if right.rtol == right.atol == 0.0 and not is_float(some.dtype):
            differs = some != expected  # exact where float64 is not
        else:
            some, expected = some.astype(np.float64), expected.astype(np.float64)
            differs = ~np.isclose(some, expected, right.rtol, right.atol, equal_nan=True)
        if count := int(differs.sum()):
            wrong += count
            off = np.abs(some[differs].astype(np.float64) - expected[differs].astype(np.float64))
            worst = max(worst, float(np.nanmax(off, initial=0.0)))
            finite &= bool(np.isfinite(off).all())
    if not wrong or (finite and _are_few(wrong, worst, right)):
        return ""
    return f"{wrong} of {output.size} elements differ from the reference, by up to {worst:.3g}"


def _are_few(wrong: int, worst: float, right: Output) -> bool:
    expected = right.expected
    if not right.few or wrong > max(1.0, right.few * expected.size):
        return False
    if is_float(expected.dtype):
        return worst <= 0.25 * typical_size(expected)
    return expected.dtype.itemsize == 1 and worst <= 4.0


def _chunks(*arrays: NDArray[Any]) -> Iterator[tuple[NDArray[Any], ...]]:
    """The same elements of flat arrays, some at a time."""
    flat = [array.reshape(-1) for array in arrays]
    for start in range(0, flat[0].size, _CHUNK):
        yield tuple(array[start : start + _CHUNK] for array in flat)


def dump_check(check: Check) -> bytes:
    """Pack a check; an array that it has twice, such as a network's weights, is packed once."""
    arrays: list[NDArray[Any]] = []
    places: dict[int, int] = {}  # in `arrays`, by identity

    def place(array: NDArray[Any]) -> int:
        if id(array) not in places:
            places[id(array)] = len(arrays)
            arrays.append(array)
        return places[id(array)]

    def described(check: Check) -> dict[str, Any]:
        return {
            "inputs": [place(array) for array in check.inputs],
            "outputs": [(place(one.expected), one.rtol, one.atol) for one in check.outputs],
            "fresh": None if check.fresh is None else described(check.fresh),
            "drawn": check.drawn,
            "few": check.few,
        }

    text = json.dumps(described(check)).encode()
    return pack_arrays([np.frombuffer(text, np.uint8), *arrays])


def load_check(packed: bytes) -> Check:
    """Unpack what `dump_check` packed, with aligned inputs.

    Those that fresh inputs share are a network's weights.
    """
    text, *arrays = unpack_arrays(packed)
    whole = json.loads(text.tobytes())
    fresh = whole["fresh"]
    weights = set() if fresh is None else {*whole["inputs"]} & {*fresh["inputs"]}
    inputs: dict[int, NDArray[Any]] = {}

    def loaded(described: Any) -> Check:
        for place in described["inputs"]:
            if place not in inputs:
                copied = in_numpys_pages if place in weights else in_own_memory
                inputs[place] = copied(arrays[place])
        outputs = described["outputs"]
        return Check(
            tuple(inputs[place] for place in described["inputs"]),
            tuple(arrays[place] for place, _, _ in outputs),
            tuple(rtol for _, rtol, _ in outputs),
            tuple(atol for _, _, atol in outputs),
            None if described["fresh"] is None else loaded(described["fresh"]),
            described["drawn"],
            described["few"],
        )

    return loaded(whole)
