"""Where a kernel finds its arrays: in this process's memory, or copied to a device."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Place:
    """Arrays where a kernel can be called with them; this class, in their own memory."""

    def __init__(self, tensors: Sequence[Any]) -> None:
        self.tensors = tensors  # what it is called with, one for each array

    def send(self) -> None:
        """Have the kernel find what the arrays hold."""

    def fetch(self) -> None:
        """Have the arrays, and what lies around them, hold what the kernel has left there."""


class Device:
    """What calls kernels; this class, this process, where a call returns when it is done."""

    tvm: Any = None
    """TVM's name for it; None for this process."""

    def place(self, arrays: Sequence[NDArray[Any]], memories: Sequence[NDArray[np.uint8]]) -> Place:
        """Put arrays where it finds them, each with the memory that it lies in, guards included."""
        return Place(tensors_on(arrays))

    def sync(self) -> None:
        """Wait until everything is done that it was given."""


class Accelerator(Device):
    """A device with memory of its own, by TVM's name, e.g. `cuda`.

    It is in use from the first call on. This process must not be forked afterwards: CUDA's
    contexts belong to one process.
    """

    def __init__(self, name: str) -> None:
        import tvm

        self.tvm = tvm.device(name, 0)

    def place(self, arrays: Sequence[NDArray[Any]], memories: Sequence[NDArray[np.uint8]]) -> Place:
        copies = sent(memories, self.tvm)
        tensors = [
            _part(copy, array, array.ctypes.data - memory.ctypes.data)
            for copy, array, memory in zip(copies, arrays, memories, strict=True)
        ]
        return Copied(tensors, copies, memories)

    def sync(self) -> None:
        self.tvm.sync()


def device_of(name: str) -> Device:
    """A device by TVM's name; this process if it has none."""
    return Accelerator(name) if name else Device()


class Copied(Place):
    """Arrays that a device has copies of; a tensor may be a part of one."""

    def __init__(
        self, tensors: Sequence[Any], copies: Sequence[Any], arrays: Sequence[NDArray[Any]]
    ) -> None:
        super().__init__(tensors)
        self._copies = [*zip(copies, arrays, strict=True)]

    def send(self) -> None:
        for copy, array in self._copies:
            copy.copyfrom(array)

    def fetch(self) -> None:
        for copy, array in self._copies:
            array[...] = copy.numpy()


def sent(arrays: Iterable[NDArray[Any]], device: Any) -> list[Any]:
    """Tensors on a device."""
    from tvm.runtime import tensor

    return [tensor(array, device=device) for array in arrays]


def tensors_on(arrays: Iterable[NDArray[Any]]) -> list[Any]:
    """TVM's view of arrays, on the same memory."""
    from tvm.runtime import from_dlpack

    return [
        # NumPy exports no type that is not its own.
        from_dlpack(array.view(f"u{array.itemsize}"))._create_view(array.shape, array.dtype.name)
        if array.dtype.kind == "V"
        else from_dlpack(array)
        for array in arrays
    ]


def _part(copy: Any, array: NDArray[Any], offset: int) -> Any:
    """The tensor of an array that begins so many bytes behind the start of a device's copy.

    TVM's own view has the start's address and an offset, and kernels take no offset.
    """
    from tvm.runtime import from_dlpack

    view = copy._create_view(array.shape, array.dtype.name, offset)
    capsule = view._to_dlpack()
    exported = _DLTensor.from_address(_address(capsule))
    exported.data += exported.byte_offset
    exported.byte_offset = 0
    return from_dlpack(capsule)


class _DLTensor(ctypes.Structure):
    """https://dmlc.github.io/dlpack/latest/c_api.html; a `DLManagedTensor` begins with it."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


def _address(capsule: Any) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address: int = get(capsule, b"dltensor")
    return address
