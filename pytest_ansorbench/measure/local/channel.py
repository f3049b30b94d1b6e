"""Messages between the processes of the engine: JSON, bytes and file descriptors, no pickle."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final

_HEADER: Final = struct.Struct("!QQ")
_MOST_DESCRIPTORS: Final = 4


class ChannelClosed(Exception):
    """The other side is gone, or the channel was closed."""


class Channel:
    """One end of a stream socket that carries whole messages.

    A frame is the lengths of its two parts, then a JSON object, then bytes. File descriptors
    travel with the frame they are sent with.
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
        """Send a message.

        Args:
            message: JSON values.
            payload: Bytes that come with it.
            descriptors: Open file descriptors that the other side is to have, too.

        Raises:
            ChannelClosed: Nobody is there to receive it.
        """
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
        """Wait for a message.

        Returns:
            The message and its bytes.

        Raises:
            ChannelClosed: The end has come instead.
        """
        text_length, payload_length = _HEADER.unpack(self._exactly(_HEADER.size))
        message: dict[str, Any] = json.loads(self._exactly(text_length))
        return message, self._exactly(payload_length)

    def take_descriptors(self) -> list[int]:
        """Descriptors that came with the messages so far; the caller has to close them."""
        taken, self._descriptors = self._descriptors, []
        return taken

    def close(self) -> None:
        """Close this end; the other side receives the end."""
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
