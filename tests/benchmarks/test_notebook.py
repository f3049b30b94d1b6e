"""What `benchmarks/notebook.py` keeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


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
