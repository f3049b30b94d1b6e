"""The commands about journals: watch and clean."""

from __future__ import annotations

import dataclasses
import os
import time
from pathlib import Path

import pytest

from pytest_ansorbench.cli import main
from pytest_ansorbench.cluster.workers import ClusterWatch, block_key
from pytest_ansorbench.records import Result
from pytest_ansorbench.storage import Journal, list_journals, write_result
from pytest_ansorbench.storage.entries import EndEntry
from tests.cluster import dask_processes
from tests.forked import wait_until
from tests.storage.test_journal import CASE, FINAL, REPEAT, ROUNDS, SESSION
from tests.synthetic import make_case_result, make_result, make_run

COMPLETE = (CASE, REPEAT, *ROUNDS, dataclasses.replace(FINAL, finals=FINAL.finals[:1], leads=None))
ENTRIES = (*COMPLETE, EndEntry(1))
TWICE = (*COMPLETE, *(dataclasses.replace(one, seed=8) for one in COMPLETE[1:]), EndEntry(1))


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    return tmp_path / "storage"


def write(storage: Path, *entries: object, packed: bool = False) -> Path:
    with Journal.create(storage, SESSION) as journal:
        for entry in entries:
            journal.append(entry)  # type: ignore[arg-type]
        if packed:
            journal.pack()
    return journal.path


def result(*seeds: int, final: float = 1.0) -> Result:
    """The result of the journal's session."""
    runs = [
        dataclasses.replace(make_run(seed=seed, final=final), after=FINAL.after) for seed in seeds
    ]
    return dataclasses.replace(
        make_result(make_case_result(reference=runs, challengers={})), created=SESSION.created
    )


def run(*words: object) -> int:
    return main(list(map(str, words)))


def test_watch_shows_the_newest_journal_once_where_there_is_no_terminal(storage, capsys):
    write(storage, *ENTRIES, packed=True)
    write(storage, CASE, REPEAT, ROUNDS[0])
    assert run("watch", "--storage", storage) == 0
    shown = capsys.readouterr().out
    assert "0/1 cases are over; about " in shown
    assert "50%" in shown
    assert "\x1b" not in shown


def test_watch_shows_what_workers_do(tmp_path, capsys):
    from distributed import Client

    with (
        dask_processes.cluster(tmp_path, "free", "busy") as cluster,
        Client(cluster.address, timeout=30.0, set_as_default=False) as client,
    ):
        client.wait_for_workers(2, timeout=30.0)
        keys = [block_key("5e55", "conv1d-n1-k3", seed, "a1b2") for seed in (7, 8)]
        asked = [client.submit(time.sleep, 600.0, key=key, workers=["busy"]) for key in keys]
        wait_until(lambda: {*keys} in map(set, client.processing().values()))
        assert run("watch", cluster.address) == 0
        for one in asked:
            one.cancel()
    shown = capsys.readouterr().out
    assert "2 workers, 1/2 at work; of several blocks a worker is at one, the others" in shown
    *busy, free = [line.split() for line in shown.splitlines() if line[:4] in ("free", "busy")]
    assert busy == [["busy", "5e55", "conv1d-n1-k3", seed] for seed in ("7", "8")]
    assert free == ["free", "-", "-", "-"]


def test_watch_says_where_there_is_no_scheduler(monkeypatch, capsys):
    monkeypatch.setattr(ClusterWatch.__init__, "__defaults__", (1.0,))
    assert run("watch", "127.0.0.1:9") == 2
    assert "no Dask scheduler at tcp://127.0.0.1:9 within 1 s" in capsys.readouterr().err


@pytest.mark.parametrize("which", ["1", "01", "0001"])
def test_watch_takes_a_number(storage, capsys, which):
    write(storage, *ENTRIES, packed=True)
    write(storage, CASE)
    assert run("watch", which, "--storage", storage) == 0
    assert "1/1 cases are over; the session has ended" in capsys.readouterr().out


def test_watch_takes_a_file(storage, capsys, tmp_path):
    path = write(tmp_path, *ENTRIES)
    assert run("watch", path, "--storage", storage) == 0
    assert "the session has ended" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no journal in"),
        (("7",), "bad journal '7': expected the number or path of a journal"),
        (("nowhere.jsonl",), "bad journal 'nowhere.jsonl': expected an existing file"),
        (("--every", "0"), "bad --every 0.0: expected seconds above 0, e.g. 2"),
    ],
)
def test_watch_says_what_is_wrong(storage, capsys, words, message):
    assert run("watch", *words, "--storage", storage) == 2
    assert message in capsys.readouterr().err


