"""Where programs are measured, if not on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_ansorbench.measure.remote.address import DeviceAddress


@dataclass(frozen=True)
class RemoteSettings:
    """Where programs are measured, and how they get there.

    Attributes:
        tracker: A tracker and the key of the devices that it has; None without one.
        server: A single device; None without one. One of the two has to be given.
        linker: Command of a C compiler that links shared libraries for the device.
        patience_s: Seconds to wait for a device that is free.
    """

    tracker: DeviceAddress | None = None
    server: DeviceAddress | None = None
    linker: str = "cc"
    patience_s: float = 60.0

    @property
    def address(self) -> DeviceAddress | None:
        """Where devices are; None for this machine."""
        return self.tracker or self.server

    def conditions(self) -> dict[str, Any]:
        """What of it decides measurements, as JSON values; nothing for this machine."""
        return {} if self.address is None else self.address.conditions()
