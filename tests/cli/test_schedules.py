"""`ansor-bench schedule`: what it prints, and what it asks for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_ansorbench.cli import main
from pytest_ansorbench.storage import Journal, write_result
from pytest_ansorbench.winners import winners_of
from pytest_ansorbench.workloads import MATRIX_NORM
from tests.disks import files_of_at_most
from tests.storage.test_journal import SESSION
from tests.synthetic import make_case_result, make_result
from tests.winners.conftest import MATMUL, MLP, tuned

__all__ = ["tuned"]


@pytest.fixture
def path(tuned, tmp_path):
    write_result(tuned, tmp_path / "tuned.json")
    return str(tmp_path / "tuned.json")


def test_the_fastest_is_printed_as_trace_and_program(tuned, path, capsys):
    assert main(["schedule", path, MATMUL.id]) == 0
    out = capsys.readouterr().out
    best = min((w for w in winners_of(tuned) if w.case == MATMUL.id), key=lambda w: w.latency_s)
    head = f"# {MATMUL.id}, {best.strategy}, seed {best.seed}, {best.task.name}: "
    assert out.startswith(f"{head}{1e3 * best.latency_s:.4g} ms")
    assert "sch.sample_perfect_tile" in out and "@T.prim_func" in out


@pytest.mark.parametrize(
    ("only", "there", "missing"),
    [("trace", "sch.split", "T.prim_func"), ("program", "T.prim_func", "sch.split")],
)
def test_one_of_both_can_be_had_alone(path, capsys, only, there, missing):
    words = ["--strategy", "again", "--seed", "1", "--only", only]
    assert main(["schedule", path, MATMUL.id, *words]) == 0
    out = capsys.readouterr().out
    assert "again, seed 1" in out and there in out and missing not in out


@pytest.mark.parametrize("task", ["0", "name"])
def test_a_task_of_a_network_goes_by_the_id_of_tables_or_by_name(path, capsys, task):
    name = MLP.tasks()[0].name
    assert main(["schedule", path, MLP.id, "--task", name if task == "name" else task]) == 0
    assert f", {name}: " in capsys.readouterr().out.splitlines()[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], f"expected a case, one of: {MATMUL.id}, {MLP.id}"),
        (["conv9d"], f"bad case 'conv9d': expected one of: {MATMUL.id}, {MLP.id}"),
        ([MATMUL.id, "--strategy", "x"], "bad --strategy 'x': expected one of: random, again"),
        ([MATMUL.id, "--seed", "7"], "bad --seed '7': expected one of: 0, 1"),
        ([MLP.id], "expected --task, one of: 0 "),
        ([MLP.id, "--task", "99"], "bad --task '99': expected one of: 0 "),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(path, capsys, words, message):
    assert main(["schedule", path, *words]) == 2
    assert message in capsys.readouterr().err


def test_what_takes_tvm_says_that_it_cannot_be_imported(path, tmp_path, monkeypatch, capsys):
    with Journal.create(tmp_path, SESSION) as begun:
        journal = str(begun.path)
    monkeypatch.setitem(sys.modules, "tvm", None)
    for words in (
        ["schedule", path, MATMUL.id],
        ["landscape", "check", "--programs", "recorded.json.gz"],
        ["train-draft", "--from", journal, "-o", str(tmp_path / "draft.ubj")],
    ):
        assert main(words) == 2
        assert capsys.readouterr().err.startswith("ansor-bench: cannot import tvm (")


def test_a_result_without_schedules_says_so(tmp_path, capsys):
    write_result(make_result(make_case_result()), tmp_path / "old.json")
    assert main(["schedule", str(tmp_path / "old.json")]) == 2
    assert "it keeps no schedules" in capsys.readouterr().err


def test_an_export_is_read_by_stock_tvm_and_not_written_over(tuned, path, tmp_path, capsys):
    from tvm.s_tir import meta_schedule as ms

    folder = str(tmp_path / "database")
    words = ["export", path, "--database", folder, "--case", MATMUL.id, "--top", "9"]
    assert main(words) == 0
    different = len({one.schedule for one in winners_of(tuned) if one.case == MATMUL.id})
    assert f"programs: 1, schedules: {different};" in capsys.readouterr().out
    database = ms.database.JSONDatabase(work_dir=folder)
    assert len(database) == different and database.has_workload(MATMUL.tasks()[0].mod)
    assert main(words) == 2
    assert "--database: bad folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--top", "0"], "bad --top 0: expected at least 1"),
        (["--case", "conv9d"], f"bad --case 'conv9d': expected one of: {MATMUL.id}, {MLP.id}"),
        (["--strategy", "x"], "bad --strategy 'x': expected one of: random, again"),
    ],
)
def test_an_export_of_what_is_not_there_is_refused(path, tmp_path, capsys, words, message):
    assert main(["export", path, "--database", str(tmp_path / "database"), *words]) == 2
    assert message in capsys.readouterr().err


def test_a_journal_that_is_not_there_is_refused(tmp_path, capsys):
    missing = str(tmp_path / "0001.jsonl")
    assert main(["export", missing, "--database", str(tmp_path / "database")]) == 2
    assert "0001.jsonl" in capsys.readouterr().err


@pytest.mark.slow
def test_what_was_exported_can_be_imported_and_compared(tuned, path, tmp_path, capsys, monkeypatch):
    database, imported = str(tmp_path / "database"), str(tmp_path / "imported.json")
    assert main(["export", path, "--database", database]) == 0
    words = ["import", "--database", database, "-o", imported]
    # Making all shipped operators takes eight seconds.
    monkeypatch.setattr("pytest_ansorbench.workloads.OPERATORS", MATRIX_NORM)
    assert main(words) == 2
    assert "none of its" in capsys.readouterr().err
    monkeypatch.setattr("pytest_ansorbench.workloads.get", lambda name: MATMUL)
    with (tmp_path / "database" / "database_tuning_record.json").open("a") as records:
        records.write("[0, [[")
    assert main([*words, "--case", MATMUL.id, "--strategy", "mine"]) == 0
    out = capsys.readouterr().out
    assert "left out: database_tuning_record.json: its last line, " in out
    assert "cases: 1, records: 1" in out
    assert main(["schedule", imported]) == 0
    assert f"# {MATMUL.id}, mine, seed 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--case", "conv9d"], "bad --case: bad case 'conv9d'"),
        (["--strategy", "a,b"], "bad strategy name 'a,b': expected a word without commas"),
        ([], "it has no database_workload.json"),
    ],
)
def test_imports_of_nothing_are_refused(tmp_path, capsys, words, message):
    output = str(tmp_path / "x.json")
    assert main(["import", "--database", str(tmp_path), "-o", output, *words]) == 2
    assert message in capsys.readouterr().err


def test_a_database_that_is_imported_is_not_written_over(tmp_path, capsys):
    file = tmp_path / "database_workload.json"
    file.write_text("[]")
    assert main(["import", "--database", str(tmp_path), "-o", str(file)]) == 2
    assert "database_workload.json': it is read; expected another" in capsys.readouterr().err
    assert file.read_text() == "[]"


def test_an_export_that_does_not_fit_leaves_no_database(path, tmp_path, capsys):
    folder = tmp_path / "database"
    with files_of_at_most(1000):
        assert main(["export", path, "--database", str(folder)]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert [*folder.iterdir()] == []
    assert main(["export", path, "--database", str(folder)]) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="takes a disk that is always full")
def test_output_that_does_not_arrive_is_said_in_a_sentence(path, monkeypatch, capsys):
    with open("/dev/full", "w", encoding="utf-8") as full:
        monkeypatch.setattr("sys.stdout", full)
        assert main(["schedule", path, MATMUL.id]) == 2
    assert (
        capsys.readouterr().err == "ansor-bench: cannot write the output: No space left on device\n"
    )