def test_clean_says_first_and_deletes_when_told(storage, capsys):
    old = write(storage, *ENTRIES, packed=True)
    write_result(result(7, 8), storage / "0001_main.json")
    assert run("clean", "--storage", storage) == 0
    shown = capsys.readouterr().out
    assert f"would delete {old} (0.0 MB): its runs are in {storage / '0001_main.json'}" in shown
    assert "with --yes it does" in shown
    assert old.exists()
    assert run("clean", "--yes", "--storage", storage) == 0
    assert f"deleted {old}" in capsys.readouterr().out
    assert list_journals(storage) == ()


def test_clean_deletes_what_ended_without_a_complete_repeat(storage, capsys):
    old = write(storage, CASE, REPEAT, ROUNDS[0], EndEntry(0), packed=True)
    assert run("clean", "--yes", "--storage", storage) == 0
    assert f"deleted {old} (0.0 MB): no repeat of it is complete" in capsys.readouterr().out
    assert list_journals(storage) == ()


def test_clean_takes_results_from_elsewhere(storage, capsys, tmp_path):
    write(storage, *ENTRIES)
    write_result(result(7), tmp_path / "pr.json")
    assert run("clean", tmp_path / "pr.json", "--yes", "--storage", storage) == 0
    assert list_journals(storage) == ()


@pytest.mark.parametrize("own", [1.0, 2.0])
def test_clean_finds_runs_in_results_that_were_merged(storage, own):
    """As pytest-xdist's are, with the beginning of another process; a run is what was measured."""
    path = write(storage, *ENTRIES)
    began = "2024-01-02T03:04:04+00:00"
    for seed, final in ((7, own), (8, 1.0)):
        merged = dataclasses.replace(result(seed, final=final), created=began)
        write_result(merged, storage / f"000{seed}_main.json")
    assert run("clean", "--yes", "--storage", storage) == 0
    assert path.exists() is (own != 1.0)


@pytest.mark.parametrize(
    ("entries", "seeds", "reason"),
    [
        (COMPLETE, (7,), "its session can be resumed"),
        (TWICE, (7,), "no result has all its runs"),
        (ENTRIES, (8,), "no result has its runs"),
        (ENTRIES, None, "no result has its runs"),
    ],
)
def test_clean_keeps_what_is_nowhere_else(storage, capsys, entries, seeds, reason):
    path = write(storage, *entries)
    if seeds is not None:
        write_result(result(*seeds), storage / "0001_main.json")
    assert run("clean", "--yes", "--storage", storage) == 0
    shown = capsys.readouterr().out
    assert f"keeps {path} (0.0 MB): {reason}" in shown
    assert "nothing to delete in" in shown
    assert path.exists()


def test_a_journal_that_a_session_writes_is_kept_and_told_from_an_interrupted_one(storage, capsys):
    write_result(result(7), storage / "0001_main.json")
    with Journal.create(storage, SESSION) as journal:
        for entry in COMPLETE:
            journal.append(entry)
        assert run("list", "--storage", storage) == 0
        shown = capsys.readouterr().out
        assert f"running: {journal.path}, begun " in shown and "interrupted" not in shown
        journal.append(EndEntry(1))
        assert run("clean", "--yes", "--storage", storage) == 0
        assert f"keeps {journal.path} (0.0 MB): a session is writing it" in capsys.readouterr().out
    assert run("clean", "--yes", "--storage", storage) == 0
    assert list_journals(storage) == ()


def test_clean_refuses_what_is_no_result(storage, capsys, tmp_path):
    write(storage, *ENTRIES)
    assert run("clean", tmp_path / "nowhere.json", "--storage", storage) == 2
    assert "nowhere.json" in capsys.readouterr().err


NOTHING = {
    "0002": (b"", "got an empty file"),
    "0003": (bytes(4096), "got NUL bytes alone"),
    "0004": (b'{"kind":"sess', "got one that was cut short"),
}
OF_OTHERS = {
    "0005": (b'{"kind": "session", "journal_version": 1}\n', "journal_version 1 is not"),
    "0006": (b'{"benchmarks": []}\n', "was it written by another tool?"),
}


