"""Where reports go."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ansorbench.report.render import outputs
from pytest_ansorbench.report.render.outputs import Output, write_report
from pytest_ansorbench.report.sections import Lines, Report, Section
from tests.disks import files_of_at_most

REPORT = Report.of(Section("part", (Lines(("words",)),)))


def test_a_format_is_given_with_or_without_a_file() -> None:
    assert Output.parse("markdown") == Output("markdown")
    assert Output.parse("csv:out/pr.csv") == Output("csv", Path("out/pr.csv"))
    assert Output.parse(r"html:C:\pr.html").path == Path(r"C:\pr.html")
    for text in ("markdown", "csv:pr.csv"):
        assert str(Output.parse(text)) == text


@pytest.mark.parametrize("text", ["", "pdf", "csv:", ":x", "markdown :", "CSV"])
def test_what_is_no_format_is_refused_with_all_there_are(text: str) -> None:
    with pytest.raises(ValueError, match="expected one of terminal, markdown, html, csv"):
        Output.parse(text)


def test_a_format_without_its_library_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setattr(outputs, "find_spec", lambda name: None if name == "jinja2" else name)
    with pytest.raises(ValueError, match=r"html takes jinja2: pip install .*\[report\]"):
        Output.parse("html")


def test_each_output_is_written_and_folders_are_made(tmp_path) -> None:
    shown: list[str] = []
    path = tmp_path / "new" / "pr.md"
    write_report(REPORT, [Output("terminal"), Output("markdown", path)], shown.append)
    assert shown == ["words"]
    assert path.read_text() == "words\n"


def test_what_cannot_be_written_whole_leaves_the_old_file_alone(tmp_path) -> None:
    path = tmp_path / "pr.md"
    path.write_text("old")
    long = Report.of(Section("part", (Lines(("words " * 1000,)),)))
    with files_of_at_most(1024), pytest.raises(OSError, match="File too large"):
        write_report(long, [Output("markdown", path)], print)
    assert path.read_text() == "old"
    assert [*tmp_path.iterdir()] == [path]


def test_links_stay_and_devices_are_written_to(tmp_path) -> None:
    link = tmp_path / "latest.md"
    link.symlink_to(tmp_path / "pr.md")
    write_report(REPORT, [Output("markdown", link)], print)
    assert link.is_symlink() and (tmp_path / "pr.md").read_text() == "words\n"
    with pytest.raises(OSError, match="No space left on device"):
        write_report(REPORT, [Output("markdown", Path("/dev/full"))], print)
