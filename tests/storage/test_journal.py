"""The journal's file: on disk line by line, cut short without harm, and otherwise not believed."""

from __future__ import annotations

import dataclasses
import errno
import fcntl
import gzip
import json
import os
import shutil
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_ansorbench.records import MachineState, Remeasurement, TaskRecord
from pytest_ansorbench.storage import (
    CutShortError,
    Journal,
    JournalTail,
    StorageError,
    UnwritableError,
    is_journal,
    journal_name,
    list_journals,
    read_journal,
    save_numbered,
    write_result,
)
from pytest_ansorbench.storage.entries import (
    JOURNAL_VERSION,
    OLDEST_JOURNAL_VERSION,
    CaseEntry,
    EndEntry,
    FinalEntry,
    LeadsEntry,
    NoiseEntry,
    RepeatEntry,
    RoundEntry,
    SearchState,
    SessionEntry,
    SetEntry,
)
from tests.disks import files_of_at_most
from tests.synthetic import MACHINE, make_result, make_run, make_trace

QUIET = MachineState(0.0, 0.0, None, None)
SESSION = SessionEntry(JOURNAL_VERSION, "2024-01-02T03:04:05+00:00", MACHINE, {}, {"trials": 4})
TASK = TaskRecord("conv2d", 1, 10, ())
CONDITIONS = {"trials": 4, "round_trials": 2}
DEFINITION = {"family": "Softmax", "fields": {"m": 2, "n": 3}}
CASE = CaseEntry(
    *("conv2d", "conv2d", "1", ("one",), None, 10, (TASK,), ("packed",), CONDITIONS),
    definition=DEFINITION,
)
REPEAT = RepeatEntry("conv2d", 7, {"cpu": "made up"}, QUIET)
RUN = make_run()
ROUNDS = [
    RoundEntry(
        "conv2d",
        7,
        "one",
        RUN.tasks[0].sketches,
        RUN.rounds[index],
        RUN.trials[2 * index : 2 * index + 2],
        "",
        SearchState("", "", 0, {"state": 2**100}),
    )
    for index in (0, 1)
]
SLICES = Remeasurement(3, "ok", (1.0, 2.0, 1.5), sets=(0, 0, 1), places=(1, 2, 5))
LEAD = Remeasurement(2, "ok", (4.0,), sets=(0,), places=(7,))
FINAL = FinalEntry("conv2d", 7, (make_run(final=1.0).final, SLICES), ((LEAD,), ()), 0.5, QUIET)
NOISE = NoiseEntry({"cpu": "made up"}, "end", "2024-01-02T03:04:05+00:00", make_trace(4))
SET = SetEntry("conv2d", 7, FINAL.finals, 0.25, 5.0)
LEADS = LeadsEntry("conv2d", 7, 0, ((LEAD,), ()), 0.5)
ENTRIES = (CASE, REPEAT, *ROUNDS, FINAL, NOISE, SET, LEADS, EndEntry(1))


@pytest.fixture
def written(tmp_path):
    with Journal.create(tmp_path, SESSION) as journal:
        for entry in ENTRIES:
            journal.append(entry)
    return journal.path


def test_what_is_written_is_read(written):
    past = read_journal(written)
    assert past.session == SESSION
    assert past.entries == ENTRIES
    assert past.finished
    assert (past.dropped, past.size) == (0, written.stat().st_size)


def test_journals_are_numbered_and_never_overwritten(tmp_path):
    paths = []
    for _ in range(3):
        with Journal.create(tmp_path, SESSION) as journal:
            paths.append(journal.path)
    assert [path.name for path in paths] == ["0001.jsonl", "0002.jsonl", "0003.jsonl"]
    (tmp_path / "journals" / "notes.txt").touch()
    assert list_journals(tmp_path) == tuple(paths)
    assert list_journals(tmp_path / "nowhere") == ()


def test_every_line_is_on_disk_before_the_next(tmp_path):
    with Journal.create(tmp_path, SESSION) as journal:
        for count, entry in enumerate(ENTRIES, start=1):
            journal.append(entry)
            assert read_journal(journal.path).entries == ENTRIES[:count]


