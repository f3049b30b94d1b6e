"""Addresses of devices as users write them."""

from __future__ import annotations

import pytest

from pytest_ansorbench.measure.remote.settings import DeviceAddress


@pytest.mark.parametrize(
    ("text", "host", "port", "key"),
    [
        ("127.0.0.1:9190:rasp4", "127.0.0.1", 9190, "rasp4"),
        ("tracker.example:1:a-b_c.d", "tracker.example", 1, "a-b_c.d"),
        ("[::1]:65535:key", "::1", 65535, "key"),
    ],
)
def test_a_tracker_is_host_port_and_key(text: str, host: str, port: int, key: str) -> None:
    address = DeviceAddress.parse_tracker(text)
    assert address == DeviceAddress(host, port, key)
    assert str(address) == text
    assert address.conditions() == {"device": key}


@pytest.mark.parametrize("text", ["127.0.0.1:9090", "[fe80::1]:80"])
def test_a_server_is_host_and_port(text: str) -> None:
    address = DeviceAddress.parse_server(text)
    assert (str(address), address.key) == (text, "")
    assert address.conditions() == {"device": "server"}


@pytest.mark.parametrize(
    "text", ["", "host", "host:9190", "host:0:key", "host:70000:key", "::key", "h:9190:"]
)
def test_what_is_no_tracker_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected HOST:PORT:KEY of a tracker, e\.g\. 127"):
        DeviceAddress.parse_tracker(text)


@pytest.mark.parametrize("text", ["", "host", "host:0", "host:9190:key", "host:port"])
def test_what_is_no_server_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected HOST:PORT of a server, e\.g\. 127"):
        DeviceAddress.parse_server(text)
