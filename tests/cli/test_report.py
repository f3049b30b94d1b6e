"""`ansor-bench report`: all that is known of results, in every format."""

from __future__ import annotations

import json
import sys

import pytest

from pytest_ansorbench.cli import main
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.storage import write_result
from tests.synthetic import make_case_result, make_result


@pytest.fixture
def results(tmp_path):
    """Results of two sessions, of a case each."""
    paths = []
    for name in ("a", "b"):
        path = tmp_path / f"{name}.json"
        write_result(make_result(make_case_result(name, limits=Limits({}))), path)
        paths.append(str(path))
    return paths


def test_files_are_named_and_the_terminal_is_the_first_choice(results, tmp_path, capsys):
    page = tmp_path / "new" / "pr.html"
    assert main(["report", results[0], "--format", f"html:{page}"]) == 0
    assert capsys.readouterr() == ("", f"written: {page}\n")
    assert page.read_text().startswith("<!DOCTYPE html>")
    main(["report", results[0]])
    assert "to reproduce:" in capsys.readouterr().out


def test_a_format_in_a_pipe_is_whole_beside_files(results, tmp_path, capsys):
    table = f"csv:{tmp_path / 'table.csv'}"
    assert main(["report", results[0], "--format", table, "--format", "json"]) == 0
    out, err = capsys.readouterr()
    assert "sections" in json.loads(out) and err == f"written: {tmp_path / 'table.csv'}\n"


def test_several_results_are_put_together(results, capsys):
    assert main(["report", *results, "--format", "json"]) == 0
    sections = json.loads(capsys.readouterr().out)["sections"]
    assert {section["subject"] for section in sections} == {"", "a", "b"}
    assert "2 cases: fast reaches" in json.dumps(sections[0])
    assert main(["report", results[0], results[0]]) == 2
    assert "got one of them twice" in capsys.readouterr().err


def test_limits_and_columns_can_be_given(results, capsys):
    words = ["report", *results, "--max-suite-search-ratio", "0.4", "--format", "csv"]
    assert main([*words, "--columns", "case,strategy,verdict"]) == 1
    assert capsys.readouterr().out.startswith("case,strategy,verdict\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "pdf"], "bad --format 'pdf': expected one of terminal, markdown"),
        (["--columns", "x"], "bad column 'x': expected some of"),
    ],
)
def test_bad_words_are_refused(results, capsys, words, message):
    assert main(["report", results[0], *words]) == 2
    assert message in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_one_line(results, tmp_path, capsys):
    (tmp_path / "folder").mkdir()
    assert main(["report", results[0], "--format", f"csv:{tmp_path / 'folder'}"]) == 2
    assert "folder': expected a file, not a folder" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["show", "report", "compare", "tournament", "merge", "plot"])
def test_no_result_that_is_read_is_written_over(results, tmp_path, capsys, command):
    others = [results[1]] if command in ("compare", "merge", "tournament") else []
    figure, link = ["curve"] if command == "plot" else [], tmp_path / "link.svg"
    link.symlink_to(results[0])
    output = ["-o", str(link)] if command in ("merge", "plot") else ["--format", f"csv:{link}"]
    before = link.read_bytes()
    assert main([command, *figure, results[0], *others, *output]) == 2
    assert "link.svg': it is read; expected another file" in capsys.readouterr().err
    assert link.read_bytes() == before


def test_a_page_shows_two_results_beside_each_other(results, tmp_path, capsys):
    faster = tmp_path / "faster.json"
    write_result(make_result(make_case_result("a")), faster)
    assert main(["compare", results[0], str(faster), "--format", "html"]) == 0
    page = capsys.readouterr().out
    assert page.count("<article") == 1
    assert "now over before" in page and "before:" in page
    main(["compare", results[0], str(faster), "--format", "markdown"])
    assert "before:" not in capsys.readouterr().out


def test_a_terminal_gets_colours_and_a_pipe_none(results, capsys, monkeypatch):
    words = ["report", *results, "--max-suite-search-ratio", "0.4"]
    main(words)
    assert "\033" not in capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    main(words)
    assert "\033[31mbroken\033[0m" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    main(words)
    assert "\033" not in capsys.readouterr().out
