"""Recorded results, read and judged once however many commands show them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_ansorbench import storage
from pytest_ansorbench.plugin import saved_runs, suite
from pytest_ansorbench.records import CaseResult, Result
from pytest_ansorbench.stats import judging
from pytest_ansorbench.storage import numbered
from tests.pages import REPOSITORY

RESULTS = REPOSITORY / "docs" / "results"


@contextmanager
def judged_once() -> Iterator[None]:
    """Commands that are called in this block share what they read, and what they think of it."""
    judge_result = judging.judge_result
    judged: dict[object, judging.JudgedResult] = {}

    def judge(result: Result) -> judging.JudgedResult:
        # The cases are those that were read, also where a command has changed a setting.
        key = id(result.cases), repr(result.settings)
        if key not in judged:
            judged[key] = judge_result(result)
        return judged[key]

    with pytest.MonkeyPatch.context() as patch:
        read_result = functools.cache(storage.read_result)
        for reader in (storage, numbered):
            patch.setattr(reader, "read_result", read_result)
        patch.setattr(judging, "judge_result", judge)
        yield


@contextmanager
def replayed_once() -> Iterator[None]:
    """Sessions that replay in this block share what they read, and what they think of it."""

    def content(path: Path) -> object:
        # What is no file, reading tells; that is an error, which nobody keeps.
        return path.suffix, path.read_bytes() if path.is_file() else path

    def arms(strategies, runs, *held_to, control, family) -> object:
        return (*strategies,), (*map(id, runs),), repr(held_to), control, family

    def cases(results, *held_to, family, lost) -> object:
        return (*map(of_case, results),), repr(held_to), family, lost

    def of_case(result: CaseResult) -> object:
        records = (*result.runs, *result.verdicts)
        return result.case, result.strategies, result.control, (*map(id, records),)

    with pytest.MonkeyPatch.context() as patch:
        for module, name, key in (
            (saved_runs, "read_result", content),
            (saved_runs, "judge_arms", arms),
            (suite, "judge_suites", cases),
        ):
            patch.setattr(module, name, _once(getattr(module, name), key))
        yield


def _once(make: Callable[..., Any], key_of: Callable[..., object]) -> Callable[..., Any]:
    """The same function, which keeps what it makes of arguments under their key."""
    made: dict[object, Any] = {}

    def kept(*given: Any, **named: Any) -> Any:
        key = key_of(*given, **named)
        if key not in made:
            made[key] = make(*given, **named), given  # whose ids are no others' while it is here
        return made[key][0]

    return kept
