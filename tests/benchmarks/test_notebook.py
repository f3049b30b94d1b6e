"""What `benchmarks/notebook.py` keeps."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_ansorbench.measure.local.machine import observe_machine


@pytest.fixture
def notebook(import_script: Any) -> Any:
    return import_script("notebook").Notebook


def test_a_notebook_goes_on_where_it_was(notebook: Any, tmp_path: Path) -> None:
    path = tmp_path / "noise.json"
    first = notebook(path)
    assert first.fill(lambda: {"value": 1}, part="memory")["value"] == 1
    again = notebook(path)
    assert again.fill(lambda: {"value": 2}, part="memory")["value"] == 1
    piece = again.fill(lambda: {"value": 3}, part="noise", number=0)
    assert piece["value"] == 3 and piece["busy_cores"] >= 0.0
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["pieces"] == again.pieces and len(again.pieces) == 2
    assert len(record["commits"]) == 2
    assert [one.name for one in tmp_path.iterdir()] == ["noise.json"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "expected a file that this benchmark wrote"),
        ("[]", "expected a file that this benchmark wrote"),
        ('{"pieces": []}', "expected a file that this benchmark wrote"),
        ('{"machine": {}, "commits": [], "pieces": []}', "another machine"),
    ],
)
def test_a_file_of_something_else_is_not_gone_on_with(
    notebook: Any, tmp_path: Path, text: str, told: str
) -> None:
    path = tmp_path / "noise.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit, match=told):
        notebook(path)


@pytest.mark.parametrize(
    ("name", "measures", "option"),
    [
        ("network_caches", "tuned_both_ways", "--trials"),
        ("racing", "measure_case", "--trials"),
        ("racing", "measure_case", "--passes"),
    ],
)
def test_a_case_is_measured_anew_with_another_option(
    import_script: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    measures: str,
    option: str,
) -> None:
    script, measured = import_script(name), []

    def measure(*given: object) -> dict[str, Any]:
        measured.append(given)
        return {"passes": {}}

    short = functools.partial(observe_machine, 0.001)
    monkeypatch.setattr(import_script("notebook"), "observe_machine", short)
    monkeypatch.setattr(script, measures, measure)
    monkeypatch.setattr(script, "report", str)
    kept = str(tmp_path / "kept.json")
    for number in ("2", "3"):
        argv = [name, "--case", "matmul", option, number, "--json", kept]
        monkeypatch.setattr(sys, "argv", argv)
        script.main()
    assert len(measured) == 2
