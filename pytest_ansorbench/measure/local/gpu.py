"""Describes the GPU that kernels run on, and its clocks.

TVM knows what CUDA tells. Clocks, driver and what holds the clocks down are NVML's, by the package
`nvidia-ml-py`; without it they are unknown. Neither makes a context on the device.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, Final, TypeVar

from pytest_ansorbench.cuda import arch_of_device, device
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
    name = str(first.device_name)
    described: dict[str, Any] = {
        "name": name,
        "arch": arch_of_device(first),
        "multiprocessors": int(first.multi_processor_count),
        "l2_bytes": int(first.l2_cache_size_bytes),
        "memory_bytes": int(first.total_global_memory),
        "driver": None,
        "most_sm_mhz": None,
        "most_memory_mhz": None,
        "power_limit_w": None,
    }
    nvml = _Nvml.opened(name)
    if nvml is not None:
        n, handle = nvml.library, nvml.handle
        described |= {
            "driver": _text(nvml.asked(n.nvmlSystemGetDriverVersion)),
            "most_sm_mhz": nvml.asked(lambda: n.nvmlDeviceGetMaxClockInfo(handle, 1)),
            "most_memory_mhz": nvml.asked(lambda: n.nvmlDeviceGetMaxClockInfo(handle, 2)),
            "power_limit_w": _thousandth(
                nvml.asked(lambda: n.nvmlDeviceGetEnforcedPowerLimit(handle))
            ),
        }
    return described


def observe_gpu(name: str) -> GpuState:
    """The clocks of the GPU of this name at this moment; None for what is not known."""
    nvml = _Nvml.opened(name)
    if nvml is None:
        return GpuState()
    n, handle = nvml.library, nvml.handle
    bits = nvml.asked(lambda: n.nvmlDeviceGetCurrentClocksThrottleReasons(handle))
    return GpuState(
        sm_mhz=nvml.asked(lambda: float(n.nvmlDeviceGetClockInfo(handle, 1))),
        memory_mhz=nvml.asked(lambda: float(n.nvmlDeviceGetClockInfo(handle, 2))),
        temperature_c=nvml.asked(lambda: float(n.nvmlDeviceGetTemperature(handle, 0))),
        power_w=_thousandth(nvml.asked(lambda: n.nvmlDeviceGetPowerUsage(handle))),
        held_down_by=None
        if bits is None
        else tuple(reason for bit, reason in _REASONS.items() if bits & bit),
    )


class _Nvml:
    """NVML with the GPU that CUDA sees first."""

    def __init__(self, library: Any, handle: Any) -> None:
        self.library = library
        self.handle = handle

    @classmethod
    def opened(cls, name: str) -> _Nvml | None:
        """None where it is not installed, does not work, or shows another GPU than CUDA."""
        try:
            import pynvml

            pynvml.nvmlInit()
            handle = _handle(pynvml)
            shown = _text(pynvml.nvmlDeviceGetName(handle))
        except Exception:  # of the package, the driver's library and the driver
            return None
        return cls(pynvml, handle) if shown == name else None

    def asked(self, ask: Callable[[], _Known]) -> _Known | None:
        """None for what this GPU does not tell."""
        try:
            return ask()
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


def _thousandth(told: float | None) -> float | None:
    return None if told is None else told / 1e3
