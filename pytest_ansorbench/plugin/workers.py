"""pytest-xdist: results of its processes come together in the one that reports."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest

from pytest_ansorbench.codec import from_json, to_json
from pytest_ansorbench.records import CaseResult, Result, Shards, SuiteVerdict
from pytest_ansorbench.stats.changes import CaseChanges

_KEY: Final = "ansor_bench"


def is_worker(config: pytest.Config) -> bool:
    """Whether this is one of several processes that run tests."""
    return hasattr(config, "workerinput")


@dataclass(frozen=True)
class Handed:
    """What a process hands over when it ends.

    Attributes:
        results: Its cases.
        seeds: The repeats of each.
        changes: Changes of these since an earlier result.
        lost: Its cases without a result.
        suites: The verdicts over all cases, if it was the one that judged them.
        suite_changes: Changes of all cases together since an earlier result, likewise.
        shards: Which part of the session it runs; None for all of it.
        whole: All that it has measured, if it did; None if its results are of saved runs.
    """

    results: tuple[CaseResult, ...] = ()
    seeds: tuple[tuple[int, ...], ...] = ()
    changes: tuple[CaseChanges, ...] = ()
    lost: tuple[str, ...] = ()
    suites: tuple[SuiteVerdict, ...] = ()
    suite_changes: tuple[CaseChanges, ...] = ()
    shards: Shards | None = None
    whole: Result | None = None


def send(config: pytest.Config, handed: Handed) -> None:
    """Leave results for the reporting process; runs that were saved it has itself."""
    output: dict[str, str] = config.workeroutput  # type: ignore[attr-defined]
    without_runs = tuple(replace(result, runs=()) for result in handed.results)
    seeds = tuple(
        tuple(dict.fromkeys(run.seed for run in result.runs)) for result in handed.results
    )
    output[_KEY] = json.dumps(to_json(replace(handed, results=without_runs, seeds=seeds)))


def received(node: Any) -> Handed:
    """The results that a process left; none if it died before it could."""
    text = getattr(node, "workeroutput", {}).get(_KEY)
    return Handed() if text is None else from_json(Handed, json.loads(text))
