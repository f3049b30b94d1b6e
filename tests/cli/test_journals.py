"""The commands about journals: watch and clean."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

import pytest
from distributed import Client

from pytest_ansorbench.cli import main
from pytest_ansorbench.cluster.workers import ClusterWatch, block_key
from pytest_ansorbench.records import Result
from pytest_ansorbench.storage import Journal, list_journals, write_result
from pytest_ansorbench.storage.entries import EndEntry
from tests.cluster import dask_processes
from tests.cluster.dask_processes import wait_until
from tests.storage.test_journal import CASE, FINAL, REPEAT, ROUNDS, SESSION
from tests.synthetic import make_case_result, make_result, make_run

COMPLETE = (CASE, REPEAT, *ROUNDS, dataclasses.replace(FINAL, finals=FINAL.finals[:1], leads=None))
ENTRIES = (*COMPLETE, EndEntry(1))


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


def result(*seeds: int) -> Result:
    """The result of the journal's session."""
    runs = [make_run(seed=seed, final=1.0) for seed in seeds]
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
    with (
        dask_processes.cluster(tmp_path, "free", "busy") as cluster,
        Client(cluster.address, timeout=30.0, set_as_default=False) as client,
    ):
        client.wait_for_workers(2, timeout=30.0)
        key = block_key("5e55", "conv1d-n1-k3", 7, "a1b2")
        asked = client.submit(time.sleep, 600.0, key=key, workers=["busy"])
        wait_until(lambda: any(client.processing().values()))
        assert run("watch", cluster.address) == 0
        asked.cancel()
    shown = capsys.readouterr().out
    assert "2 workers, 1/2 at work" in shown
    [busy, free] = [line.split() for line in shown.splitlines() if line[:4] in ("free", "busy")]
    assert busy == ["busy", "5e55", "conv1d-n1-k3", "7"]
    assert free == ["free", "-", "-", "-"]


def test_watch_says_where_there_is_no_scheduler(monkeypatch, capsys):
    monkeypatch.setattr(ClusterWatch.__init__, "__defaults__", (1.0,))
    assert run("watch", "127.0.0.1:9") == 2
    assert "no Dask scheduler at tcp://127.0.0.1:9 within 1 s" in capsys.readouterr().err


@pytest.mark.parametrize("which", ["1", "0001"])
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


def test_clean_takes_results_from_elsewhere(storage, capsys, tmp_path):
    write(storage, *ENTRIES)
    write_result(result(7), tmp_path / "pr.json")
    assert run("clean", tmp_path / "pr.json", "--yes", "--storage", storage) == 0
    assert list_journals(storage) == ()


@pytest.mark.parametrize(
    ("entries", "seeds", "reason"),
    [
        (COMPLETE, (7,), "its session can be resumed"),
        (ENTRIES, (8,), "no result has all its runs"),
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


def test_clean_refuses_what_is_no_result(storage, capsys, tmp_path):
    write(storage, *ENTRIES)
    assert run("clean", tmp_path / "nowhere.json", "--storage", storage) == 2
    assert "nowhere.json" in capsys.readouterr().err