def test_cut_anywhere_all_complete_lines_are_there(written, tmp_path):
    content = written.read_bytes()
    first = content.index(b"\n") + 1
    for size in (*range(first, len(content), 3), len(content)):
        cut = tmp_path / "cut.jsonl"
        cut.write_bytes(content[:size])
        past = read_journal(cut)
        assert past.entries == ENTRIES[: content[:size].count(b"\n") - 1]
        assert past.size + past.dropped == size
        assert past.finished == (size == len(content))


def test_going_on_writes_over_the_line_that_was_cut_short(written):
    content = written.read_bytes()
    written.write_bytes(content[:-20])
    past = read_journal(written)
    assert past.dropped > 0
    with Journal.reopen(past) as journal:
        journal.append(ENTRIES[-1])
    assert written.read_bytes() == content


def test_a_journal_of_the_version_without_definitions_is_read(written):
    text = written.read_text()
    older = text.replace(f'"journal_version":{JOURNAL_VERSION}', '"journal_version":9')
    older = older.replace(f',"definition":{json.dumps(DEFINITION, separators=(",", ":"))}', "")
    assert len(older) < len(text) - len("definition")
    written.write_text(older)
    assert read_journal(written).entries == (
        dataclasses.replace(CASE, definition=None),
        *ENTRIES[1:],
    )


@pytest.mark.parametrize(
    ("line", "change", "what"),
    [
        (1, lambda text: '{"kind":"end","cases":1}', "expected a journal's first line"),
        (
            1,
            lambda text: text.replace(
                f'"journal_version":{JOURNAL_VERSION}', '"journal_version":99'
            ),
            "version 99",
        ),
        (2, lambda text: text[: len(text) // 2], "expected JSON"),
        (2, lambda text: "", "expected JSON"),
        (
            3,
            lambda text: '{"kind":"other"}',
            "one of session, case, yardsticks, repeat, recorded, round, last-check, set, "
            "leads, final, abandoned, noise, end",
        ),
        (3, lambda text: "[]", "expected a line with a kind"),
        (3, lambda text: '{"kind":["end"]}', "expected a line with a kind"),
        (4, lambda text: text.replace('"ok"', '"okay"'), "trials"),
        (4, lambda text: text.replace('"seed":7', '"seed":NaN'), "NaN is no JSON value"),
        (5, lambda text: text.replace('"seed":7,', ""), "'seed', which is missing"),
        (5, lambda text: "[" * 100_000, "expected JSON"),
        (6, lambda text: text.replace("[4.0]", "[0.0]"), "leads[0][0].latencies_s (0.0,): "),
        (6, lambda text: text.replace('"leads_s":0.5', '"leads_s":-1'), "leads_s -1.0: expected"),
        (7, lambda text: text.replace("[0,1,1,0]", "[0,1,1,1]"), "0 and 1 in every two"),
        (8, lambda text: text.replace(":0.25", ":-1"), "elapsed_s -1.0: expected seconds"),
        (8, lambda text: text.replace(":5.0", ":0.0"), "slice_ms 0.0: expected milliseconds"),
        (9, lambda text: text.replace(":0.5", ":-1"), "elapsed_s -1.0: expected seconds"),
    ],
)
def test_damage_names_file_and_line(written, line, change, what):
    lines = written.read_text().splitlines()
    lines[line - 1] = change(lines[line - 1])
    written.write_text("\n".join(lines) + "\n")
    with pytest.raises(StorageError, match="bad journal") as caught:
        read_journal(written)
    assert f"{written.name}', line {line}: " in str(caught.value)
    assert what in str(caught.value)


def test_what_is_no_journal_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "none.jsonl"):
        with pytest.raises(StorageError, match="expected an existing file"):
            read_journal(path)


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (lambda lines: b"", "first line, got an empty file; a kill or a power cut leaves it so"),
        (lambda lines: bytes(4096), "first line, got NUL bytes alone"),
        (lambda lines: lines[0][:9], "first line, got one that was cut short"),
        (lambda lines: lines[0].rstrip(), "first line, got one that was cut short"),
    ],
    ids=["empty", "NUL", "a few bytes", "no newline"],
)
def test_a_journal_that_holds_nothing_is_told_from_one_that_was_changed(written, damage, what):
    written.write_bytes(damage(written.read_bytes().splitlines(keepends=True)))
    for read in (read_journal, lambda path: JournalTail(path).read()):
        with pytest.raises(CutShortError, match=what):
            read(written)


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (lambda lines: b'{"benchmarks": []}\n', "'session'; was it written by another tool"),
        (lambda lines: b'{"benchmarks": []}', "'session'; was it written by another tool"),
        (lambda lines: b"\x89PNG\n\x00", "'session'; was it written by another tool"),
        (lambda lines: lines[1], "'session'; was it written by another tool"),
        (
            lambda lines: b'{"kind": "session", "journal_version": 1, "other": 1}\n',
            f"journal_version 1 is not {OLDEST_JOURNAL_VERSION} to {JOURNAL_VERSION}, which this "
            "version of pytest-ansorbench reads; the one that wrote it goes on with it",
        ),
        (lambda lines: b"".join(lines).replace(b'"seed":7', b'"seed":x', 1), "but changed"),
    ],
    ids=["foreign", "one line", "binary", "no session", "another version", "changed"],
)
def test_a_journal_of_others_is_told_from_one_that_holds_nothing(written, damage, what):
    written.write_bytes(damage(written.read_bytes().splitlines(keepends=True)))
    for read in (read_journal, lambda path: JournalTail(path).read()):
        with pytest.raises(StorageError) as caught:
            read(written)
        assert what in str(caught.value)
        assert not isinstance(caught.value, CutShortError)