@pytest.fixture
def littered(storage):
    """Beside an unfinished journal some that cannot be read, and results that cannot."""
    write(storage, CASE, REPEAT, ROUNDS[0])
    for name, (content, _) in {**NOTHING, **OF_OTHERS}.items():
        (storage / "journals" / f"{name}.jsonl").write_bytes(content)
    write_result(make_result(), storage / "0001_main.json")
    (storage / "0002_cut.json").write_bytes((storage / "0001_main.json").read_bytes()[:40])
    (storage / "0003_other.json").write_text("[1, 2]")
    return storage


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("command", "shown", "results", "journals"),
    [
        ("list", "--ansor-resume=0001 goes on with it", 2, 5),
        ("watch", "0/1 cases are over", 0, 5),
        ("history", "0001_main", 2, 0),
    ],
)
def test_commands_go_past_what_cannot_be_read_and_name_it_once(
    littered, capsys, command, shown, results, journals
):
    before = files(littered)
    assert run(command, "--storage", littered) == 0
    out, err = capsys.readouterr()
    assert shown in out
    lines = err.splitlines()
    assert all(line.startswith("ansor-bench: passed over: bad ") for line in lines)
    assert sum("bad result file" in line for line in lines) == results
    assert sum("bad journal" in line for line in lines) == journals == len(lines) - results
    for name, (_, reason) in {**NOTHING, **OF_OTHERS}.items() if journals else ():
        [line] = [line for line in lines if f"{name}.jsonl" in line]
        assert reason in line
    assert files(littered) == before


def test_clean_deletes_what_holds_nothing_when_told_and_never_what_others_read(littered, capsys):
    before = files(littered)
    nothing = {"0002_cut.json", *(f"{name}.jsonl" for name in NOTHING)}
    assert run("clean", "--storage", littered, "--yes") == 0
    out = capsys.readouterr().out
    assert files(littered) == before
    assert out.count("--unreadable deletes it") == len(nothing)
    assert run("clean", "--storage", littered, "--unreadable") == 0
    assert capsys.readouterr().out.count("would delete ") == len(nothing)
    assert files(littered) == before
    assert run("clean", "--storage", littered, "--unreadable", "--yes") == 0
    out = capsys.readouterr().out
    assert files(littered) == before - nothing
    for name in (*(f"{name}.jsonl" for name in OF_OTHERS), "0003_other.json"):
        [line] = [line for line in out.splitlines() if name in line]
        assert line.startswith("keeps ")
    for name in nothing:
        [line] = [line for line in out.splitlines() if name in line]
        assert line.startswith("deleted ")


def test_clean_deletes_what_killed_writers_have_left_when_told(storage, capsys):
    write(storage, *ENTRIES)
    temporary = f".{'0a' * 16}.tmp"
    left = [storage / temporary, storage / "journals" / ".0002.reserved"]
    left.append(storage / "peaks" / temporary)
    left[-1].parent.mkdir()
    others = [storage / f".{'1b' * 16}.tmp", storage / ".hidden.tmp"]  # one is under way
    for path in (*left, *others):
        path.touch()
    for path in (*left, others[1]):
        os.utime(path, (0.0, 0.0))
    assert run("clean", "--storage", storage, "--yes") == 0
    assert capsys.readouterr().out.count("killed while it wrote; --unreadable deletes it") == 3
    assert all(path.exists() for path in left)
    assert run("clean", "--storage", storage, "--unreadable", "--yes") == 0
    assert not any(path.exists() for path in left)
    assert all(path.exists() for path in others)


def test_a_command_that_is_asked_for_what_cannot_be_read_exits_with_2(littered, capsys):
    for words in (("watch", "2"), ("show", "cut"), ("clean", littered / "0003_other.json")):
        assert run(*words, "--storage", littered) == 2
        err = capsys.readouterr().err
        assert err.startswith("ansor-bench: bad ") and err.count("\n") == 1


def test_where_nothing_can_be_read_it_is_said(storage, capsys):
    (storage / "journals").mkdir(parents=True)
    (storage / "journals" / "0001.jsonl").touch()
    (storage / "0001_main.json").touch()
    for command in ("list", "history"):
        assert run(command, "--storage", storage) == 0
        assert "nothing saved in" in capsys.readouterr().out
    for words in (("watch",), ("show", "newest")):
        assert run(*words, "--storage", storage) == 2
        assert "got an empty file" in capsys.readouterr().err
