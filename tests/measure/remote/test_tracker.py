"""The tracker's protocol: its answers, its silence, and what is no tracker."""

from __future__ import annotations

import json
import socket
import struct
import threading

import pytest

from pytest_ansorbench.measure.remote.tracker import TrackerConnection, TrackerError, _give_back
from tests.forked import wait_until
from tests.measure.remote import devices


def test_a_tracker_says_what_it_has(tracker, both):
    wait_until(lambda: devices.queue(tracker).free == 2)
    queue = devices.queue(tracker)
    assert queue.addresses == tuple(sorted(f"127.0.0.1:{device.port}" for device in both))
    assert (queue.free, queue.waiting) == (2, 0)


def test_a_device_is_handed_out_once(tracker, both):
    with TrackerConnection(devices.address(tracker)) as connection:
        offers = [connection.request(1, 5.0) for _ in both]
        assert {offer.port for offer in offers} == {device.port for device in both}
        with pytest.raises(TrackerError, match="no device 'bench' was free"):
            connection.request(1, 0.2)
    for offer in offers:
        _give_back(offer)
    wait_until(lambda: devices.queue(tracker).free == 2)


def test_a_request_that_is_given_up_is_void(tracker):
    with (
        TrackerConnection(devices.address(tracker, "late")) as connection,
        pytest.raises(TrackerError, match=r"no device 'late' was free at 127\.0\.0\.1"),
    ):
        connection.request(1, 0.2)
    with devices.server(tracker, "late"):
        assert devices.queue(tracker, "late").waiting == 0


@pytest.fixture
def impostor():
    """Something that listens and answers what it is told to."""
    answers = []
    listening = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                connection.recv(64)
                for answer in answers:
                    connection.sendall(answer)
                    connection.recv(4096)

    thread = threading.Thread(target=serve)
    thread.start()
    yield listening.getsockname()[1], answers
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    thread.join()


MAGIC = struct.pack("<i", 0x2F271)


def framed(value) -> bytes:
    text = json.dumps(value).encode()
    return struct.pack("<i", len(text)) + text


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([], "no tracker at 127.0.0.1:.*: it hung up"),
        ([b"HTTP"], "something else listens there"),
        ([MAGIC, framed([1, "no"])], "answers in no known way"),
        ([MAGIC, framed("nonsense")], "answers in no known way"),
        ([MAGIC, struct.pack("<i", -5)], "answers in no known way"),
        ([MAGIC, struct.pack("<i", 1 << 30)], "answers in no known way"),
        ([MAGIC, struct.pack("<i", 3) + b"{{{"], "is gone"),
    ],
)
def test_what_is_no_tracker_is_told(impostor, answers, message):
    port, given = impostor
    given += answers
    address = devices.DeviceAddress("127.0.0.1", port, "x")
    with (
        pytest.raises(TrackerError, match=message),
        TrackerConnection(address) as connection,
    ):
        connection.queues()