def test_without_locks_a_journal_is_written_and_says_so(written, monkeypatch):
    def no_locks(*asked):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", no_locks)
    with Journal.reopen(read_journal(written)) as journal:
        assert journal.unlocked == "No locks available"
        journal.append(NOISE)
    assert read_journal(written).entries == (*ENTRIES, NOISE)


def test_a_journal_is_written_by_one_session_at_a_time(written):
    past = read_journal(written)
    with Journal.reopen(past), pytest.raises(StorageError, match="another session is writing it"):
        Journal.reopen(past)
    Journal.reopen(past).close()


def test_lines_that_came_since_it_was_read_are_not_cut_off(written):
    past = read_journal(written)
    with Journal.reopen(past) as journal:
        journal.append(NOISE)
    content = written.read_bytes()
    with pytest.raises(StorageError, match="another session has written it since it was read"):
        Journal.reopen(past)
    assert written.read_bytes() == content


@pytest.mark.parametrize(
    "write",
    [
        lambda folder: Journal.create(folder, SESSION),
        lambda folder: save_numbered(make_result(), folder, "main"),
        lambda folder: write_result(make_result(), folder / "result.json"),
    ],
)
def test_what_cannot_be_written_is_told_in_one_way(tmp_path, write):
    (tmp_path / "file").touch()
    told = "expected a place to write to, got 'Not a directory'; check the folder's permissions"
    with pytest.raises(UnwritableError, match=told):
        write(tmp_path / "file" / "folder")


@settings(
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_any_bytes_are_a_journal_or_refused(tmp_path, data):
    """Fuzz: random bytes, and a journal with a random piece replaced."""
    path = tmp_path / "fuzzed.jsonl"
    with Journal.create(tmp_path, SESSION) as journal:
        for entry in ENTRIES:
            journal.append(entry)
    content = journal.path.read_bytes()
    journal.path.unlink()
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, min(len(content), start + 40)))
    path.write_bytes(content[:start] + data.draw(st.binary(max_size=40)) + content[end:])
    try:
        read_journal(path)
    except StorageError as error:
        assert "bad journal" in str(error)


KILLED = """
import os, random, signal, sys, time
from pathlib import Path
from pytest_ansorbench.storage.entries import JOURNAL_VERSION, EndEntry, SessionEntry
from pytest_ansorbench.storage.journal import Journal

def write(folder, announce):
    journal = Journal.create(folder, SessionEntry(JOURNAL_VERSION, "", {}, {}, {}))
    count = 0
    while True:
        journal.append(EndEntry(count))
        count += 1
        os.write(announce, b".")  # only what is on disk is announced

moments = random.Random(0)
for number in range(50):
    announced, announce = os.pipe()
    child = os.fork()
    if child == 0:
        write(Path(sys.argv[1]) / str(number), announce)
    os.close(announce)
    count = len(os.read(announced, 1))
    time.sleep(moments.uniform(0.0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while dots := os.read(announced, 65536):
        count += len(dots)
    os.close(announced)
    print(count)
"""


