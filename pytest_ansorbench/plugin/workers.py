"""pytest-xdist: results of its processes come together in the one that reports."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from pytest_ansorbench.codec import from_json, to_json
from pytest_ansorbench.records import CaseResult, Result, Shards, SuiteVerdict
from pytest_ansorbench.stats.changes import CaseChanges

_KEY: Final = "ansor_bench"


def is_worker(config: pytest.Config) -> bool:
    """Whether this is one of several processes that run tests."""
    return hasattr(config, "workerinput")


def in_turn(config: pytest.Config, tests: int) -> int:
    """How many of some tests this process runs, one after the other: its even share."""
    return -(-tests // int(getattr(config, "workerinput", {}).get("workercount", 1)))


@dataclass(frozen=True)
class Handed:
    """What a process hands over when it ends."""

    whole: Result | None = None  # all that it has measured; None if its results are of saved runs
    journal: str = ""  # name of its journal; empty if it has none
    is_on_record: bool = True  # whether that has all that it has measured
    is_whole: bool = True  # whether none of its tests was cut short
    results: tuple[CaseResult, ...] = ()  # its cases without their runs, if these were saved
    seeds: tuple[tuple[int, ...], ...] = ()  # the repeats of each of these
    changes: tuple[CaseChanges, ...] = ()
    lost: tuple[str, ...] = ()
    suites: tuple[SuiteVerdict, ...] = ()  # if it was the one that judged all cases together
    suite_changes: tuple[CaseChanges, ...] = ()  # likewise
    shards: Shards | None = None  # which part of the session it runs; None for all of it
    notes: tuple[str, ...] = ()  # lines for the end of the summary
    unasked: Mapping[str, Any] = field(default_factory=dict)  # how many tests lack which gates


def send(config: pytest.Config, handed: Handed) -> None:
    """Leave results for the reporting process."""
    output: dict[str, str] = config.workeroutput  # type: ignore[attr-defined]
    output[_KEY] = json.dumps(to_json(handed))


def received(node: Any) -> Handed | None:
    """The results that a process left; None if it died before it could."""
    text = getattr(node, "workeroutput", {}).get(_KEY)
    return None if text is None else from_json(Handed, json.loads(text))
