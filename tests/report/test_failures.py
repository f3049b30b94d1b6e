"""What is said of arms whose kernels or winners have failed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_ansorbench.records import Remeasurement, Run, Trial
from pytest_ansorbench.report.failures import unjudged_lines, winner_warnings
from tests.synthetic import make_case_result, make_run


def failed(index: int, status: str, error: str) -> Trial:
    return Trial(1 + index // 2, index, status, (), 0, 1.0, error)


def of(**changes: object) -> Run:
    return replace(make_run("a", final=1.0), **changes)


TWO_CAUSES = of(
    trials=(
        failed(0, "build-error", "no such thing"),
        failed(1, "run-timeout", "no result after 30 s"),
        failed(2, "build-error", "another"),
        failed(3, "wrong-result", ""),
    ),
    final=Remeasurement(None, "run-error", (), "no valid trial"),
)
NONE = of(trials=(), final=None)


@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        (
            TWO_CAUSES,
            "default has no valid kernel: 2 of 4 trials build-error (no such thing); 1 of 4 trials "
            "run-timeout (no result after 30 s); 1 of 4 trials wrong-result",
        ),
        (
            NONE,
            "default has no valid kernel: no trial was made (its budget ended before the first)",
        ),
        (
            replace(NONE, stopped="no candidates are left"),
            "default has no valid kernel: no trial was made (no candidates are left)",
        ),
        (
            of(final=Remeasurement(0, "run-error", (), "worker died of SIGSEGV")),
            "default has no winner that is right: 1 of 1 winner run-error (worker died of SIGSEGV)",
        ),
    ],
    ids=["causes", "no-trial", "stopped", "winner"],
)
def test_what_cannot_be_judged_is_told_by_cause_with_the_first_message(run, sentence):
    case = make_case_result("a", [run], {})
    assert unjudged_lines([case]).sentences == (f"a: {sentence}",)
    assert winner_warnings([case]).sentences == ()


@pytest.mark.parametrize("final", [None, 1.0])
@pytest.mark.parametrize("latencies", [(None, 2.0), (1.0, 2.0)])
def test_one_valid_trial_of_any_run_is_enough(latencies, final):
    last = make_run("a", seed=1, latencies=latencies, final=final)
    case = make_case_result("a", [replace(TWO_CAUSES, seed=0), last], {})
    assert unjudged_lines([case]).sentences == ()
    assert winner_warnings([case]).sentences == (
        "warning: a: default has lost winners, which count as throughput 0: 1 of 2 winners "
        "run-error (no valid trial)",
    )
