"""Engines whose latencies are made up, shared by all tests that do not ask how one measures."""

from __future__ import annotations

import pytest

from tests.fast_engine import FastEngine


@pytest.fixture(scope="session")
def fast_engine(target):
    with FastEngine(target) as started:
        yield started


@pytest.fixture(scope="session")
def unbuilding_engine(target):
    """It takes every program for right, and compiles none."""
    with FastEngine(target, compiles=False) as started:
        yield started
