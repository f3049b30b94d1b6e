"""Tables and the figure of `benchmarks/paper_report.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_ansorbench.records import Result
from pytest_ansorbench.storage import write_result
from tests.report.rendered import rendered, simple_cells
from tests.synthetic import make_case_result, make_result, make_run


@pytest.fixture
def paper(import_script: Any) -> Any:
    """The script; it needs no Matplotlib until it writes a figure."""
    return import_script("paper_report")


def paper_result() -> Result:
    """Two cases of the strategies that the paper is about; one program in the second is invalid."""

    def runs(case: str, strategy: str, seconds: float, last: float | None = 1.0) -> list[Any]:
        return [
            make_run(case, strategy, seed, [2.0, last], seconds_per_trial=seconds, final=1.0)
            for seed in range(3)
        ]

    decided = {"drawn_rules": {"MutateUnroll": {"applied": 2, "gain": -0.5, "improved": 0.25}}}
    cases = []
    for case, last in (("matmul-m8", 1.0), ("conv2d-h8", None)):
        arms = {name: runs(case, name, 0.5) for name in ("etc", "rules")}
        drawn = make_run(case, "optimized", 0, [2.0, last], decisions=decided, final=1.0)
        arms["optimized"] = [drawn, *runs(case, "optimized", 0.5, last)[1:]]
        cases.append(make_case_result(case, runs(case, "default", 1.0), arms))
    return make_result(*cases)


def test_rules_are_a_row_each(paper: Any) -> None:
    headings, *rows = simple_cells(rendered(paper.rules_table(paper_result().cases)))
    assert headings[:5] == ["case", "strategy", "rule", "predicted", "applied"]
    expected = ["optimized", "MutateUnroll", "False", "2", "0", "0", "-0.500", "0.250"]
    assert [row[:9] for row in rows] == [[case, *expected] for case in ("matmul-m8", "conv2d-h8")]


def test_report_and_figure_are_written(paper: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    write_result(paper_result(), tmp_path / "paper.json")
    paper.write_report(tmp_path / "paper.json", tmp_path / "none.json", tmp_path / "paper")
    assert [path.name for path in tmp_path.glob("*.svg")] == ["paper-fig10.svg"]
    text = (tmp_path / "paper.txt").read_text(encoding="utf-8")
    assert text.startswith("ansor-bench show paper.json --columns case,strategy,search_time")
    assert "S 0.75 for optimized (operators), 0.89 for rules and 0.82 for etc (networks)" in text
    assert text.endswith("\n")
