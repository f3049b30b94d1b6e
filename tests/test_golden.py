"""The recorded results in docs/results give the tables, verdicts and files that they always gave.

What is expected stands in tests/golden, one file per result and format. A change that is meant
to show there is written by

    python -m tests.test_golden

and read in the diff.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path

import pytest

from pytest_ansorbench import storage
from pytest_ansorbench.cli import main
from pytest_ansorbench.codec import to_json
from pytest_ansorbench.stats import judging
from pytest_ansorbench.storage import read_result, write_result
from tests.recorded import RESULTS, judged_once

GOLDEN = Path(__file__).parent / "golden"
STEMS = (
    "control-conv1d",
    "networks-mobilenetv2-16",
    "networks-resnet18-16",
    "networks-resnet50",
    "paper-small",
    "paper-small-controls",
)
#: Ending of the expected output, and the words that `ansor-bench` gives it for.
OUTPUTS = {
    ".txt": ("show", "{result}"),
    ".md": ("show", "{result}", "--format", "markdown"),
    "-v.txt": ("show", "{result}", "-v"),
}
COMPARED = {
    "-compared.txt": ("compare", "{result}", "{result}", "--fail", "search_ratio_early:5%"),
    "-compared.md": ("compare", "{result}", "{result}", "--format", "markdown"),
}
#: Ending of the expected report of one result, and the format that it is in.
REPORTED = "first-example"
REPORTS = {".csv": "csv", ".report.json": "json", ".tex": "latex", ".html": "html"}
#: Figures may differ in their last digits between NumPy's builds; verdicts and words may not.
DIGITS = 9


def printed(stem: str, ending: str) -> str:
    """What a command prints of a recorded result."""
    words = (OUTPUTS | COMPARED)[ending]
    words = [word.format(result=RESULTS / f"{stem}.json.gz") for word in words]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        main(words)
    return out.getvalue()


def reported(ending: str) -> str:
    """What `ansor-bench report` prints in a format; figures that matplotlib drew are left out."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        main(["report", str(RESULTS / f"{REPORTED}.json.gz"), "--format", REPORTS[ending]])
    text = re.sub(r"<svg.*?</svg>", "<svg></svg>", out.getvalue(), flags=re.DOTALL)
    return re.sub(r"\d+\.\d{10,}", lambda figure: f"{float(figure[0]):.{DIGITS}g}", text)


def verdicts(stem: str) -> str:
    """Comparisons and gates as a file would hold them, a line each."""
    judged = judging.judge_result(storage.read_result(RESULTS / f"{stem}.json.gz"))
    verdicts = [verdict for case in judged.cases for verdict in case.verdicts]
    lines = [json.dumps(_rounded(to_json(one))) for one in (*verdicts, *judged.suites)]
    return "\n".join(lines) + "\n"


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("stem", STEMS)
def test_tables_and_verdicts_are_what_they_were(stem):
    with judged_once():
        for ending in OUTPUTS:
            expected = (GOLDEN / f"{stem}{ending}").read_text(encoding="utf-8")
            assert printed(stem, ending) == expected, ending
        assert verdicts(stem) == (GOLDEN / f"{stem}.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "stem",
    [
        pytest.param(stem, marks=[pytest.mark.slow] if stem == "paper-small" else [])
        for stem in STEMS
    ],
)
def test_comparisons_are_what_they_were(stem):
    with judged_once():
        for ending in COMPARED:
            expected = (GOLDEN / f"{stem}{ending}").read_text(encoding="utf-8")
            assert printed(stem, ending) == expected, ending


def test_reports_are_what_they_were():
    with judged_once():
        for ending in REPORTS:
            expected = (GOLDEN / f"{REPORTED}{ending}").read_text(encoding="utf-8")
            assert reported(ending) == expected, ending


@pytest.mark.parametrize("stem", STEMS)
def test_files_are_read_and_written_without_loss(stem, tmp_path):
    result = read_result(RESULTS / f"{stem}.json.gz")
    write_result(result, tmp_path / "again.json")
    assert read_result(tmp_path / "again.json") == result


if __name__ == "__main__":
    for stem in STEMS:
        for ending in (*OUTPUTS, *COMPARED):
            (GOLDEN / f"{stem}{ending}").write_text(printed(stem, ending), encoding="utf-8")
        (GOLDEN / f"{stem}.jsonl").write_text(verdicts(stem), encoding="utf-8")
    for ending in REPORTS:
        (GOLDEN / f"{REPORTED}{ending}").write_text(reported(ending), encoding="utf-8")
