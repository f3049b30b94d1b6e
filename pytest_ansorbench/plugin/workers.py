"""pytest-xdist: results of its processes come together in the one that reports."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from pytest_ansorbench.codec import from_json, to_json
from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.stats.changes import CaseChanges

_KEY: Final = "ansor_bench"


def is_worker(config: pytest.Config) -> bool:
    """Whether this is one of several processes that run tests."""
    return hasattr(config, "workerinput")


def send(
    config: pytest.Config, results: Sequence[CaseResult], changes: Sequence[CaseChanges]
) -> None:
    """Leave results for the reporting process; their runs it has itself."""
    output: dict[str, str] = config.workeroutput  # type: ignore[attr-defined]
    output[_KEY] = json.dumps(
        {
            "results": [to_json(replace(result, runs=())) for result in results],
            "changes": [to_json(change) for change in changes],
        }
    )


def received(node: Any) -> tuple[list[CaseResult], list[CaseChanges]]:
    """The results that a process left; none if it died before it could."""
    text = getattr(node, "workeroutput", {}).get(_KEY)
    if text is None:
        return [], []
    data = json.loads(text)
    return (
        [from_json(CaseResult, result) for result in data["results"]],
        [from_json(CaseChanges, change) for change in data["changes"]],
    )
