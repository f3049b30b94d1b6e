"""What results were measured under: caches, machines with other work, several machines."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.records import CaseResult, Checked, MachineState, TaskRecord
from pytest_ansorbench.report.conditions import (
    caches_lines,
    checked_lines,
    machine_warnings,
    progress_lines,
    space_lines,
)
from pytest_ansorbench.report.render.formats import RENDERERS
from pytest_ansorbench.report.tuning import tuning_report
from tests.report.rendered import lines_of
from tests.synthetic import CRITERIA, make_result, make_run, with_runs

QUIET = MachineState(0.02, 0.0, 1.5, 3000.0)
BUSY = MachineState(0.9, 0.0, 1.5, None, ("browser 80%", "updater 10%"))
STOLEN = MachineState(0.05, 0.3, None, None)


def case(*states):
    runs = [
        dataclasses.replace(make_run(strategy=name, seed=seed), before=before, after=after)
        for seed, (before, after) in enumerate(states)
        for name in ("default", "fast")
    ]
    return CaseResult("conv2d", ("default", "fast"), tuple(runs), ())


@pytest.mark.parametrize("states", [[(QUIET, QUIET)], [(None, None)], []])
def test_nothing_is_said_of_a_quiet_machine_or_an_unknown_one(states):
    assert lines_of(machine_warnings([case(*states)], {})) == []


def test_a_busy_machine_is_told_with_names_and_counted_once_per_observation():
    [warning] = lines_of(machine_warnings([case((QUIET, BUSY)), case((QUIET, QUIET))], {}))
    assert warning == (
        "warning: conv2d: the machine was busy at 1 of 2 observations, with up to 0.9 cores of "
        "other work (browser 80%, updater 10%); its times may be off"
    )


def test_time_taken_by_the_host_counts():
    [warning] = lines_of(machine_warnings([case((STOLEN, QUIET))], {}))
    assert "0.1 cores of other work and 0.3 cores taken by the host" in warning


NEAR, FAR = (dataclasses.replace(QUIET, exchanged_bytes_s=rate) for rate in (24.4e9, 8.1e9))


@pytest.mark.parametrize("states", [[(NEAR, NEAR)], [(FAR, FAR), (FAR, FAR)], [(FAR, QUIET)]])
def test_cores_that_stay_where_they_are_are_not_told(states):
    assert lines_of(machine_warnings([case(*states)], {})) == []


def test_cores_that_were_moved_are_told():
    [warning] = lines_of(machine_warnings([case((NEAR, FAR), (NEAR, QUIET))], {}))
    assert warning == (
        "warning: conv2d: its cores were farther apart at 1 of 3 observations: each read 8.1 GB/s "
        "of what another had written, elsewhere up to 24; kernels whose threads exchange data "
        "were slower"
    )


def test_a_report_on_tuning_tells_of_the_machine_as_well():
    [run, _] = case((NEAR, FAR)).runs
    tuned = CaseResult("conv2d", ("default",), (run,), ())
    told = RENDERERS["markdown"].render(tuning_report(make_result(tuned), "tune", (), ()))
    assert "its cores were farther apart at 1 of 2 observations" in told


def test_cores_of_several_machines_are_not_compared():
    spread = case((NEAR, NEAR), (FAR, FAR))
    runs = tuple(dataclasses.replace(run, machine=f"machine-{run.seed}") for run in spread.runs)
    [mixed] = lines_of(machine_warnings([dataclasses.replace(spread, runs=runs)], {}))
    assert "come from 2 machines" in mixed


def test_repeats_from_several_machines_are_told():
    spread = case((QUIET, QUIET), (QUIET, BUSY))
    runs = tuple(dataclasses.replace(run, machine=f"machine-{run.seed}") for run in spread.runs)
    busy, mixed = lines_of(machine_warnings([dataclasses.replace(spread, runs=runs)], {}))
    assert "busy at 1 of 4 observations" in busy
    assert mixed == (
        "warning: conv2d: its repeats come from 2 machines, so its seconds and GFLOP/s mix "
        "machines; its ratios do not, as they are taken within a repeat"
    )


def test_an_emulator_is_told():
    quiet = case((QUIET, QUIET))
    [fingerprint] = quiet.machines
    [warning] = lines_of(machine_warnings([quiet], {fingerprint: {"emulated": True}}))
    assert "conv2d: it was measured in an emulator" in warning
    for known in ({"emulated": False}, {}):
        assert lines_of(machine_warnings([quiet], {fingerprint: known})) == []


def test_warnings_have_the_tone_of_one():
    assert machine_warnings([case((QUIET, BUSY))], {}).tone == "warning"


@pytest.mark.parametrize(
    ("caches", "told"),
    [("warm", []), ("cold", ["caches: cold: "]), ("network", ["caches: network: "])],
)
def test_how_caches_were_found_is_told_unless_they_were_warm(caches, told):
    quiet = case((QUIET, QUIET), (QUIET, QUIET))
    lines = lines_of(caches_lines([with_runs(quiet, caches=caches)] * 2))
    assert len(lines) == len(told)
    assert all(line.startswith(words) for line, words in zip(lines, told, strict=True))


@pytest.mark.parametrize(
    ("checked", "told"),
    [
        (None, []),
        (Checked("", 1), []),
        (Checked("[-1, 1)", 1), []),
        (Checked("[-1, 1)", 2), ["checked: conv2d: 2 outputs on inputs from [-1, 1)"]),
        (Checked("mine.npz", 1), ["checked: conv2d: 1 output on inputs from mine.npz"]),
        (Checked("", 0), ["checked: conv2d: 0 outputs"]),
    ],
)
def test_what_was_compared_is_told_where_it_is_not_as_usual(checked, told):
    quiet = case((QUIET, QUIET), (QUIET, QUIET))
    assert lines_of(checked_lines([with_runs(quiet, checked=checked)])) == told


@pytest.mark.parametrize(
    ("sketches", "told"),
    [
        ((("a", "b"), ("c",)), []),
        ((("b", "a"), ()), []),
        (((), ()), []),
        ((("a",), ("c",)), ["2 of the 3 sketches of default and 0 that it lacks"]),
        ((("d",), ("c",)), ["1 of the 3 sketches of default and 1 that it lacks"]),
        ((("d",), ()), ["0 of the 2 sketches of default and 1 that it lacks"]),
    ],
)
def test_sketches_that_the_reference_had_not_are_told(sketches, told):
    def tasks(*of_tasks):
        return tuple(TaskRecord(f"task{at}", 1, 1, of) for at, of in enumerate(of_tasks))

    searched = {"default": tasks(("a", "b"), ("c",)), "fast": tasks(*sketches)}
    quiet = case((QUIET, QUIET), (QUIET, QUIET))
    runs = tuple(dataclasses.replace(run, tasks=searched[run.strategy]) for run in quiet.runs)
    lines = lines_of(space_lines([dataclasses.replace(quiet, runs=runs)]))
    assert lines == [f"space: conv2d: fast chose from {words}" for words in told]


def test_which_progress_counts_is_told_where_there_is_a_choice():
    believed = dataclasses.replace(CRITERIA, progress="believed")
    assert lines_of(progress_lines([case((QUIET, QUIET))], CRITERIA)) == []
    run = dataclasses.replace(make_run(), leads=())
    measured_again = CaseResult("conv2d", ("default",), (run,), ())
    [confirmed] = lines_of(progress_lines([measured_again], CRITERIA))
    assert confirmed.startswith("progress: each program that led a search was measured again")
    [seen] = lines_of(progress_lines([measured_again], believed))
    assert seen.endswith("counts as fast as the search saw it")


def test_a_case_with_runs_that_were_not_measured_again_counts_what_they_saw():
    confirmed, half = (dataclasses.replace(make_run(name), leads=()) for name in ("conv2d", "half"))
    cases = [
        CaseResult("conv2d", ("default",), (confirmed,), ()),
        CaseResult("half", ("default",), (half, make_run("half", seed=1)), ()),
    ]
    usual, other = lines_of(progress_lines(cases, CRITERIA))
    assert usual.startswith("progress: each program that led a search was measured again")
    assert other.startswith("progress: half: each program that led a search counts as fast as")
    assert len(lines_of(progress_lines(cases[1:], CRITERIA))) == 1
