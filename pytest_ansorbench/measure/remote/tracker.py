"""TVM's tracker, spoken to with time limits: what it has, and the lease of one of its devices.

The protocol is that of `tvm.rpc.tracker` (https://github.com/apache/tvm/blob/main/python/tvm/rpc/
tracker.py): frames of JSON behind their length. TVM's own `TrackerSession` waits for ever, and
does not tell which device it was given.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.remote.settings import DeviceAddress

_MAGIC: Final = 0x2F271
_SUCCESS, _REQUEST, _SUMMARY = 0, 4, 6
_WORD: Final = struct.Struct("<i")
_MOST_BYTES: Final = 1 << 20
_ANSWER_S: Final = 10.0
"""A tracker that is there answers at once."""
_TO_BEGIN, _TO_GO_ON = 1, 1000
"""Priorities of requests; TVM's own clients ask with 1."""
_PAUSE_S: Final = 0.02
"""A server needs some milliseconds to tell its tracker that it is free."""
_PACKET: Final = struct.Struct("<Q")
_RPC_MAGIC: Final = 0xFF271
_SHUTDOWN: Final = 1
_CONNECT_S: Final = 5.0


class TrackerError(Exception):
    """The tracker is not there, is none, or has no device; the message says which."""


@dataclass(frozen=True)
class Offer:
    """A device that a tracker hands out; a connection has to name the key."""

    host: str
    port: int
    matchkey: str
    patience_s: float = 0.0  # to wait for its server, which no tracker has seen


@dataclass(frozen=True)
class DeviceQueue:
    """The devices of one key."""

    key: str
    addresses: tuple[str, ...]  # host and port of each
    free: int  # how many are not in use
    waiting: int  # requests that wait for one


class TrackerConnection:
    """A connection to a tracker."""

    def __init__(self, address: DeviceAddress) -> None:
        self._address = address
        self._where = f"{address.host}:{address.port}"
        try:
            self._socket = socket.create_connection((address.host, address.port), _ANSWER_S)
        except OSError as error:
            raise TrackerError(f"no tracker at {self._where}: {error}") from None
        self._answers = self._socket.makefile("rb")
        try:
            self._socket.sendall(_WORD.pack(_MAGIC))
            [magic] = _WORD.unpack(self._exactly(_WORD.size))
            if magic != _MAGIC:
                raise ConnectionError("something else listens there")
        except OSError as error:
            self.close()
            raise TrackerError(f"no tracker at {self._where}: {error}") from None

    def __enter__(self) -> TrackerConnection:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up; a request that was not answered is void."""
        self._answers.close()
        self._socket.close()

    def queues(self) -> tuple[DeviceQueue, ...]:
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
        message = [_REQUEST, self._address.key, "", priority]
        host, port, matchkey = self._asked(message, patience_s)
        return Offer(str(host), int(port), str(matchkey))

    def _asked(self, message: list[Any], patience_s: float) -> Any:
        text = json.dumps(message).encode()
        try:
            self._socket.settimeout(patience_s)
            self._socket.sendall(_WORD.pack(len(text)) + text)
            [length] = _WORD.unpack(self._exactly(_WORD.size))
            answer = json.loads(self._exactly(length)) if 0 < length <= _MOST_BYTES else None
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
        received = self._answers.read(length)
        if len(received) < length:
            raise ConnectionError("it hung up")
        return received


class Lease:
    """One device for as long as an engine measures, out of those that a tracker hands out.

    TVM's server has one session at a time, and a kernel may have to be ended with its session; then
    the tracker has the device again and hands it to the next request. So a lease is a claim: an
    engine that had a device asks with a higher priority than one that begins, and takes only the
    device that it had. Others that it is offered are given back at once.
    """

    def __init__(self, address: DeviceAddress, patience_s: float) -> None:
        self._address = address
        self._patience_s = patience_s
        self._session_s = 0.0  # after which the device ends the session that it is in
        self._device: tuple[str, int] | None = None

    def offer(self, session_s: float) -> Offer:
        """The device, ready for a session of so many seconds at most.

        Raises:
            EngineError: It is not free, or gone.
        """
        if not self._address.key:
            return Offer(self._address.host, self._address.port, "", self._patience_s)
        wait_s = self._patience_s + (0.0 if self._device is None else self._session_s)
        deadline_s = time.monotonic() + wait_s
        try:
            with TrackerConnection(self._address) as tracker:
                while True:
                    priority = _TO_BEGIN if self._device is None else _TO_GO_ON
                    patience_s = max(0.1, deadline_s - time.monotonic())
                    offer = tracker.request(priority, patience_s)
                    if self._device in (None, (offer.host, offer.port)):
                        self._device = (offer.host, offer.port)
                        self._session_s = session_s
                        return offer
                    _give_back(offer)
                    if time.monotonic() > deadline_s:
                        host, port = self._device or ("", 0)
                        raise EngineError(
                            f"the device {host}:{port} did not come back within "
                            f"{wait_s:g} s; others are free, but all arms of a repeat are "
                            "measured on one"
                        )
                    time.sleep(_PAUSE_S)
        except TrackerError as error:
            raise EngineError(str(error)) from None

    def lose(self) -> None:
        """Take any device the next time: this one cannot be reached."""
        self._device = None


def _give_back(offer: Offer) -> None:
    """Open a session and shut it down, upon which the device tells its tracker that it is free.

    TVM's Python server ends for good if a client hangs up without a word. The handshake is that
    of `tvm.rpc.server`; the packet is its length and `RPCCode::kShutdown`
    (https://github.com/apache/tvm/blob/main/src/runtime/rpc/rpc_endpoint.cc).
    """
    hello = f"client:{offer.matchkey}".encode()
    with (
        contextlib.suppress(OSError, struct.error),
        socket.create_connection((offer.host, offer.port), _CONNECT_S) as connection,
    ):
        connection.sendall(_WORD.pack(_RPC_MAGIC) + _WORD.pack(len(hello)) + hello)
        with connection.makefile("rb") as answer:
            answer.read(_WORD.size)
            answer.read(_WORD.unpack(answer.read(_WORD.size))[0])
        connection.sendall(_PACKET.pack(_WORD.size) + _WORD.pack(_SHUTDOWN))
