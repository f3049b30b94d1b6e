"""A database of stock TVM's, read as a result: what was exported comes back."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.local.interpreter import Interpreter
from pytest_ansorbench.storage import read_result, write_result
from pytest_ansorbench.winners import (
    DatabaseError,
    export_database,
    import_database,
    reading,
    winners_of,
)
from pytest_ansorbench.winners.reading import parsed, read_database, sound_lines
from pytest_ansorbench.workloads import BatchMatmul
from tests.forked_servers import ForkedInterpreter
from tests.interpreters import ROOT
from tests.winners.conftest import MATMUL, MLP

OTHER = BatchMatmul(batch=1, m=8, n=8, k=8)
READER = ("pytest_ansorbench.winners.reader_main", "tvm.s_tir.meta_schedule")


@pytest.fixture(autouse=True)
def forked_reader(monkeypatch):
    """The process that reads is forked off one that has imported TVM."""

    def forked(python, module, options):
        return ForkedInterpreter(module, READER, options, {})

    monkeypatch.setattr(reading, "Interpreter", forked)


@pytest.fixture(scope="module")
def exported(tuned, tmp_path_factory):
    target = resolve_target(None)
    folder = tmp_path_factory.mktemp("exported") / "db"
    export_database(((one, target) for one in winners_of(tuned)), folder, top=9)
    return folder


@pytest.fixture
def database(exported, tmp_path):
    return Path(shutil.copytree(exported, tmp_path / "db"))


def test_the_best_schedules_come_back(tuned, database, tmp_path):
    imported = import_database(database, [MATMUL, MLP, OTHER], "mine")
    assert imported.left_out == 0 and imported.records >= 4
    write_result(imported.result, tmp_path / "imported.json")
    again = read_result(tmp_path / "imported.json")
    assert [case.case for case in again.cases] == [MATMUL.id, MLP.id]
    for winner in winners_of(again):
        before = [w for w in winners_of(tuned) if (w.case, w.place) == (winner.case, winner.place)]
        best = min(before, key=lambda one: one.latency_s)
        assert winner.latency_s == pytest.approx(best.latency_s)
        assert winner.strategy == "mine"
        assert str(winner.candidate().mod) == str(best.candidate().mod)


def test_records_of_other_programs_are_left_out(database):
    imported = import_database(database, [MATMUL], "mine")
    assert [case.case for case in imported.result.cases] == [MATMUL.id]
    assert imported.left_out > 0
    nothing = import_database(database, [OTHER], "mine")
    assert nothing.records == 0 and nothing.result.cases == ()
    twice = import_database(database, [MATMUL, MATMUL], "mine")
    assert (twice.records, twice.left_out) == (imported.records, imported.left_out)
    assert twice.result.cases == imported.result.cases


def test_records_of_another_target_are_a_run_of_their_own(database, tmp_path):
    before = [case.runs for case in import_database(database, [MATMUL], "mine").result.cases]
    path = database / RECORDS
    place, record = json.loads(path.read_text().splitlines()[0])
    record[1], record[2] = [1.0], {**record[2], "num-cores": 999}
    with path.open("a") as file:
        file.write(f"{json.dumps([place, record])}\n")
    write_result(import_database(database, [MATMUL], "mine").result, tmp_path / "imported.json")
    again = read_result(tmp_path / "imported.json")
    [(first, second)] = [case.runs for case in again.cases]
    assert [(first,)] == before and (second.seed, len(second.trials)) == (1, 1)
    assert json.loads(again.machines[second.machine]["target"])["num-cores"] == 999


def test_tasks_after_one_without_records_come_back(tuned, target, tmp_path):
    later = [one for one in winners_of(tuned) if one.case == MLP.id and one.place > 0]
    export_database(((one, target) for one in later), tmp_path / "db", top=9)
    [case] = import_database(tmp_path / "db", [MLP], "mine").result.cases
    first, *others = case.runs[0].schedules
    assert first is None and others and all(others)


def test_a_folder_without_a_database_is_refused(tmp_path):
    with pytest.raises(DatabaseError, match=r"it has no database_workload\.json"):
        import_database(tmp_path, [MATMUL], "mine")


RECORDS = "database_tuning_record.json"
WORKLOADS = "database_workload.json"


@pytest.mark.parametrize("name", [RECORDS, WORKLOADS])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text + "\n\n",
        lambda text: "\n" + text.replace("\n", "\n \n"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.rstrip("\n"),
        lambda text: text + "\0" * 4096,
    ],
    ids=["blank lines", "more of them", "CRLF", "no newline", "NUL bytes"],
)
def test_what_an_editor_or_a_disk_adds_changes_nothing(database, name, spoil):
    before = sound_lines(database)
    assert before.records and before.workloads and not before.dropped
    path = database / name
    path.write_bytes(spoil(path.read_text()).encode())
    assert sound_lines(database) == before


@pytest.mark.parametrize("kept", [1, 20, -10])
def test_a_last_line_that_was_cut_short_is_dropped(database, kept):
    before = sound_lines(database)
    path = database / RECORDS
    text = path.read_text()
    path.write_text(text + text.splitlines()[0][:kept])
    after = sound_lines(database)
    assert after.records == before.records
    told = f"{RECORDS}: its last line, {len(before.records) + 1}, which was cut short"
    assert after.dropped == (told,)


def test_what_is_whole_comes_back_past_a_failed_record_and_one_cut_short(database):
    first, *others = (database / RECORDS).read_text().splitlines()
    failed = json.loads(first)
    failed[1][1] = [1e10]
    lines = [json.dumps(failed), *others, first[:50]]
    (database / RECORDS).write_text("\n".join(lines))
    imported = import_database(database, [MATMUL, MLP], "mine")
    assert imported.records + imported.left_out == 1 + len(others)
    assert imported.records >= len(others)
    assert len(imported.dropped) == 1


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (RECORDS, "[0, [["),
        *((RECORDS, line) for line in ("null", "5", "{}", "[]", "[0]", "[0, null]", "[0, []]")),
        *((RECORDS, f"[{place}, [[[], []], [1.0], {{}}, []]]") for place in ("-1", "999", "true")),
        (RECORDS, '["0", [[[], []], [1.0], {}, []]]'),
        (RECORDS, "[0, [[[], []], 1.0, {}, []]]"),
        (RECORDS, "[0, [null, [1.0], {}, []]]"),
        *((WORKLOADS, line) for line in ("null", "[]", '["1"]', '["1", 2]', "[[[[")),
    ],
)
def test_a_line_that_is_none_is_named_before_tvm_sees_it(database, name, line, monkeypatch):
    monkeypatch.setattr("pytest_ansorbench.winners.reading.Interpreter", None)
    path = database / name
    path.write_text(f"{line}\n{path.read_text()}")
    with pytest.raises(DatabaseError, match=rf"line 1 of {re.escape(name)} is no "):
        import_database(database, [MATMUL], "mine")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (RECORDS, '[0, [[[["NoSuchInstruction", [], [], []]], []], [1.0], {"kind": "llvm"}, []]]'),
        (WORKLOADS, '["1", "bm8gbW9kdWxl"]'),
    ],
)
def test_what_tvm_cannot_read_is_refused(database, name, line):
    path = database / name
    path.write_text(f"{path.read_text()}{line}\n")
    with pytest.raises(DatabaseError, match="this version of TVM cannot read it: "):
        import_database(database, [MATMUL], "mine")


def test_a_parser_that_dies_is_told_of(tmp_path, monkeypatch):
    def dying(python, module, options):
        return Interpreter(python, "tests.winners.dying", options, {"PYTHONPATH": str(ROOT)})

    monkeypatch.setattr(reading, "Interpreter", dying)
    with pytest.raises(DatabaseError, match="cannot read it: worker died of SIGABRT"):
        parsed(Path("theirs"), tmp_path)


def test_an_empty_database_has_no_records(database):
    for name in (RECORDS, WORKLOADS):
        (database / name).write_bytes(b"")
    assert read_database(database) == ([], ())