def test_killed_at_fifty_random_moments_nothing_announced_is_lost(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    counts = [int(line) for line in done.stdout.splitlines()]
    assert len(counts) == 50 and all(counts)
    for number, announced in enumerate(counts):
        *_, path = list_journals(tmp_path / f"{number}")
        entries = read_journal(path).entries
        assert [entry.cases for entry in entries] == list(range(len(entries)))
        assert announced <= len(entries) <= announced + 1


def test_lines_are_plain_json(written):
    lines = [json.loads(line) for line in written.read_text().splitlines()]
    assert [line["kind"] for line in lines] == [
        *("session", "case", "repeat", "round", "round", "final", "noise", "set", "leads", "end")
    ]


@pytest.fixture
def packed(written):
    """A journal that is over."""
    with Journal.reopen(read_journal(written)) as journal:
        journal.pack()
    return journal.path


def test_a_journal_that_is_over_is_compressed_and_read_by_both_names(written, packed):
    assert (packed.name, written.exists()) == ("0001.jsonl.gz", False)
    for path in (packed, written):
        past = read_journal(path)
        assert (past.path, past.entries, past.dropped) == (packed, ENTRIES, 0)
    assert list(packed.parent.iterdir()) == [packed]


def test_many_rounds_take_a_fraction_of_the_room(tmp_path):
    with Journal.create(tmp_path, SESSION) as journal:
        for entry in (CASE, *[NOISE] * 200):
            journal.append(entry)
        size = journal.path.stat().st_size
        journal.pack()
    assert journal.path.stat().st_size < size / 5


def test_going_on_with_a_compressed_journal_unpacks_it(written, packed):
    with Journal.reopen(read_journal(packed)) as journal:
        journal.append(NOISE)
    assert (journal.path, packed.exists()) == (written, False)
    assert read_journal(written).entries == (*ENTRIES, NOISE)


def test_compressed_journals_keep_their_numbers(tmp_path, packed):
    with Journal.create(tmp_path, SESSION) as journal:
        assert journal.path.name == "0002.jsonl"
    assert [path.name for path in list_journals(tmp_path)] == ["0001.jsonl.gz", "0002.jsonl"]
    assert [journal_name(path) for path in list_journals(tmp_path)] == ["0001", "0002"]
    assert all(map(is_journal, list_journals(tmp_path)))
    assert not is_journal(tmp_path / "result.json")


def test_killed_while_it_is_compressed_it_counts_as_it_was(tmp_path, written):
    content = written.read_bytes()
    with Journal.reopen(read_journal(written)) as journal:
        journal.pack()
    written.write_bytes(content)
    assert list_journals(tmp_path) == (written,)


def test_a_damaged_compressed_journal_is_refused(packed):
    content = packed.read_bytes()
    flipped = bytes([content[40] ^ 0xFF])
    for damage in (content[:-20], b"nothing of the kind", content[:40] + flipped + content[41:]):
        packed.write_bytes(damage)
        with pytest.raises(StorageError, match="bad journal"):
            read_journal(packed)


def test_what_unpacks_without_measure_is_refused_before_it_fills_memory(packed):
    packed.write_bytes(packed.read_bytes() + gzip.compress(b"\n" * (65 << 20), 1))
    with pytest.raises(StorageError, match=r"bad journal .*more than 100 times what is"):
        read_journal(packed)


def test_where_it_cannot_be_compressed_it_stays(written, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", full)
    with (
        Journal.reopen(read_journal(written)) as journal,
        pytest.raises(StorageError, match="No space left on device"),
    ):
        journal.pack()
    assert list(written.parent.iterdir()) == [written]
    assert read_journal(written).entries == ENTRIES


def test_nobody_else_goes_on_with_it_while_it_is_compressed_or_unpacked(written, monkeypatch):
    copy, refused = shutil.copyfileobj, []

    def meanwhile(*streams):
        with pytest.raises(StorageError, match="another session is writing it"):
            Journal.reopen(past)
        refused.append(past.path.name)
        copy(*streams)

    monkeypatch.setattr("shutil.copyfileobj", meanwhile)
    past = read_journal(written)
    Journal.reopen(past).pack()
    past = read_journal(written)
    Journal.reopen(past).close()
    assert refused == ["0001.jsonl", "0001.jsonl.gz"]
    assert read_journal(written).entries == ENTRIES


def test_a_journal_that_is_compressed_before_it_can_be_locked_is_refused(written, monkeypatch):
    past, lock = read_journal(written), fcntl.flock

    def late(*asked):
        monkeypatch.setattr("fcntl.flock", lock)
        Journal.reopen(past).pack()
        lock(*asked)

    monkeypatch.setattr("fcntl.flock", late)
    with pytest.raises(StorageError, match="another session has written it since it was read"):
        Journal.reopen(past)


def test_a_tail_gives_every_line_once_when_it_is_complete(written, tmp_path):
    content, path = written.read_bytes(), tmp_path / "tail.jsonl"
    first = content.index(b"\n") + 1
    tail, seen = JournalTail(path), []
    for end in range(first, len(content) + 97, 97):
        path.write_bytes(content[:end])
        seen += tail.read()
    assert tuple(seen) == (SESSION, *ENTRIES)
    assert tail.read() == []


def test_a_tail_goes_on_when_the_journal_is_compressed(written):
    tail = JournalTail(written)
    past = read_journal(written)
    assert len(tail.read()) == 1 + len(ENTRIES)
    with Journal.reopen(past) as journal:
        journal.append(NOISE)
        journal.pack()
    assert tail.read() == [NOISE]


def test_a_line_that_does_not_fit_is_taken_back_whole(written):
    past = read_journal(written)
    with Journal.reopen(past) as journal:
        assert journal.is_whole
        with (
            files_of_at_most(past.size + 100),
            pytest.raises(StorageError, match="got 'File too large'; check the folder's"),
        ):
            journal.append(ROUNDS[0])
        assert not journal.is_whole
        assert written.stat().st_size == past.size
        journal.append(NOISE)
    assert read_journal(written).entries == (*ENTRIES, NOISE)


def test_a_line_that_is_interrupted_is_taken_back_whole(written, monkeypatch):
    """It may be written again, as by a plugin that runs a test anew after its time limit."""
    with Journal.reopen(read_journal(written)) as journal:
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(os, "fsync", interrupted)
            journal.append(NOISE)
        assert journal.is_whole
        journal.append(NOISE)
    assert read_journal(written).entries == (*ENTRIES, NOISE)


def interrupted(*_):
    raise KeyboardInterrupt


def test_a_journal_that_cannot_begin_leaves_no_file(tmp_path):
    with files_of_at_most(10), pytest.raises(UnwritableError):
        Journal.create(tmp_path, SESSION)
    assert not list_journals(tmp_path)
    with Journal.create(tmp_path, SESSION) as journal:
        assert journal.path.name == "0001.jsonl"


def test_other_lines_take_a_journals_place_whole(tmp_path, monkeypatch):
    with Journal.create(tmp_path, SESSION) as journal:
        journal.append(CASE)
        old = journal.path
    past = read_journal(old)
    session = dataclasses.replace(SESSION, settings={"trials": 8})

    def killed(*paths):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("pytest_ansorbench.storage.files.os.replace", killed)
        Journal.rewritten(past, session, [CASE, REPEAT])
    assert list_journals(tmp_path) == (old,) and read_journal(old) == past
    new = Journal.rewritten(past, session, [CASE, REPEAT])
    assert list_journals(tmp_path) == (new.path,) and journal_name(new.path) == "0002"
    assert (new.session, new.entries) == (session, (CASE, REPEAT))
    assert read_journal(new.path) == new


def test_a_journal_that_is_being_written_keeps_its_place(tmp_path):
    with Journal.create(tmp_path, SESSION) as journal:
        past = read_journal(journal.path)
        with pytest.raises(StorageError, match="another session is writing it"):
            Journal.rewritten(past, SESSION, [CASE])
        assert list_journals(tmp_path) == (journal.path,)


def test_a_compressed_journal_can_be_taken_the_place_of(tmp_path):
    journal = Journal.create(tmp_path, SESSION)
    journal.append(EndEntry(0))
    journal.pack()
    new = Journal.rewritten(read_journal(journal.path), SESSION, [CASE])
    assert [path.name for path in (tmp_path / "journals").iterdir()] == ["0002.jsonl"]
    assert new.entries == (CASE,)
