"""TVM's tracker, spoken to with time limits: what it has, and one of its devices.

The protocol is that of `tvm.rpc.tracker` (https://github.com/apache/tvm/blob/main/python/tvm/rpc/
tracker.py): frames of JSON behind their length. TVM's own `TrackerSession` waits for ever, and
does not tell which device it was given.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pytest_ansorbench.measure.remote.settings import DeviceAddress

_MAGIC: Final = 0x2F271
_SUCCESS, _REQUEST, _SUMMARY = 0, 4, 6
_LENGTH: Final = struct.Struct("<i")
_MOST_BYTES: Final = 1 << 20
_ANSWER_S: Final = 10.0
"""A tracker that is there answers at once."""


class TrackerError(Exception):
    """The tracker is not there, is none, or has no device; the message says which."""


@dataclass(frozen=True)
class Offer:
    """A device that a tracker hands out, for whoever connects with its key."""

    host: str
    port: int
    matchkey: str


@dataclass(frozen=True)
class DeviceQueue:
    """The devices of one key."""

    key: str
    addresses: tuple[str, ...]  # host and port of each
    free: int  # how many nobody uses
    waiting: int  # requests that wait for one


class TrackerConnection:
    """A connection to a tracker; a context manager. Its methods raise TrackerError."""

    def __init__(self, address: DeviceAddress) -> None:
        self._address = address
        try:
            self._socket = socket.create_connection((address.host, address.port), _ANSWER_S)
        except OSError as error:
            raise TrackerError(f"no tracker at {self._where}: {error}") from None
        try:
            self._socket.sendall(_LENGTH.pack(_MAGIC))
            [magic] = _LENGTH.unpack(self._exactly(_LENGTH.size))
        except OSError as error:
            self.close()
            raise TrackerError(f"no tracker at {self._where}: {error}") from None
        if magic != _MAGIC:
            self.close()
            raise TrackerError(f"no tracker at {self._where}: something else listens there")

    def __enter__(self) -> TrackerConnection:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up; a request that was not answered is void."""
        self._socket.close()

    def queues(self) -> tuple[DeviceQueue, ...]:
        """What the tracker has, by key."""
        summary = self._asked([_SUMMARY], _ANSWER_S)
        addresses: dict[str, list[str]] = {key: [] for key in summary["queue_info"]}
        for server in summary["server_info"]:
            host, port = server["addr"]
            addresses.setdefault(server["key"].removeprefix("server:"), []).append(f"{host}:{port}")
        return tuple(
            DeviceQueue(
                key,
                tuple(sorted(addresses[key])),
                int(summary["queue_info"].get(key, {}).get("free", 0)),
                int(summary["queue_info"].get(key, {}).get("pending", 0)),
            )
            for key in sorted(addresses)
        )

    def request(self, priority: int, patience_s: float) -> Offer:
        """Wait for a device; requests of a higher priority are served first."""
        value = self._asked([_REQUEST, self._address.key, "", priority], patience_s)
        host, port, matchkey = value
        return Offer(str(host), int(port), str(matchkey))

    def _asked(self, message: list[Any], patience_s: float) -> Any:
        text = json.dumps(message).encode()
        try:
            self._socket.settimeout(patience_s)
            self._socket.sendall(_LENGTH.pack(len(text)) + text)
            [length] = _LENGTH.unpack(self._exactly(_LENGTH.size))
            if not 0 < length <= _MOST_BYTES:
                raise TrackerError(f"the tracker at {self._where} answers in no known way")
            answer = json.loads(self._exactly(length))
        except TimeoutError:
            raise TrackerError(
                f"no device {self._address.key!r} was free at {self._where} for "
                f"{round(patience_s, 1):g} s"
                if message[0] == _REQUEST
                else f"the tracker at {self._where} does not answer"
            ) from None
        except (OSError, ValueError) as error:
            raise TrackerError(f"the tracker at {self._where} is gone: {error}") from None
        code, value = answer if isinstance(answer, list) and len(answer) == 2 else (None, None)
        if code != _SUCCESS or not isinstance(value, list | Mapping):
            raise TrackerError(f"the tracker at {self._where} answers in no known way")
        return value

    def _exactly(self, length: int) -> bytes:
        received = b""
        while len(received) < length:
            part = self._socket.recv(length - len(received))
            if not part:
                raise ConnectionError("it hung up")
            received += part
        return received

    @property
    def _where(self) -> str:
        return f"{self._address.host}:{self._address.port}"
