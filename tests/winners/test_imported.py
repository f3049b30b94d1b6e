"""A database of stock TVM's, read as a result: what was exported comes back."""

from __future__ import annotations

import pytest

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.storage import read_result, write_result
from pytest_ansorbench.winners import (
    DatabaseError,
    export_database,
    import_database,
    winners_of,
)
from pytest_ansorbench.workloads import BatchMatmul
from tests.winners.conftest import MATMUL, MLP

OTHER = BatchMatmul(batch=1, m=8, n=8, k=8)


@pytest.fixture
def database(tuned, tmp_path):
    target = resolve_target(None)
    export_database(((one, target) for one in winners_of(tuned)), tmp_path / "db", top=9)
    return tmp_path / "db"


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


def test_tasks_after_one_without_records_come_back(tuned, target, tmp_path):
    later = [one for one in winners_of(tuned) if one.case == MLP.id and one.place > 0]
    export_database(((one, target) for one in later), tmp_path / "db", top=9)
    [case] = import_database(tmp_path / "db", [MLP], "mine").result.cases
    first, *others = case.runs[0].schedules
    assert first is None and others and all(others)


def test_a_folder_without_a_database_is_refused(tmp_path):
    with pytest.raises(DatabaseError, match=r"it has no database_workload\.json"):
        import_database(tmp_path, [MATMUL], "mine")


def test_a_damaged_database_is_refused(database):
    (database / "database_tuning_record.json").write_text("[0, [[")
    with pytest.raises(DatabaseError, match="this version of TVM cannot read it"):
        import_database(database, [MATMUL], "mine")
