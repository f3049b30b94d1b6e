"""The details of a case, as -v shows them."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.records import (
    CaseResult,
    LastRanking,
    Remeasurement,
    TaskRanking,
    TaskRecord,
)
from pytest_ansorbench.report.details import case_details, schedules
from pytest_ansorbench.stats.distribution import case_ways
from pytest_ansorbench.winners import Script
from pytest_ansorbench.winners.winner import Winner
from tests.report.rendered import lines_of
from tests.synthetic import CRITERIA, make_case_result, make_run


def described(result: CaseResult) -> tuple[str, ...]:
    """The details of a case, line by line."""
    return tuple(lines_of(case_details(result, case_ways(result, CRITERIA))))


def test_phases_failures_and_gates_of_every_arm() -> None:
    reference = [make_run(seed=s, final=1.0) for s in range(4)]
    fast = [
        make_run(strategy="fast", seed=s, latencies=[None, 1.0], final=1.0, stopped="interrupted")
        for s in range(4)
    ]
    lines = described(make_case_result(reference=reference, challengers={"fast": fast}))
    assert lines == (
        "conv2d",
        "  target 0.99 GFLOP/s",
        "  default",
        "    4.00 s a run over 4 runs: propose 2.00, build 1.00, run 0.50, learn 0.50",
        "    no failures in 16 trials",
        "  fast",
        "    2.00 s a run over 4 runs: propose 1.00, build 0.50, run 0.25, learn 0.25",
        "    4 failures in 8 trials: 4 run-error",
        "    search ratio S = 0.50 [0.50, 0.50] is within the limit 0.75: holds",
        "    throughput ratio = 1.00 [1.00, 1.00] is within the limit 0.98: holds",
        "    to 50% of the reference's gain, 0.62 GFLOP/s: 2.0 s against 4.0 s, S 0.50 "
        "[0.50, 0.50]",
        "    to 80% of the reference's gain, 0.842 GFLOP/s: 2.0 s against 4.0 s, S 0.50 "
        "[0.50, 0.50]",
        "    to 95% of the reference's gain, 0.953 GFLOP/s: 2.0 s against 4.0 s, S 0.50 "
        "[0.50, 0.50]",
        "    to 100% of the reference's gain, 0.99 GFLOP/s: 2.0 s against 4.0 s, S 0.50 "
        "[0.50, 0.50]",
        "    seed 0, stopped after 2 of 2 trials: interrupted",
        "    seed 1, stopped after 2 of 2 trials: interrupted",
        "    seed 2, stopped after 2 of 2 trials: interrupted",
        "    seed 3, stopped after 2 of 2 trials: interrupted",
    )


def test_a_run_that_stopped_before_its_time_tells_seconds() -> None:
    run = dataclasses.replace(make_run(stopped="interrupted"), run_time_s=60.0)
    lines = described(CaseResult("conv2d", ("default",), (run,), ()))
    assert lines[-1] == "    seed 0, stopped after 4 of 60 s: interrupted"


def test_a_winner_that_failed_is_told() -> None:
    run = dataclasses.replace(make_run(), final=Remeasurement(3, "run-timeout", (), "too slow"))
    lines = described(CaseResult("conv2d", ("default",), (run,), ()))
    assert lines[0] == "conv2d"
    assert lines[-1] == "    seed 0, winner not measured again: run-timeout too slow"


def test_an_arm_without_runs_is_told() -> None:
    assert described(CaseResult("c", ("default",), (), ())) == (
        "c",
        "  default",
        "    no run",
    )


def test_what_trials_and_processes_took_is_told_where_it_was_recorded() -> None:
    run = make_run(final=1.0)
    trials = [
        dataclasses.replace(trial, build_s=0.25, run_s=0.125, peak_memory_mb=100.0 + trial.index)
        for trial in run.trials
    ]
    first, *others = run.rounds
    run = dataclasses.replace(
        run,
        trials=tuple(trials),
        rounds=(dataclasses.replace(first, restarts=1), *others),
        final=Remeasurement(3, "ok", (1.0, 1.1, 0.9)),
    )
    lines = described(CaseResult("conv2d", ("default",), (run,), ()))
    assert lines[3:5] == (
        "    a trial: 0.250 s to compile, 0.125 s to run, medians; peak memory 103 MB; "
        "1 restart of the fork server",
        "    samples of the final kernels vary by 10.0%, at most 10.0% "
        "(standard deviation over mean)",
    )


def test_details_name_the_case_that_they_are_about() -> None:
    case = make_case_result("matmul")
    section = case_details(case, case_ways(case, CRITERIA))
    assert (section.key, section.subject) == ("details", "matmul")


def test_what_confirming_took_is_told_once_a_repeat() -> None:
    leads = (Remeasurement(3, "ok", (1.0,), "", (0,), (0,)),) * 2
    runs = [
        dataclasses.replace(make_run(strategy=name, seed=seed), leads=leads, leads_s=0.5)
        for name in ("default", "fast")
        for seed in range(2)
    ]
    result = CaseResult("conv2d", ("default", "fast"), tuple(runs), ())
    assert (
        "    4 leads measured again; for all arms that took 1.0 s, 6% of the search time"
        in described(result)
    )


def test_what_last_checks_took_and_changed_is_told() -> None:
    rivals = tuple(Remeasurement(trial, "ok", (1.0,), "", (0,), (0,)) for trial in (3, 2))
    runs = [
        dataclasses.replace(
            make_run(seed=seed),
            last_check=LastRanking(0.5, (TaskRanking(0, rivals, crowned),)),
        )
        for seed, crowned in enumerate((3, 2, 3))
    ]
    assert (
        "    last check: 0.50 s a run, which count; another winner than by the trials in 1/3 of "
        "its rankings"
    ) in described(CaseResult("conv2d", ("default",), tuple(runs), ()))


@pytest.mark.parametrize(("tasks", "named"), [(1, False), (3, True)])
def test_a_schedule_of_several_tasks_names_its_own(tasks: int, named: bool) -> None:
    winner = Winner(
        *("case", "fast", 7, TaskRecord("fused_matmul", 1, 10**9, ()), 0, tasks),
        *("", 1e-3, "", "", "warm"),
    )
    [_, heading, *_] = lines_of(schedules("case", [Script(winner, "", "")]))
    assert ("task fused_matmul" in heading) == named
    assert heading.startswith("fast") and heading.endswith("found with seed 7")
