"""Where programs are measured, if not on this machine."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

_HOST: Final = r"(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]]+)"


@dataclass(frozen=True)
class DeviceAddress:
    """A tracker that hands devices out, or a single device's server."""

    host: str
    port: int
    key: str = ""
    """What the tracker calls such devices; empty for a server."""

    @classmethod
    def parse_tracker(cls, text: str) -> DeviceAddress:
        """Read `HOST:PORT:KEY`, an IPv6 host in brackets; a ValueError says what was expected."""
        found = re.fullmatch(rf"{_HOST}:(\d{{1,5}}):([^\s:]+)", text.strip())
        return cls._of(found, "HOST:PORT:KEY of a tracker, e.g. 127.0.0.1:9190:rasp4")

    @classmethod
    def parse_server(cls, text: str) -> DeviceAddress:
        """Read `HOST:PORT`; a ValueError says what was expected."""
        found = re.fullmatch(rf"{_HOST}:(\d{{1,5}})()", text.strip())
        return cls._of(found, "HOST:PORT of a server, e.g. 127.0.0.1:9090")

    @classmethod
    def _of(cls, found: re.Match[str] | None, expected: str) -> DeviceAddress:
        if found is None or not 1 <= int(found[2]) <= 65535:
            raise ValueError(f"expected {expected}")
        return cls(found[1].strip("[]"), int(found[2]), found[3])

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return ":".join(filter(None, (host, str(self.port), self.key)))

    def conditions(self) -> dict[str, Any]:
        """What of it decides measurements, as JSON values: a tracker's key, no names of hosts."""
        return {"device": self.key or "server"}


@dataclass(frozen=True)
class RemoteSettings:
    """Where programs are measured, and how they get there; one of tracker and server, or none."""

    tracker: DeviceAddress | None = None
    server: DeviceAddress | None = None
    linker: str | None = None
    """Command of a C compiler that links shared libraries for the device; None for that of the
    target's triple."""
    patience_s: float = 60.0
    """To wait for a device that is free."""

    @property
    def address(self) -> DeviceAddress | None:
        """Where devices are; None for this machine."""
        return self.tracker or self.server

    def conditions(self) -> dict[str, Any]:
        """What of it decides measurements, as JSON values; nothing for this machine."""
        return {} if self.address is None else self.address.conditions()
