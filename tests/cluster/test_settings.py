"""Addresses of clusters."""

from __future__ import annotations

import pytest

from pytest_ansorbench.cluster.settings import ClusterAddress


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8786", "tcp://127.0.0.1:8786"),
        ("tcp://head.example:8786", "tcp://head.example:8786"),
        ("tls://10.0.0.1:8786", "tls://10.0.0.1:8786"),
        (" [::1]:8786 ", "tcp://[::1]:8786"),
        ("local:3", "local:3"),
    ],
)
def test_an_address_is_a_scheduler_or_workers_here(text, address):
    parsed = ClusterAddress.parse(text)
    assert str(parsed) == address
    assert ClusterAddress.parse(str(parsed)) == parsed
    assert bool(parsed.scheduler) != bool(parsed.workers)


@pytest.mark.parametrize(
    "text", ["", "local", "local:0", "local:x", "head", "head:", "head:0", "head:99999", "a b:1"]
)
def test_what_is_neither_is_refused_with_an_example(text):
    with pytest.raises(ValueError, match=r"expected HOST:PORT .*127\.0\.0\.1:8786.*local:1"):
        ClusterAddress.parse(text)
