"""Warm engines with other settings, shared by tests that kill none of their processes."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.local.engine import LocalEngine
from pytest_ansorbench.measure.settings import EngineSettings


@pytest.fixture(scope="package")
def cold():
    """Caches are emptied before each call."""
    with LocalEngine(resolve_target(None), EngineSettings(flush_cache_mb=8)) as engine:
        yield engine


@pytest.fixture(scope="package")
def in_network():
    """Caches are as the network around a kernel leaves them; and all outputs are checked."""
    settings = EngineSettings(caches="network", check="all")
    with LocalEngine(resolve_target(None), settings) as engine:
        yield engine


@pytest.fixture
def patience(engine, monkeypatch):
    """A run has a second."""
    settings = dataclasses.replace(engine.runner._settings, run_timeout_s=1)
    monkeypatch.setattr(engine.runner, "_settings", settings)
