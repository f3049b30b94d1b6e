"""Messages between the processes of the engine: JSON, bytes and file descriptors, no pickle."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pytest_ansorbench.causes import last_line

_HEADER: Final = struct.Struct("!QQ")
_MOST_DESCRIPTORS: Final = 4


class ChannelClosed(Exception):
    """The other side is gone, or the channel was closed."""


class Channel:
    """One end of a stream socket that carries whole messages.

    A frame is the lengths of its two parts, then a JSON object, then bytes. File descriptors
    travel with the frame they are sent with. Methods raise `ChannelClosed`.
    """

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._descriptors: list[int] = []

    def fileno(self) -> int:
        """The descriptor to wait on; readable when a message, or the end, has come."""
        return self._socket.fileno()

    def send(
        self, message: Mapping[str, Any], payload: bytes = b"", descriptors: Sequence[int] = ()
    ) -> None:
        text = json.dumps(message).encode()
        frame = _HEADER.pack(len(text), len(payload)) + text
        try:
            sent = socket.send_fds(self._socket, [frame], descriptors)
            # Even to send nothing fails if the other side has its message and is gone.
            if rest := frame[sent:] + payload:
                self._socket.sendall(rest)
        except OSError as error:
            raise ChannelClosed(str(error)) from None

    def receive(self) -> tuple[dict[str, Any], bytes]:
        """Wait for a message and the bytes that come with it."""
        text_length, payload_length = _HEADER.unpack(self._exactly(_HEADER.size))
        message: dict[str, Any] = json.loads(self._exactly(text_length))
        return message, self._exactly(payload_length)

    def take_descriptors(self) -> list[int]:
        """Descriptors that came with the messages so far; the caller has to close them."""
        taken, self._descriptors = self._descriptors, []
        return taken

    def close(self) -> None:
        for descriptor in self.take_descriptors():
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._socket.close()

    def _exactly(self, length: int) -> bytes:
        received = bytearray()
        while len(received) < length:
            try:
                part, descriptors, _, _ = socket.recv_fds(
                    self._socket, min(length - len(received), 1 << 20), _MOST_DESCRIPTORS
                )
            except OSError as error:
                raise ChannelClosed(str(error)) from None
            self._descriptors += descriptors
            if not part:
                raise ChannelClosed("the other side is gone")
            received += part
        return bytes(received)


def words_of(error: Exception) -> str:
    """Its kind, and what happened."""
    return f"{type(error).__name__}: {last_line(error)}"


def told(error: Exception) -> dict[str, Any]:
    """The reply that says what went wrong."""
    return {"error": words_of(error)}


def answer(
    channel: Channel,
    handlers: Mapping[str, Callable[..., dict[str, Any]]],
    refused: Callable[[Exception], dict[str, Any]] = told,
) -> None:
    """Answer requests until the channel ends: what a child process does.

    A request's `op` names a handler; all else in it, and bytes that came with it as `payload`, are
    the handler's arguments. A reply's `payload` is sent as bytes. Of what a handler raises,
    `refused` makes the reply.
    """
    while True:
        try:
            message, payload = channel.receive()
        except ChannelClosed:
            return
        handler = handlers[message.pop("op")]
        if payload:
            message["payload"] = payload
        try:
            reply = handler(**message)
        except Exception as error:  # whatever a program provokes is a failed trial
            reply = refused(error)
        channel.send(reply, reply.pop("payload", b""))
