"""`--ansor-roofline` and `--ansor-reference-kernels`: measured, and told everywhere."""

from __future__ import annotations

import dataclasses
import sys

import pytest

from pytest_ansorbench.cores import usable_cores
from pytest_ansorbench.report.columns import usual_columns
from pytest_ansorbench.storage import read_result, write_peak, write_result
from tests.saved_cases import SAVED, result_of
from tests.synthetic import PEAK, make_yardsticks

SHORT = "--ansor-trials=2"
BELIEVED = "--ansor-progress=believed"


def test_both_are_in_the_result_the_table_and_the_details(project):
    outcome = project.bench(
        "--ansor-reference-kernels=untuned,numpy", "--ansor-json=first.json", SHORT, BELIEVED
    )
    assert outcome.code == 0, outcome.text
    first = read_result(project.root / "first.json")
    [found] = first.cases[0].yardsticks
    assert found.peak is None
    assert [kernel.implementation for kernel in found.kernels] == ["untuned"]
    for run in first.cases[0].runs:
        [peer] = run.peers
        assert (peer.implementation, peer.final.status) == ("numpy", "build-error")
    assert "over untuned" in outcome.out and "over numpy" in outcome.out
    assert (
        f"numpy was not measured in {first.cases[0].case}: it cannot be exported: " in outcome.out
    )

    # A peak that was measured before is not measured again.
    cores = usable_cores().to_pin_to
    write_peak(project.root / ".ansor_bench", found.machine, PEAK, cores)
    outcome = project.bench("--ansor-roofline", "--ansor-json=second.json", SHORT, BELIEVED)
    assert outcome.code == 0, outcome.text
    second = read_result(project.root / "second.json")
    assert second.cases[0].yardsticks[0].peak == PEAK
    assert "of peak" in outcome.out
    assert "peak: 100 GFLOP/s of multiply-adds" in outcome.out


def test_a_replay_tells_what_was_saved(project):
    saved = project.replaying("SAVED[:1]")
    result = result_of(SAVED)
    machine = result.cases[0].runs[0].machine
    found = dataclasses.replace(make_yardsticks(), machine=machine)
    cases = tuple(dataclasses.replace(case, yardsticks=(found,)) for case in result.cases)
    write_result(dataclasses.replace(result, cases=cases), saved.root / "saved.json")
    outcome = saved.bench("--ansor-replay=saved.json", "--ansor-time-unit=ms")
    assert outcome.code == 0, outcome.text
    assert "over torch" in outcome.out
    assert "search time (ms)" in outcome.out
    assert "of_peak" in usual_columns(cases)


def test_a_library_that_is_not_there_is_refused_before_any_search(project, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    outcome = project.bench("--ansor-reference-kernels=numpy,onnxruntime")
    assert (
        "bad --ansor-reference-kernels 'onnxruntime': onnxruntime is not installed: pip install "
        "'pytest-ansorbench[onnxruntime]'"
    ) in outcome.refusal


@pytest.mark.parametrize(("limit", "code", "outcome"), [("1e-6", 0, "holds"), ("1e6", 1, "broken")])
def test_a_gate_on_a_library(project, fast_engine, limit, code, outcome):
    words = ["--ansor-reference-kernels=numpy", f"--ansor-min-over-numpy={limit}", SHORT]
    found = project.bench(*words, "--ansor-repeats=5", "--ansor-json=gated.json")
    assert found.code == code, found.text
    [case] = read_result(project.root / "gated.json").cases
    assert [(gate.metric, gate.outcome) for gate in case.gates] == [("over_numpy", outcome)]
    assert "times as fast as numpy" in found.out and "throughput over numpy" in found.text
