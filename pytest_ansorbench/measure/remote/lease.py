"""One device for as long as an engine measures, out of those that a tracker hands out.

TVM's server has one session at a time, and a kernel may have to be ended with its session; then
the tracker has the device again and hands it to whoever asks first. So a lease is a claim: who
goes on asks with a higher priority than who begins, and takes only the device that it had. Others
that it is offered are given back at once.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from typing import Final

from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.remote.settings import DeviceAddress
from pytest_ansorbench.measure.remote.tracker import Offer, TrackerConnection, TrackerError

_TO_BEGIN, _TO_GO_ON = 1, 1000
"""Priorities of requests; TVM's own clients ask with 1."""
_PAUSE_S: Final = 0.02
"""A server needs some milliseconds to tell its tracker that it is free."""
_WORD: Final = struct.Struct("<i")
_LENGTH: Final = struct.Struct("<Q")
_RPC_MAGIC: Final = 0xFF271
_SHUTDOWN: Final = 1
_CONNECT_S: Final = 5.0


class Lease:
    """Finds a device, and finds it again."""

    def __init__(self, address: DeviceAddress, patience_s: float, session_s: float) -> None:
        """Prepare; nothing is asked yet.

        `session_s` is how long a session may hang before the device ends it: so much longer the
        device is waited for that was leased already.
        """
        self._address = address
        self._patience_s = patience_s
        self._session_s = session_s
        self._device: tuple[str, int] | None = None

    def offer(self) -> Offer:
        """The device, ready for a session; an EngineError says that it is not free, or gone."""
        if not self._address.key:
            return Offer(self._address.host, self._address.port, "")
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
        connection.sendall(_LENGTH.pack(_WORD.size) + _WORD.pack(_SHUTDOWN))
