"""How arms compare with other libraries, in words, columns and curves."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from pytest_ansorbench.records import CaseResult, Peer
from pytest_ansorbench.report.columns import usual_columns
from pytest_ansorbench.report.peers import peer_lines
from pytest_ansorbench.report.table import case_table
from pytest_ansorbench.report.yardsticks import levels, yardstick_lines
from tests.report.rendered import column, lines_of, rendered, simple_cells
from tests.synthetic import make_case_result, make_peer, named, with_runs

FAILED = make_peer("openvino", error="openvino is not installed")


def beside(*peers: Peer) -> CaseResult:
    return with_runs(make_case_result(), peers=peers)


def lines(*cases: CaseResult) -> Sequence[str]:
    return lines_of(peer_lines(cases))


def test_a_library_has_a_sentence_a_column_and_a_line() -> None:
    case = beside(make_peer("onnxruntime", 2.0), FAILED)
    assert lines(case) == [
        "conv2d: default 2.00, fast 2.00 times as fast as onnxruntime 1.2",
        "openvino was not measured in conv2d: openvino is not installed",
    ]
    assert {"over_onnxruntime", "over_openvino"} <= {*usual_columns([case])}
    [table] = case_table([case]).blocks
    cells = simple_cells(rendered(table))
    assert column(cells, "over onnxruntime") == ["2.00", "2.00"]
    assert column(cells, "over openvino") == ["n/a", "n/a"]
    assert [level.label for level in levels(case)] == ["target", "onnxruntime"]
    assert yardstick_lines(case) == (
        "onnxruntime 1.2: 0.50 GFLOP/s",
        "openvino 1.2: not timed: openvino is not installed",
    )


def test_many_cases_have_one_sentence_for_a_library() -> None:
    cases = [named(beside(make_peer("torch", 2.0), FAILED), f"case{i}") for i in range(7)]
    slow = named(beside(make_peer("torch", 0.5)), "slow")
    names = ", ".join(case.case for case in cases)
    assert lines(*cases, slow) == [
        "8 cases: default 1.68 (0.50 to 2.00), fast 1.68 (0.50 to 2.00) times as fast as torch, "
        "geometric means",
        f"openvino was not measured in {names}: openvino is not installed",
    ]
    assert lines(make_case_result()) == []


def test_a_library_that_failed_in_some_repeats_was_measured_in_the_others() -> None:
    case = beside(make_peer("openvino", 2.0))
    runs = tuple(
        dataclasses.replace(run, peers=(FAILED,)) if run.seed == 1 else run for run in case.runs
    )
    assert lines(dataclasses.replace(case, runs=runs), named(beside(FAILED), "never"))[1:] == [
        "openvino was not measured in 1 of 4 repeats of conv2d: openvino is not installed",
        "openvino was not measured in never: openvino is not installed",
    ]
