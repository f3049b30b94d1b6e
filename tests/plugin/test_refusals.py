"""Errors from below, said with the options that they are about."""

from __future__ import annotations

import pytest

from pytest_ansorbench.budget import BudgetError, Trials
from pytest_ansorbench.environment import MisfitError
from pytest_ansorbench.options.refusals import in_options
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.storage import MissingResultError, StorageError


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            BudgetError(Trials(100), 8, 23),
            "bad --ansor-trials 100: expected at least a round of 8 for each of 23 tasks, e.g. 184 "
            "or 8/task; or make rounds smaller with --ansor-round",
        ),
        (MisfitError("target", "cuda", "only CPUs"), "bad --ansor-target 'cuda': only CPUs"),
        (MisfitError("cores", "9", "expected 0"), "bad --ansor-cores '9': expected 0"),
        (MisfitError("variant", "x:a=1", "no a"), "bad --ansor-variant 'x:a=1': no a"),
        (
            ResumeError("x was measured with trials 8 so far, and now has 16"),
            "bad --ansor-resume: x was measured with trials 8 so far, and now has 16; give the "
            "same settings, or start anew without --ansor-resume",
        ),
        (
            MissingResultError("bad result 'main': expected a name"),
            "bad result 'main': expected a name; --ansor-json and --ansor-save write one",
        ),
        (StorageError("bad journal 'x'"), "bad journal 'x'"),
    ],
)
def test_an_error_names_the_options_that_cause_and_mend_it(error, message):
    assert in_options(error) == message
