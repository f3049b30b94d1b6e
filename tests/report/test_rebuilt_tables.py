"""What the report on kernels made again shows."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.records.rebuilt_kernels import RECORDED
from pytest_ansorbench.report.rebuilt_tables import kernels_report
from pytest_ansorbench.report.render.terminal import Terminal
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.rebuilt_ratios import KernelLimits, judge_rebuilt
from tests import synthetic_kernels
from tests.synthetic import make_trace
from tests.synthetic_kernels import failed, kernel, rebuilt


def shown(kernels, limits=KernelLimits(0.97, 0.97)):  # noqa: B008 - frozen
    verdicts = judge_rebuilt(kernels, Criteria(), limits)
    return Terminal().render(kernels_report(kernels, verdicts))


def test_there_is_a_row_for_each_toolchain_and_one_for_all_kernels():
    text = shown(rebuilt([1.0, 0.8]))
    lines = text.splitlines()
    assert sum(line.startswith("case0 ") for line in lines) == 2
    assert sum(line.startswith("all kernels ") for line in lines) == 1
    assert "1 (ref)" in text and "12.3" in text and "0.5 " in text


def test_gates_that_do_not_hold_are_told_and_that_of_the_suite_always():
    text = shown(rebuilt([1.0, 0.8]))
    assert "case1, today against against: throughput ratio" in text
    assert "case0, today against" not in text
    assert "suite of 2 kernels, today against against" in text


@pytest.mark.parametrize(
    ("sets", "advice"),
    [
        (1, "1 process set; below 2 there is no interval"),
        (2, "2 process sets; more process sets narrow the interval"),
    ],
)
def test_repeats_of_kernels_are_sets_of_processes(monkeypatch, sets, advice):
    monkeypatch.setattr(synthetic_kernels, "SETS", sets)
    text = shown(rebuilt([0.97], scatter=0.1))
    assert text.count(f"undecided ({advice})") == 2


def test_what_failed_is_told_with_its_reason():
    fine = rebuilt([1.0])
    lost = kernel("lost", (fine.kernels[0].sides[0], failed("today", "its trace does not fit")))
    text = shown(dataclasses.replace(fine, kernels=(*fine.kernels, lost)))
    assert "lost, today: build-error: its trace does not fit" in text
    assert "lost, today against against: throughput ratio: nothing could be compared" in text


def test_versions_stand_beside_the_names():
    assert "against: Python 3.12.1, apache-tvm 0.27.0" in shown(rebuilt([1.0]))


def test_changes_stand_beside_the_names():
    kernels = rebuilt([1.0])
    today = {**kernels.toolchains["today"], "changes": {"target": {"mcpu": "x"}, "passes": {}}}
    changed = dataclasses.replace(kernels, toolchains={**kernels.toolchains, "today": today})
    assert "apache-tvm 0.27.0, mcpu=x" in shown(changed)


def test_recorded_latencies_without_the_machines_speed_are_warned_of():
    text = shown(rebuilt([1.0], names=(RECORDED, "today")))
    assert "\nwarning: the result does not say how fast the machine was" in text


@pytest.mark.parametrize("known", ["noise_then", "noise_now"])
def test_the_machines_speed_at_one_time_is_not_enough(known):
    kernels = rebuilt([1.0], names=(RECORDED, "today"))
    once = dataclasses.replace(kernels, **{known: (make_trace(2000),)})
    assert "the result does not say how fast the machine was" in shown(once)


def test_where_both_times_are_known_the_change_is_told():
    kernels = rebuilt([1.0], names=(RECORDED, "today"))
    trace = make_trace(2000)
    text = shown(dataclasses.replace(kernels, noise_then=(trace,), noise_now=(trace,)))
    assert "the machine now over then, by a fixed kernel: 1.00" in text


def test_tasks_of_a_network_are_numbered():
    kernels = rebuilt([1.0])
    task = dataclasses.replace(kernels.kernels[0], tasks=3, place=1)
    assert "case0#1" in shown(dataclasses.replace(kernels, kernels=(task,)))


def test_without_kernels_it_says_so():
    assert "no kernel was made" in shown(dataclasses.replace(rebuilt([1.0]), kernels=()))
