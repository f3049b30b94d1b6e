"""A network's tasks in a report."""

from __future__ import annotations

import dataclasses

from pytest_ansorbench.records import Remeasurement, TaskRecord
from pytest_ansorbench.report.tasks import network_blocks
from tests.report.rendered import lines_of
from tests.synthetic import make_run


def described(*runs):
    return lines_of(*network_blocks(runs, depth=0))


def network_run(latencies=(0.004, 0.002, 0.001, 0.003), *, final=0.009):
    """Two tasks, two trials a round, the rounds of the tasks in turn."""
    run = make_run(latencies=latencies)
    tasks = (TaskRecord("conv", 3, 10**9, ("a",)), TaskRecord("pool", 1, 10**6, ("b",)))
    rounds = tuple(
        dataclasses.replace(round_, task=index % 2) for index, round_ in enumerate(run.rounds)
    )
    measured = None if final is None else Remeasurement(None, "ok", (final,))
    return dataclasses.replace(run, tasks=tasks, rounds=rounds, final=measured)


def test_an_operator_has_no_task_table():
    assert described(make_run()) == []


def test_tasks_are_listed_with_their_share():
    lines = described(network_run())
    # The first task's best is 2 ms, called three times; the second's 1 ms.
    assert lines[0] == (
        "measured 9.000 ms end to end, estimated 7.000 ms from its tasks: off by -22.2%, medians"
    )
    first, second = (line.split() for line in lines[-2:])
    assert first == ["0", "conv", "3", "1000.00", "2.0000", "500.0", "85.7%", "2"]
    assert second == ["1", "pool", "1", "1.00", "1.0000", "1.0", "14.3%", "2"]


def test_tasks_without_a_valid_schedule_are_named():
    lines = described(network_run((None, None, 0.001, 0.003)))
    assert lines[0] == "1 of 2 tasks without a valid schedule in some run: conv"
    assert lines[-2].split() == ["0", "conv", "3", "1000.00", "-", "-", "-", "2"]


def test_medians_are_over_runs_and_trials_of_all():
    runs = [network_run(), network_run((0.008, 0.006, 0.001, 0.001))]
    first = described(*runs)[-2].split()
    assert first[4] == "4.0000" and first[-1] == "4"
