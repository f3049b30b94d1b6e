"""What cannot be written is told in a sentence; the table is shown, and the session fails."""

from __future__ import annotations

import pytest

from pytest_ansorbench.bench import Session
from pytest_ansorbench.storage import read_journal
from pytest_ansorbench.storage.entries import EndEntry
from tests.disks import files_of_at_most
from tests.plugin.project import rounds_in

REPLAY = "--ansor-replay=saved.json"
FULL = "[Errno 28] No space left on device"
NO_SPACE = "expected a place to write to, got 'No space left on device'"
NO_ROOM = "expected a place to write to, got 'File too large'"


def check_told(outcome, *sentences):
    """That a session has failed with these sentences, each once, and its table nevertheless."""
    assert outcome.code == 1, outcome.text
    for sentence in sentences:
        assert outcome.out.count(sentence) == 1, outcome.text
    assert "= ansor bench =" in outcome.out
    assert "INTERNALERROR" not in outcome.text and "Traceback" not in outcome.text


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("json=/dev/full", f"--ansor-json: bad result file '/dev/full': {NO_SPACE}"),
        ("report=markdown:/dev/full", f"--ansor-report markdown:/dev/full: {FULL}"),
        ("report=html:/dev/full", f"--ansor-report html:/dev/full: {FULL}"),
    ],
)
def test_a_full_device_fails_the_session(saved, option, sentence):
    outcome = saved.bench(REPLAY, f"--ansor-{option}")
    check_told(outcome, f"not written: {sentence}")
    assert "1 passed" in outcome.out


def test_results_that_do_not_fit_leave_nothing_behind(saved):
    words = (REPLAY, "--ansor-json=out/result.json", "--ansor-save=main")
    with files_of_at_most(1024):
        outcome = saved.bench(*words)
    unsaved = "not saved: --ansor-save: --ansor-json was not written"
    check_told(outcome, "not written: --ansor-json: bad result file", NO_ROOM, unsaved)
    assert "1 passed" in outcome.out
    folders = (saved.root / "out", saved.root / ".ansor_bench")
    assert [path for folder in folders for path in folder.rglob("*")] == []
    again = saved.bench(*words)
    assert again.code == 0, again.text
    assert "not written" not in again.out
    assert (saved.root / "out" / "result.json").exists()


def test_a_file_that_is_written_in_the_end_is_no_failure(saved):
    saved.write(
        "conftest.py",
        "def pytest_ansorbench_case_finished(config):\n"
        "    (config.rootpath / 'result.json').rmdir()\n",
    )
    saved.write(
        "test_first.py", "def test_first(request): (request.path.parent / 'result.json').mkdir()\n"
    )
    outcome = saved.bench(REPLAY, "--ansor-json=result.json", "test_first.py", "test_cases.py")
    assert outcome.code == 0, outcome.text
    assert (saved.root / "result.json").is_file()


@pytest.mark.usefixtures("fast_engine")
def test_a_result_that_could_not_be_written_is_written_when_resumed(project):
    outcome = project.bench("--ansor-json=/dev/full", "--ansor-save=main")
    check_told(outcome, "not written: --ansor-", "where this stopped: --ansor-resume=0001")
    again = project.bench("--ansor-json=result.json", "--ansor-save=main", "--ansor-resume")
    assert again.code == 0, again.text
    assert "to go on" not in again.out
    assert len(project.json("result.json")["cases"]) == 1
    assert len([*(project.root / ".ansor_bench").glob("*.json")]) == 1


@pytest.mark.usefixtures("fast_engine")
def test_a_report_that_could_not_be_written_leaves_nothing_to_go_on_with(project):
    outcome = project.bench("--ansor-report=csv:/dev/full", "--ansor-save=main")
    check_told(outcome, "not written: --ansor-report csv:/dev/full")
    assert "to go on" not in outcome.out
    assert read_journal(project.journal()).finished


@pytest.mark.usefixtures("fast_engine")
def test_a_journal_that_does_not_fit_goes_on_where_it_stopped(project, tmp_path_factory):
    whole = project.copy(tmp_path_factory.mktemp("whole"))
    assert whole.bench().code == 0
    lines = whole.journal_lines()
    rounds = rounds_in(lines)
    complete = lines[: rounds[1]]
    with files_of_at_most(sum(map(len, complete)) + len(lines[rounds[1]]) // 2):
        outcome = project.bench()
    assert outcome.code == 1, outcome.text
    assert NO_ROOM in outcome.out
    assert "INTERNALERROR" not in outcome.text and "Traceback" not in outcome.text
    assert "to go on where this stopped: --ansor-resume=0001" in outcome.out
    past = read_journal(project.journal())
    assert (1 + len(past.entries), past.dropped) == (len(complete), 0)
    again = project.bench("--ansor-resume")
    assert again.code == 0, again.text
    assert "1 passed" in again.out


@pytest.mark.usefixtures("fast_engine")
def test_a_last_look_that_does_not_fit_is_taken_when_resumed(project, monkeypatch):
    def on_a_full_disk(session):
        with files_of_at_most(10):
            session._journal.append(EndEntry(1))

    with monkeypatch.context() as patch:
        patch.setattr(Session, "finish", on_a_full_disk)
        outcome = project.bench("--ansor-save=main")
    check_told(outcome, NO_ROOM, "not all has run yet", "where this stopped: --ansor-resume=0001")
    again = project.bench("--ansor-save=main", "--ansor-resume")
    assert again.code == 0, again.text
    assert len([*(project.root / ".ansor_bench").glob("*.json")]) == 1
