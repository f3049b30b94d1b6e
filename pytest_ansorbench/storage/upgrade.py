"""Results of older schema versions, brought up to the newest: what they lack is `None`."""

from __future__ import annotations

from typing import Any

from pytest_ansorbench.records import SCHEMA_VERSION


def upgrade(data: dict[str, Any]) -> None:
    """Bring a result, as parsed from JSON, to the newest schema version, in place.

    Version 2 added per trial `build_s`, `run_s` and `peak_memory_mb`, per round `restarts`,
    per run `before` and `after`. Whatever does not look like a result is left for the codec
    to refuse.

    Args:
        data: The result, of a version from 1 to `SCHEMA_VERSION`.
    """
    if data["schema_version"] == 1:
        for run in _items(data, "cases", "runs"):
            run.update(before=None, after=None)
            for trial in _items(run, "trials"):
                trial.update(build_s=None, run_s=None, peak_memory_mb=None)
            for each in _items(run, "rounds"):
                each["restarts"] = 0
    data["schema_version"] = SCHEMA_VERSION


def _items(record: dict[str, Any], *path: str) -> list[dict[str, Any]]:
    """The objects in the lists at a path, lists within lists."""
    found = [record]
    for key in path:
        lists = [each.get(key) for each in found]
        found = [x for one in lists if isinstance(one, list) for x in one if isinstance(x, dict)]
    return found
