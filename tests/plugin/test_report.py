"""`--ansor-report`: the whole report in formats and files, at the end of a session."""

from __future__ import annotations

import csv
import json
from pathlib import Path

REPLAY = "--ansor-replay=saved.json"


def test_formats_go_to_the_terminal_or_to_files(saved):
    outcome = saved.bench(
        REPLAY,
        "--ansor-report=markdown",
        "--ansor-report=csv:out/pr.csv",
        "--ansor-report=json:pr.json",
        "--ansor-report=html:pr.html",
    )
    assert outcome.code == 0, outcome.text
    assert "| case" in outcome.out
    for name in ("out/pr.csv", "pr.json", "pr.html"):
        assert f"written: {Path(name)}" in outcome.out
    with (saved.root / "out" / "pr.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["strategy"] for row in rows[:2]] == ["default", "fast"]
    sections = json.loads((saved.root / "pr.json").read_text())["sections"]
    assert [section["key"] for section in sections[:2]] == ["verdicts", "suite"]
    page = (saved.root / "pr.html").read_text()
    assert "<svg" in page and "to reproduce" in page


def test_the_ini_file_takes_several(saved):
    saved.write("pytest.ini", "[pytest]\nansor_report = markdown, csv:pr.csv\n")
    outcome = saved.bench(REPLAY)
    assert outcome.code == 0, outcome.text
    assert (saved.root / "pr.csv").exists()


def test_a_step_of_github_actions_gets_the_verdicts_and_the_table(saved, monkeypatch):
    summary = saved.root / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert saved.bench(REPLAY).code == 0
    text = summary.read_text()
    assert text.startswith("before\n") and "| case" in text and "reaches default's" in text


def test_a_summary_that_cannot_be_written_is_a_note(saved, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(saved.root))
    outcome = saved.bench(REPLAY)
    assert outcome.code == 0
    assert "no step summary: [Errno 21] Is a directory" in outcome.out


def test_a_summary_that_grows_too_long_is_shortened_and_says_so(saved, monkeypatch):
    summary = saved.root / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    for before, expected in (("x" * 999_500, "see the whole report\n\n"), ("x" * 1_000_000, "x")):
        summary.write_text(before)
        outcome = saved.bench(REPLAY)
        assert outcome.code == 0
        text = summary.read_text()
        assert len(text) <= 1_000_002 and text.rstrip(" ").endswith(expected)
    assert "no step summary: " in outcome.out and "is full" in outcome.out
