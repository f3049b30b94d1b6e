"""Recorded results, read and judged once however many commands show them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pytest_ansorbench import storage
from pytest_ansorbench.records import Result
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
