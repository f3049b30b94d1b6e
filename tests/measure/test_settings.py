"""How calls find the caches, from what was asked."""

from __future__ import annotations

import json

import pytest

from pytest_ansorbench.measure.settings import DEFAULT_CACHES, CachesError, EngineSettings


@pytest.mark.parametrize(
    ("caches", "flush_cache_mb", "found", "flush_mb"),
    [
        (None, 0, DEFAULT_CACHES, 0),
        (None, 32, "cold", 32),
        ("warm", 0, "warm", 0),
        ("cold", 0, "cold", 64),
        ("cold", 32, "cold", 32),
        ("network", 0, "network", 0),
    ],
)
def test_caches_are_found_as_asked(caches, flush_cache_mb, found, flush_mb):
    settings = EngineSettings(caches=caches, flush_cache_mb=flush_cache_mb)
    assert (settings.found_caches, settings.flush_mb) == (found, flush_mb)
    conditions = json.loads(json.dumps(settings.conditions()))
    assert (conditions["caches"], conditions["flush_cache_mb"]) == (found, flush_mb)


@pytest.mark.parametrize("caches", ["warm", "network"])
def test_only_cold_caches_are_emptied(caches):
    with pytest.raises(CachesError, match=f"32 MB .* '{caches}'"):
        EngineSettings(caches=caches, flush_cache_mb=32)


def test_settings_that_measure_alike_are_alike():
    asked = [EngineSettings(flush_cache_mb=64), EngineSettings(caches="cold")]
    assert asked[0].conditions() == asked[1].conditions()


@pytest.mark.parametrize(
    ("recorded", "conditions"),
    [
        ({}, {}),
        ({"check": "all", "trials": 16}, {"check": "all"}),
        ({"caches": None}, {"caches": "warm"}),
        ({"caches": None, "flush_cache_mb": 0}, {"caches": "warm", "flush_cache_mb": 0}),
        ({"caches": None, "flush_cache_mb": 64}, {"caches": "cold", "flush_cache_mb": 64}),
        ({"caches": "cold", "flush_cache_mb": 0}, {"caches": "cold", "flush_cache_mb": 64}),
        ({"flush_cache_mb": 32}, {"flush_cache_mb": 32}),
        ({"cores": [0, 1]}, {"cores": [0, 1]}),
    ],
)
def test_recorded_settings_mean_what_they_meant(recorded, conditions):
    assert EngineSettings.conditions_of(recorded) == conditions


def test_what_is_recorded_comes_back():
    conditions = EngineSettings(check="all", caches="network", cores=(0, 1)).conditions()
    assert EngineSettings.conditions_of(conditions) == conditions
