"""`ansor-bench plot`: figures of a result."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.cli import main, plot
from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.storage import write_result
from tests.recorded import RESULTS
from tests.synthetic import make_case_result, make_result, make_run

pytestmark = pytest.mark.usefixtures("judging_once")


def with_sketches(case: CaseResult) -> CaseResult:
    def two(run):
        [task] = run.tasks
        return dataclasses.replace(run, tasks=(dataclasses.replace(task, sketches=("x", "y")),))

    return dataclasses.replace(case, runs=tuple(map(two, case.runs)))


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    path = tmp_path_factory.mktemp("one") / "result.json"
    write_result(make_result(with_sketches(make_case_result())), path)
    return str(path)


@pytest.fixture(scope="module")
def two_cases(tmp_path_factory):
    path = tmp_path_factory.mktemp("two") / "two.json"
    write_result(make_result(make_case_result("a"), make_case_result("b")), path)
    return str(path)


@pytest.mark.parametrize("figure", [*plot._OF_ALL, *plot._OF_A_CASE])
def test_every_figure_is_drawn(result, two_cases, tmp_path, capsys, figure):
    result = two_cases if figure.startswith("ablation") else result
    path = tmp_path / "out" / "figure.svg"
    assert main(["plot", figure, result, "-o", str(path)]) == 0
    assert capsys.readouterr().out == f"written: {path}\n"
    first = path.read_text()
    assert "<svg" in first
    main(["plot", figure, result, "-o", str(path)])
    assert path.read_text() == first


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_other_formats_by_the_suffix(result, tmp_path, kind, start):
    path = tmp_path / f"figure.{kind}"
    assert main(["plot", "search-ratio", result, "-o", str(path)]) == 0
    assert path.read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["curve", "-o", "x.gif"], "bad --output 'x.gif': expected .svg, .png or .pdf"),
        (["curve", "-o", "x.svg", "--case", "y"], "bad --case 'y': expected one of: conv2d"),
        (
            ["schedule-share", "-o", "x.svg", "--strategy", "y"],
            "bad --strategy 'y': expected one of: default, fast",
        ),
        (
            ["targets", "-o", "x.svg", "--strategy", "y"],
            "bad --strategy 'y': expected one of: fast",
        ),
        (
            ["phases", "-o", "x.svg", "--strategy", "fast"],
            "bad --strategy 'fast': expected none, as phases is of all strategies",
        ),
        (
            ["fig14", "-o", "x.svg", "--strategy", "fast"],
            "bad --strategy 'fast': expected none, as fig14 is of all strategies",
        ),
        (
            ["ablation", "-o", "x.svg", "--case", "conv2d"],
            "bad --case 'conv2d': expected none, as ablation is of all cases",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(result, capsys, words, message):
    figure, *more = words
    assert main(["plot", figure, result, *more]) == 2
    assert message in capsys.readouterr().err


def test_a_figure_of_one_case_asks_which(two_cases, capsys):
    assert main(["plot", "phases", two_cases, "-o", "x.svg"]) == 2
    assert "bad phases: expected --case with it, one of: a, b" in capsys.readouterr().err


def test_ratios_can_be_those_of_one_case(two_cases, tmp_path):
    path = tmp_path / "x.svg"
    assert main(["plot", "search-ratio", two_cases, "--case", "b", "-o", str(path)]) == 0
    text = path.read_text()
    assert ">b</text>" in text and ">a</text>" not in text and "all cases" not in text


def test_one_strategy_has_no_ratios(tmp_path, capsys):
    path = tmp_path / "result.json"
    alone = CaseResult("conv2d", ("default",), (make_run(),), ())
    write_result(make_result(alone), path)
    assert main(["plot", "search-ratio", str(path), "-o", "x.svg"]) == 2
    assert "expected a result with two strategies or more" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("figure", "runs"),
    [
        *((figure, ()) for figure in ("curve", "curve-time", "phases")),
        ("latency-time", (make_run(latencies=[None]),)),
        *((figure, (make_run(),)) for figure in ("targets", "schedule-share")),
    ],
)
def test_what_would_be_blank_is_refused(tmp_path, capsys, figure, runs):
    path = tmp_path / "result.json"
    write_result(make_result(CaseResult("conv2d", ("default",), runs, ())), path)
    assert main(["plot", figure, str(path), "-o", str(tmp_path / "x.svg")]) == 2
    assert f"bad {figure}: nothing to draw; " in capsys.readouterr().err


def test_one_case_has_no_ablation(result, capsys):
    assert main(["plot", "ablation", result, "-o", "x.svg"]) == 2
    assert "two strategies or more and two cases or more" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("stem", "figures"),
    [
        (
            "paper-small",
            [
                ("fig10", "matmul-b1-m512-n512-k512, optimized", "rules"),
                ("fig12", "matmul-b1-m512-n512-k512, optimized", "etc"),
                ("fig14", "optimized", "matmul"),
                ("fig17", "matmul-b1-m512-n512-k512, rules", "optimized"),
                ("fig18", "matmul-b1-m512-n512-k512, etc", "optimized"),
            ],
        ),
        (
            "networks-resnet18-16",
            [
                ("fig11", "resnet18-n1-s224", "rules"),
                ("fig13", "resnet18-n1-s224", "rules"),
                ("fig16", "optimized", "matmul"),
            ],
        ),
        ("networks-resnet50", [("fig15", "optimized", "matmul")]),
    ],
)
def test_figures_of_the_paper_are_drawn_by_name(tmp_path, stem, figures):
    path = tmp_path / "figure.svg"
    for figure, shown, hidden in figures:
        assert main(["plot", figure, str(RESULTS / f"{stem}.json.gz"), "-o", str(path)]) == 0
        text = path.read_text()
        assert shown in text and hidden not in text, figure


def test_a_figure_of_the_paper_wants_its_cases_and_strategy(result, tmp_path, capsys):
    assert main(["plot", "fig15", result, "-o", "x.svg"]) == 2
    assert "bad fig15: expected a result with resnet50" in capsys.readouterr().err
    assert main(["plot", "fig11", result, "-o", "x.svg"]) == 2
    assert "bad fig11: expected a result with networks" in capsys.readouterr().err
    assert main(["plot", "fig10", result, "-o", "x.svg"]) == 2
    assert "bad --strategy 'optimized': expected one of: fast" in capsys.readouterr().err
    path = str(tmp_path / "x.svg")
    assert main(["plot", "fig10", result, "-o", path, "--strategy", "fast"]) == 0
