"""Where devices are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DeviceAddress:
    """A tracker that hands devices out, or a single device's server.

    Attributes:
        host: Name or address of the machine; an IPv6 address in brackets where it is written.
        port: Its port.
        key: What the tracker calls such devices; empty for a server.
    """

    host: str
    port: int
    key: str = ""

    @classmethod
    def parse_tracker(cls, text: str) -> DeviceAddress:
        """Read `HOST:PORT:KEY`.

        Raises:
            ValueError: It is none; the message says what was expected.
        """
        found = re.fullmatch(rf"{_HOST}:(\d{{1,5}}):([^\s:]+)", text.strip())
        return cls._of(found, "HOST:PORT:KEY of a tracker, e.g. 127.0.0.1:9190:rasp4")

    @classmethod
    def parse_server(cls, text: str) -> DeviceAddress:
        """Read `HOST:PORT`.

        Raises:
            ValueError: It is none; the message says what was expected.
        """
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


_HOST = r"(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]]+)"
