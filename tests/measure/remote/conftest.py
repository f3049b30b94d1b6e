"""A tracker with two devices of one kind, for all tests of this folder."""

from __future__ import annotations

import pytest

from tests.measure.remote import devices


@pytest.fixture(scope="package")
def tracker():
    with devices.tracker() as running:
        yield running


@pytest.fixture(scope="package")
def both(tracker):
    with devices.servers(tracker, 2) as running:
        yield tuple(running)
