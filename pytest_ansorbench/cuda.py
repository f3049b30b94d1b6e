"""CUDA as TVM finds it on this machine: its runtime library, a compiler, a device.

Where TVM's CUDA runtime does not load, importing TVM is silent, and every device seems to be
absent. What is missing is told here, in a sentence with the cure.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.causes import ToolchainError, last_line

if TYPE_CHECKING:
    from tvm.target import Target

_RUNTIME: Final = "libtvm_runtime_cuda.so"
_MOST_MISSING: Final = 8
"""Libraries that are looked for before giving up: the runtime needs two."""
_CURES: Final = {
    "libcuda.so": "it comes with NVIDIA's driver, which a machine or container with a GPU has",
    "libcudart.so": "it comes with a CUDA toolkit, or with pip install nvidia-cuda-runtime",
}
_MODES: Final = ("nvrtc", "nvcc")
_MODE: Final = "TVM_CUDA_COMPILE_MODE"
_TOOLKIT: Final = "CUDA_PATH"
_ERROR: Final = re.compile(r"\berror\b|Error:", re.IGNORECASE)
_NOTHING: Final = """
#include <cuda_fp16.h>
extern "C" __global__ void nothing(half* x) {}
"""
"""A program for the compiler; what TVM writes for float16 includes that header, too."""


class CudaError(ToolchainError):
    """Something that CUDA needs is missing, or does not fit a target."""


def load_runtime() -> None:
    """Have TVM know of CUDA, wherever the libraries lie that its runtime needs.

    This leaves the driver alone, so that the process may fork, and its children use CUDA.

    Raises:
        CudaError: A library is missing, or this TVM has no CUDA runtime.
    """
    import tvm

    if tvm.runtime.enabled("cuda"):
        return
    runtime = next(Path(tvm.__file__).parent.rglob(_RUNTIME), None)
    if runtime is None:
        raise CudaError(
            f"this build of TVM has no CUDA runtime, {_RUNTIME}: pip install 'apache-tvm==0.27.*' "
            "has it"
        )
    for _ in range(_MOST_MISSING):
        try:
            # Its registrations are all that is wanted of it, as of any library of TVM's.
            ctypes.CDLL(str(runtime))
            break
        except OSError as error:
            _load_missing(str(error))
    if not tvm.runtime.enabled("cuda"):
        raise CudaError(f"TVM's CUDA runtime, {runtime.name}, was loaded and knows no CUDA")


def _load_missing(said: str) -> None:
    """Load what the loader says is missing: a name that is known already is found."""
    missing = said.partition(":")[0]
    reason = said
    for path in _libraries(missing):
        try:
            ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
            return
        except OSError as error:
            reason = str(error)
    cure = next((cure for name, cure in _CURES.items() if missing.startswith(name)), "")
    raise CudaError(f"TVM's CUDA runtime does not load, {reason}{cure and ': '}{cure}")


def _libraries(name: str) -> Iterator[Path]:
    """Files of a library that the loader does not find by itself."""
    if "/" in name:
        return
    roots = [*_toolkits(), Path("/usr/local/nvidia"), Path("/usr/lib/wsl")]
    roots += [root for path in sys.path for root in sorted(Path(path).glob("nvidia/*"))]
    for root in roots:
        for folder in ("lib64", "lib", "targets/*/lib"):
            yield from sorted(root.glob(f"{folder}/{name}"))


def _toolkits() -> list[Path]:
    """Where toolkits may be, the newest of several first."""
    given = [Path(os.environ[name]) for name in (_TOOLKIT, "CUDA_HOME") if os.environ.get(name)]
    return [*given, Path("/usr/local/cuda"), *sorted(Path("/usr/local").glob("cuda-*"))[::-1]]


def check_compiler(target: Target) -> None:
    """See to it that TVM compiles for a CUDA target, here and in processes started from now on.

    TVM is told by environment variables: `TVM_CUDA_COMPILE_MODE` if it is not set becomes `nvcc`
    where NVRTC does not work, `CUDA_PATH` the first toolkit that has headers. An empty program is
    compiled, which takes a second or two.

    Raises:
        CudaError: Neither compiles for it.
    """
    from tvm.support.nvcc import tvm_callback_cuda_compile

    if _TOOLKIT not in os.environ:
        headers = ("include/cuda_runtime.h", "targets/*/include/cuda_runtime.h")
        found = [one for one in _toolkits() if any(any(one.glob(name)) for name in headers)]
        if found:
            os.environ[_TOOLKIT] = str(found[0])
    given = os.environ.get(_MODE)
    reasons = []
    for mode in [given] if given else _MODES:
        os.environ[_MODE] = mode
        try:
            with target:
                tvm_callback_cuda_compile(_NOTHING)
            return
        except Exception as error:  # of Python, TVM, cuda-bindings and the compiler
            said = complaint(str(error)) or last_line(error)
            reasons.append(f"{mode}: {said}")
    if given is None:
        del os.environ[_MODE]
    raise CudaError(
        f"TVM cannot compile for {arch_of(target)} ({'; '.join(reasons)}): pip install "
        "cuda-bindings nvidia-cuda-nvrtc, or have nvcc on PATH, and CUDA_PATH name a toolkit with "
        "headers, e.g. /usr/local/cuda"
    )


def complaint(said: str) -> str:
    """The line of a compiler's or the driver's message that tells; empty if none does.

    The program that it is about may be part of the message, before or behind.
    """
    lines = [line.strip() for line in said.splitlines()]
    # "Compilation error:" is a heading.
    telling = [line for line in lines if _ERROR.search(line) and not line.endswith(":")]
    return telling[0][:300] if telling else ""


def check_device(target: Target) -> None:
    """Check that there is a CUDA device that runs what is compiled for a target.

    Raises:
        CudaError: There is none, or it is of another architecture.
    """
    check_arch(target, arch_of_device(device()))


def check_arch(target: Target, own: str) -> None:
    """Check that a device, by its own architecture, runs what is compiled for a target.

    Raises:
        CudaError: It does not.
    """
    wanted = arch_of(target)
    digits = "".join(letter for letter in wanted if letter.isdigit())
    # Machine code runs on its own major version, from its minor version on; with a letter on its
    # own version alone (https://docs.nvidia.com/cuda/cuda-c-programming-guide/, compatibility).
    major, minor = digits[:-1], digits[-1:]
    runs = major == own[3:-1] and (minor == own[-1] or (minor < own[-1] and wanted[-1].isdigit()))
    if not runs:
        raise CudaError(
            f"what is compiled for {wanted} does not run on this device, an {own}: expected a "
            f'target of that, e.g. \'cuda\' or \'{{"kind": "cuda", "arch": "{own}"}}\''
        )


def device() -> Any:
    """The first CUDA device that this process may see. The driver is in use from now on.

    Raises:
        CudaError: There is none.
    """
    import tvm

    load_runtime()
    first = tvm.cuda(0)
    if not first.exist:
        raise CudaError(
            f"there is no CUDA device ({_no_device(first)}): nvidia-smi has to list one, and "
            "CUDA_VISIBLE_DEVICES, where it is set, to name it"
        )
    return first


def device_limits() -> dict[str, Any]:
    """What a CUDA target says of the device: architecture, and the limits of a block.

    Raises:
        CudaError: There is none.
    """
    first = device()
    return {
        "arch": arch_of_device(first),
        "max_threads_per_block": int(first.max_threads_per_block),
        "max_shared_memory_per_block": int(first.max_shared_memory_per_block),
        "thread_warp_size": int(first.warp_size),
    }


def arch_of_device(first: Any) -> str:
    """Architecture of a CUDA device by TVM's name, e.g. `sm_90`."""
    return "sm_" + str(first.compute_version).replace(".", "")


def _no_device(first: Any) -> str:
    """Why there is none, as the driver has it."""
    try:
        return f"it has {first.max_threads_per_block} threads a block"
    except Exception as error:  # CUDAError, which TVM registers when it is raised
        return last_line(error).rstrip(".")


def arch_of(target: Target) -> str:
    """Architecture of a CUDA target, e.g. `sm_90`."""
    return str(target.attrs["arch"])
