"""Describes the GPU that kernels run on, and its clocks.

TVM knows what CUDA tells. Clocks, driver and what holds the clocks down are NVML's, by the package
`nvidia-ml-py`; without it they are unknown. Neither makes a context on the device.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, Final, TypeVar

from pytest_ansorbench.cuda import arch_of_device, device
from pytest_ansorbench.environment import MisfitError
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.records import GpuState

_Known = TypeVar("_Known")

_REASONS: Final = MappingProxyType(
    {
        0x1: "idle",
        0x2: "clocks set by applications",
        0x4: "power cap",
        0x8: "hardware slowdown",
        0x10: "sync boost",
        0x20: "temperature",
        0x40: "temperature, by hardware",
        0x80: "power brake, by hardware",
        0x100: "display clocks",
    }
)
"""Bits of `nvmlClocksEventReason...` (nvml.h)."""


def describe_gpu() -> dict[str, Any]:
    """What the first visible GPU is, but no serial number: result files get published.

    CudaError if there is none.
    """
    first = device()
    nvml = _Nvml(str(first.device_name))
    return {
        **described(first),
        "driver": _text(nvml.asked(lambda n, _: n.nvmlSystemGetDriverVersion())),
        "most_sm_mhz": nvml.asked(lambda n, gpu: n.nvmlDeviceGetMaxClockInfo(gpu, 1)),
        "most_memory_mhz": nvml.asked(lambda n, gpu: n.nvmlDeviceGetMaxClockInfo(gpu, 2)),
        "power_limit_w": nvml.asked(lambda n, gpu: n.nvmlDeviceGetEnforcedPowerLimit(gpu) / 1e3),
    }


def described(gpu: Any) -> dict[str, Any]:
    """What TVM knows of a CUDA device, here or behind RPC."""
    return {
        "name": str(gpu.device_name),
        "arch": arch_of_device(gpu),
        "multiprocessors": int(gpu.multi_processor_count),
        "l2_bytes": int(gpu.l2_cache_size_bytes),
        "memory_bytes": int(gpu.total_global_memory),
    }


def check_gpu_caches(settings: EngineSettings, l2_bytes: int) -> None:
    """Refuse caches that a GPU cannot be measured with: MisfitError."""
    if settings.found_caches == "network":
        raise MisfitError(
            "caches", "network", "on a GPU caches cannot be left so yet, expected warm or cold"
        )
    # A copy reads as much as it writes: twice as much goes through the cache.
    least_mb = -(-l2_bytes // 1_000_000)
    if settings.flush_mb and settings.flush_mb < least_mb:
        raise MisfitError(
            "flush_cache_mb",
            str(settings.flush_mb),
            f"the GPU's level-2 cache has {l2_bytes / 1e6:.0f} MB, expected at least {least_mb}",
        )


def observe_gpu(name: str) -> GpuState:
    """The clocks of the GPU of this name at this moment; None for what is not known."""
    nvml = _Nvml(name)
    bits = nvml.asked(lambda n, gpu: n.nvmlDeviceGetCurrentClocksThrottleReasons(gpu))
    return GpuState(
        sm_mhz=nvml.asked(lambda n, gpu: float(n.nvmlDeviceGetClockInfo(gpu, 1))),
        memory_mhz=nvml.asked(lambda n, gpu: float(n.nvmlDeviceGetClockInfo(gpu, 2))),
        temperature_c=nvml.asked(lambda n, gpu: float(n.nvmlDeviceGetTemperature(gpu, 0))),
        power_w=nvml.asked(lambda n, gpu: n.nvmlDeviceGetPowerUsage(gpu) / 1e3),
        held_down_by=None
        if bits is None
        else tuple(reason for bit, reason in _REASONS.items() if bits & bit),
    )


class _Nvml:
    """NVML with the GPU that CUDA sees first.

    It knows nothing where it is not installed, does not work, or shows another GPU than CUDA.
    """

    def __init__(self, name: str) -> None:
        self._library: Any = None
        with contextlib.suppress(Exception):  # of the package, the driver's library and the driver
            import pynvml

            pynvml.nvmlInit()
            self._gpu = _handle(pynvml)
            if _text(pynvml.nvmlDeviceGetName(self._gpu)) == name:
                self._library = pynvml

    def asked(self, ask: Callable[[Any, Any], _Known]) -> _Known | None:
        """What the library and the GPU tell; None for what they do not."""
        if self._library is None:
            return None
        try:
            return ask(self._library, self._gpu)
        except Exception:
            return None


def _handle(n: Any) -> Any:
    """The first GPU that CUDA_VISIBLE_DEVICES names; it counts as NVML does, or has UUIDs.

    https://docs.nvidia.com/cuda/cuda-c-programming-guide/, CUDA environment variables.
    """
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()
    if first.startswith(("GPU-", "MIG-")):
        return n.nvmlDeviceGetHandleByUUID(first)
    return n.nvmlDeviceGetHandleByIndex(int(first or 0))


def _text(told: Any) -> str | None:
    """Older versions of the package have bytes."""
    return told.decode() if isinstance(told, bytes) else told
