"""What kernels are compared with, in words and columns."""

from __future__ import annotations

import dataclasses

from pytest_ansorbench.records import Bandwidth, ReferenceKernel
from pytest_ansorbench.report.columns import DEFAULT_COLUMNS, usual_columns
from pytest_ansorbench.report.sections import Lines
from pytest_ansorbench.report.table import Layout, case_table
from pytest_ansorbench.report.yardsticks import peak_lines, yardstick_lines
from tests.report.rendered import column, lines_of, rendered, simple_cells
from tests.synthetic import PEAK, held_against, make_case_result, make_yardsticks

MISSING = ReferenceKernel("numpy", "2.4", (), "numpy has no kernel of Softmax")


def test_what_was_measured_has_columns() -> None:
    after = DEFAULT_COLUMNS.index("throughput") + 1
    keys = usual_columns([make_case_result(), held_against(kernels=(MISSING,))])
    assert keys == (*DEFAULT_COLUMNS[:after], "of_peak", "over_numpy", *DEFAULT_COLUMNS[after:])
    assert usual_columns([make_case_result()]) == DEFAULT_COLUMNS
    [table] = case_table([held_against()]).blocks
    cells = simple_cells(rendered(table))
    assert column(cells, "of peak") == ["1%", "1%", "-"]
    assert column(cells, "over torch") == ["2.00", "2.00", "-"]


def test_columns_that_were_asked_for_are_those() -> None:
    [table] = case_table([held_against()], Layout(("case", "over_numpy"))).blocks
    assert simple_cells(rendered(table)) == [
        ["case", "over numpy"],
        ["conv2d", "n/a"],
        ["conv2d", "n/a"],
    ]


def test_a_case_tells_its_roof_and_its_references() -> None:
    case = held_against(kernels=(*make_yardsticks().kernels, MISSING))
    assert lines_of(Lines(yardstick_lines(case))) == [
        "at most 100 GFLOP/s on this machine, bound by computing",
        "torch 2.9: 0.50 GFLOP/s",
        "numpy 2.4: not timed: numpy has no kernel of Softmax",
    ]
    moving = held_against(argument_bytes=10**10, kernels=())
    assert lines_of(Lines(yardstick_lines(moving))) == [
        "at most 1.00 GFLOP/s on this machine, bound by moving its arguments"
    ]


def test_a_machine_s_peak_is_told_once() -> None:
    told = "peak: 100 GFLOP/s of multiply-adds; reads, GB/s: 0.01 MB L1 50.0, 1 MB memory 10.0"
    assert lines_of(peak_lines([held_against(), held_against()])) == [told]
    assert lines_of(peak_lines([make_case_result(), held_against(peak=None)])) == []


def test_a_peak_of_bytes_is_told_apart() -> None:
    of_bytes = held_against(peak=dataclasses.replace(PEAK, operands="int8"))
    floats, whole = lines_of(peak_lines([held_against(), of_bytes]))
    assert whole == floats.replace("multiply-adds;", "multiply-adds of bytes;")


def test_of_each_level_the_fastest_size_is_told_and_the_largest_of_all() -> None:
    sizes = [("L1", 1, 9.0), ("L2", 2, 7.0), ("L2", 3, 8.0), ("L2", 4, 2.0)]
    peak = dataclasses.replace(
        PEAK, bandwidths=tuple(Bandwidth(level, mb * 10**6, speed) for level, mb, speed in sizes)
    )
    [line] = lines_of(peak_lines([held_against(peak=peak)]))
    assert line.endswith("GB/s: 1 MB L1 9.00, 3 MB L2 8.00, 4 MB L2 2.00")
    unknown = dataclasses.replace(
        peak, bandwidths=tuple(dataclasses.replace(one, level="") for one in peak.bandwidths)
    )
    [line] = lines_of(peak_lines([held_against(peak=unknown)]))
    assert line.endswith("GB/s: 1 MB 9.00, 2 MB 7.00, 3 MB 8.00, 4 MB 2.00")


def test_peaks_of_several_machines_are_told_apart() -> None:
    other = dataclasses.replace(make_yardsticks(), machine="another")
    case = dataclasses.replace(make_case_result(), yardsticks=(make_yardsticks(), other))
    lines = lines_of(peak_lines([case]))
    assert len(lines) == 2
    assert lines[1].startswith("peak: another: 100 GFLOP/s")
