"""Trackers and devices on loopback: what TVM's own commands start in a process of their own."""

from __future__ import annotations

import random
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psutil

from pytest_ansorbench.measure.remote.settings import DeviceAddress
from pytest_ansorbench.measure.remote.tracker import TrackerConnection, TrackerError
from tests.forked import forked, kill, wait_until

KEY = "bench"
PRELOADED = ("tvm.rpc.server", "tvm.rpc.tracker")


def free_port() -> int:
    """A port that nobody listens at.

    It is below those that systems give to clients, so that no other test's connection takes it
    before a process listens at it.
    """
    for port in random.sample(range(20_000, 32_000), 100):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")


@dataclass(frozen=True)
class Running:
    """A tracker or a device, and where it listens."""

    process: psutil.Process
    port: int

    def end(self) -> None:
        """Kill it and all that it has started."""
        kill(self.process)


def started(kind: str, *arguments: object, port: int | None = None) -> Running:
    port = port or free_port()
    process = forked(f"{__name__}:{kind}", port, *arguments, preloaded=PRELOADED)
    return Running(process, port)


def be_a_tracker(port: int) -> None:
    from tvm.rpc.tracker import PopenTrackerServerState

    PopenTrackerServerState("127.0.0.1", port, port + 1, silent=True).thread.join()


def be_a_device(port: int, tracker_port: int | None = None, key: str = "") -> None:
    from tvm.rpc.server import PopenRPCServerState

    at = None if tracker_port is None else ("127.0.0.1", tracker_port)
    PopenRPCServerState(
        "127.0.0.1", port, port + 1, tracker_addr=at, key=key, silent=True
    ).thread.join()


@contextmanager
def tracker() -> Iterator[Running]:
    """A tracker without devices."""
    running = started("be_a_tracker")
    try:
        wait_until(lambda: answers(running.port))
        yield running
    finally:
        running.end()


@contextmanager
def servers(at: Running, count: int, key: str = KEY) -> Iterator[list[Running]]:
    """Devices that report to a tracker."""
    before = total(at, key)
    running = [started("be_a_device", at.port, key) for _ in range(count)]
    try:
        # They are on the list a moment before they are free.
        wait_until(lambda: total(at, key) >= before + count and queue(at, key).free >= count)
        yield running
    finally:
        for one in running:
            one.end()


@contextmanager
def server(at: Running, key: str = KEY) -> Iterator[Running]:
    """One device that reports to a tracker."""
    with servers(at, 1, key) as [running]:
        yield running


@contextmanager
def lone_server(key: str = "") -> Iterator[Running]:
    """A device without a tracker."""
    running = started("be_a_device", None, key)
    try:
        wait_until(lambda: listens(running.port))
        yield running
    finally:
        running.end()


def address(at: Running, key: str = KEY) -> DeviceAddress:
    return DeviceAddress("127.0.0.1", at.port, key)


def queue(at: Running, key: str = KEY):
    """The tracker's queue of a key; None if it has none."""
    with TrackerConnection(address(at, key)) as connection:
        return next((one for one in connection.queues() if one.key == key), None)


def total(at: Running, key: str) -> int:
    found = queue(at, key)
    return 0 if found is None else len(found.addresses)


def answers(port: int) -> bool:
    try:
        TrackerConnection(DeviceAddress("127.0.0.1", port)).close()
    except TrackerError:
        return False
    return True


def listens(port: int) -> bool:
    # Without a connection, which a server with one session at a time would take.
    pattern = re.compile(rf":{port:04X} 00000000:0000 0A ")
    with open("/proc/net/tcp", encoding="ascii") as lines:
        return any(pattern.search(line) for line in lines)
