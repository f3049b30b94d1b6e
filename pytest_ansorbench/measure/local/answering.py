"""The inside of a child process: requests come over its channel, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pytest_ansorbench.measure.local.channel import Channel, ChannelClosed


def answer(channel: Channel, handlers: Mapping[str, Callable[..., dict[str, Any]]]) -> None:
    """Answer requests until the channel ends.

    A request is a message whose `op` names a handler; all else in it, and bytes that came with it
    as `payload`, are the handler's arguments. A handler that raises makes a reply with `error`.

    Args:
        channel: Where requests come from.
        handlers: By `op`; each returns the reply, whose `payload` is sent as bytes.
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
            reply = {"error": f"{type(error).__name__}: {first_line(error)}"}
        channel.send(reply, reply.pop("payload", b""))


def first_line(error: Exception) -> str:
    """The line of an error message that says what happened, 300 characters at most."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    # TVM puts its stack trace first and the message last.
    return lines[-1].strip()[:300] if lines else ""
