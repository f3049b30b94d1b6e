"""The machine's noise in words."""

from __future__ import annotations

import dataclasses
import math

import pytest

from pytest_ansorbench.report.build import changes_report, result_report
from pytest_ansorbench.report.noise_notes import (
    noise_changes,
    noise_details,
    noise_lines,
    noise_warnings,
)
from tests.report.rendered import lines_of
from tests.synthetic import make_case_result, make_judged, make_noise

QUIET = {"scatter": 0.002, "noise": 0.002, "memory_s": 0.05}
NOISY = {"scatter": 0.12, "noise": 0.01, "memory_s": 0.2}
START, END = make_noise("start", **QUIET), make_noise("end", **QUIET)
NOISY_END = make_noise("end", **NOISY)


@pytest.mark.parametrize("noise", [(), (START,), (START, END), (make_noise(), make_noise("end"))])
def test_nothing_is_said_of_a_steady_machine_or_an_unknown_one(noise):
    assert lines_of(noise_lines(noise), noise_warnings(noise)) == []


def test_a_noisy_machine_is_told_at_its_worse_moment():
    [line] = lines_of(noise_lines((START, NOISY_END)))
    assert line == (
        "noise: a kernel timed for 3 ms scatters by 11%, a disturbance lasts 0.1 s; within 1.8 s "
        "ratios side by side are good to 0.3%, levels to 7%"
    )


def test_with_details_every_moment_is_told():
    start, end = lines_of(noise_details((START, NOISY_END)))
    assert start.startswith("noise at the start: a kernel timed for 3 ms scatters by 0.")
    assert end.startswith("noise at the end: a kernel timed for 3 ms scatters by 11%, ")
    assert "; of it is left 0.9" in end
    assert " after 0.003 s, 0.9" in end
    assert " after 0.3 s" in end


def test_without_noise_nothing_lasts():
    [line] = lines_of(noise_details((make_noise(),)))
    assert line == (
        "noise at the start: a kernel timed for 3 ms scatters by 0%; within 1.8 s ratios side by "
        "side are good to 0%, levels to 0%"
    )


def test_noise_that_outlasts_the_look_is_told_as_that():
    latencies_s = tuple(math.exp(math.cos(math.pi * place / 600)) for place in range(600))
    trace = dataclasses.replace(START.trace, latencies_s=latencies_s)
    [line] = lines_of(noise_details((dataclasses.replace(START, trace=trace),)))
    assert "a disturbance lasts longer than 0.5 s" in line


def test_what_was_seen_too_briefly_is_not_told():
    assert lines_of(noise_details((make_noise(slices=4, scatter=0.5),))) == []


def test_an_end_that_is_not_like_the_start_is_told():
    [warning] = lines_of(noise_warnings((START, NOISY_END)))
    assert warning == (
        "warning: the machine was not as steady all the time: kernels scattered by 0.27% at the "
        "start and by 11% at the end"
    )
    slower = make_noise("end", level_s=1.3e-4)
    [warning] = lines_of(noise_warnings((make_noise(), slower)))
    assert warning == (
        "warning: the machine was not as fast all the time: the latency of one kernel changed by "
        "+30.0% from the start to the end"
    )
    assert noise_warnings((START, NOISY_END)).tone == "warning"


@pytest.mark.parametrize(
    "end",
    [
        make_noise("end", scatter=0.02, memory_s=0.05),  # ten times the start's, and still little
        make_noise("end", level_s=1.05e-4, **QUIET),
    ],
)
def test_small_differences_are_not_told(end):
    assert lines_of(noise_warnings((START, end))) == []


def test_several_machines_are_told_apart():
    elsewhere = make_noise("start", machine="elsewhere", **NOISY)
    [line] = lines_of(noise_lines((START, END, elsewhere)))
    assert line.startswith("noise: on elsewhere, a kernel timed for 3 ms scatters by 11%")
    assert lines_of(noise_warnings((START, elsewhere))) == []


def test_a_comparison_tells_a_machine_that_was_much_noisier_once():
    [line] = lines_of(noise_changes((START, NOISY_END), (START, END)))
    assert line.startswith(
        "warning: the machine was much noisier then: kernels scattered by 11% then"
    )
    [line] = lines_of(noise_changes((START,), (NOISY_END,)))
    assert line.startswith("warning: the machine was much noisier now: ")
    [line] = lines_of(noise_changes((START,), (make_noise(level_s=0.8e-4),)))
    assert line == (
        "warning: the machine was not as fast both times: the latency of one kernel changed by "
        "-20.0%"
    )


def test_machines_that_are_not_the_same_are_not_compared():
    elsewhere = make_noise(machine="elsewhere", **NOISY)
    assert lines_of(noise_changes((START,), (elsewhere,)), noise_changes((), (NOISY_END,))) == []


def test_reports_have_it_below_the_table():
    judged = make_judged(make_case_result(), noise=(START, NOISY_END))
    text = lines_of(*result_report(judged).sections)
    assert [line.split(":")[0] for line in text[-2:]] == ["noise", "warning"]
    detailed = lines_of(*result_report(judged, detailed=True).sections)
    assert sum(line.startswith("noise at the ") for line in detailed) == 2
    compared = changes_report([], "--any", noise_before=(START,), noise_after=(NOISY_END,))
    assert lines_of(*compared.sections)[-1].startswith("warning: the machine was much noisier now")
