"""Every command reads results that are compressed, and writes them where the name asks for it."""

from __future__ import annotations

import contextlib
import io

import pytest

from pytest_ansorbench.cli import main
from pytest_ansorbench.records.rebuilt_kernels import RebuiltKernels
from pytest_ansorbench.storage import read_result, write_rebuilt, write_result
from pytest_ansorbench.storage.files import read_rebuilt
from tests.pages import REPOSITORY
from tests.synthetic import make_case_result, make_result
from tests.synthetic_kernels import rebuilt

RECORDED = REPOSITORY / "docs" / "results"


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A folder with one result, plain and compressed, and a stored one."""
    monkeypatch.chdir(tmp_path)
    for name in ("plain.json", "packed.json.gz", ".ansor_bench/0001_main.json.gz"):
        write_result(make_result(make_case_result("a")), tmp_path / name)
    write_result(make_result(make_case_result("b")), tmp_path / "other.json.gz")
    return tmp_path


def printed(*words: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        main(list(words))
    return out.getvalue()


@pytest.mark.parametrize(
    "words",
    [
        ("show", "RESULT", "-v"),
        ("report", "RESULT", "--format", "markdown"),
        ("compare", "RESULT", "RESULT"),
        ("merge", "RESULT", "other.json.gz", "-o", "merged.json"),
    ],
    ids=lambda words: words[0],
)
def test_what_a_command_prints_does_not_depend_on_it(stored, words):
    plain, packed, by_name = (
        printed(*(name if word == "RESULT" else word for word in words))
        for name in ("plain.json", "packed.json.gz", "main")
    )
    assert plain
    assert packed.replace("packed.json.gz", "plain.json") == plain
    assert words[0] != "show" or by_name == plain


def test_stored_results_are_listed_and_compared(stored):
    assert ".ansor_bench/0001_main.json.gz" in printed("list")
    assert "0001_main " in printed("history")


def test_a_figure_is_drawn_of_it(stored):
    assert printed("plot", "search-ratio", "packed.json.gz", "-o", "s.svg") == "written: s.svg\n"


def test_what_is_merged_is_compressed_if_its_name_says_so(stored):
    printed("merge", "packed.json.gz", "other.json.gz", "-o", "merged.json.gz")
    assert (stored / "merged.json.gz").read_bytes().startswith(b"\x1f\x8b")
    assert [case.case for case in read_result(stored / "merged.json.gz").cases] == ["a", "b"]


def test_kernels_that_were_made_again_too(tmp_path):
    kernels = rebuilt([1.0, 0.9])
    write_rebuilt(kernels, tmp_path / "again.json.gz")
    assert read_rebuilt(tmp_path / "again.json.gz") == kernels
    assert isinstance(read_rebuilt(RECORDED / "kernels" / "tvm26.json.gz"), RebuiltKernels)


def test_schedules_are_shown_and_exported(tmp_path, target):
    result = str(RECORDED / "readme-example.json.gz")
    assert "sch." in printed("schedule", result)
    printed("export", result, "--database", str(tmp_path / "database"))
    assert (tmp_path / "database" / "database_workload.json").read_text()
