"""Databases that stock TVM compiles with, as they are."""

from __future__ import annotations

import dataclasses
import os

import numpy as np
import pytest

from pytest_ansorbench.winners import (
    DatabaseError,
    database_of,
    export_database,
    replace_database,
    winners_of,
)
from pytest_ansorbench.winners.database import DATABASE_FILES
from pytest_ansorbench.workloads.networks.apply import with_schedules
from pytest_ansorbench.workloads.networks.to_relax import to_relax
from tests.winners.conftest import MATMUL, MLP

FILES = {*DATABASE_FILES}


def opened(folder):
    from tvm.s_tir import meta_schedule as ms

    return ms.database.JSONDatabase(work_dir=str(folder))


@pytest.fixture
def exported(tuned, target, tmp_path):
    export_database(((one, target) for one in winners_of(tuned)), tmp_path / "database")
    return tmp_path / "database"


def test_stock_tvm_finds_the_fastest_schedule(tuned, target, exported):
    from tvm.s_tir import meta_schedule as ms
    from tvm_ffi import structural_equal

    task = MATMUL.tasks()[0]
    schedule = ms.tir_integration.compile_tir(opened(exported), task.mod, target)
    best = min((w for w in winners_of(tuned) if w.case == MATMUL.id), key=lambda w: w.latency_s)
    assert structural_equal(schedule.mod, best.candidate().mod)


def test_stock_tvm_compiles_a_network_with_it(tuned, target, exported, capfd):
    import tvm
    from tvm import relax
    from tvm.s_tir import meta_schedule as ms
    from tvm_ffi import structural_equal

    database, tasks = opened(exported), MLP.tasks()
    assert all(database.has_workload(task.mod) for task in tasks)
    fused = MLP.program()
    best = [database.query_ir_module(task.mod, target, task.name) for task in tasks]
    assert not structural_equal(with_schedules(fused, tasks, best), fused)

    def compiled_with(records):
        return ms.relax_integration.compile_relax(
            records, to_relax(MLP.graph()), target, params=None, enable_warning=True
        )

    executable = compiled_with(database)
    assert "Tuning record is not found" not in capfd.readouterr().err
    compiled_with(ms.database.MemoryDatabase())
    assert "Tuning record is not found" in capfd.readouterr().err
    arguments = [np.asarray(one) for one in MLP.arguments()]
    machine = relax.VirtualMachine(executable, tvm.cpu())
    output = machine["main"](*(tvm.runtime.tensor(one) for one in arguments))
    assert np.isfinite(output.numpy()).all()


def test_as_many_as_are_wanted_are_kept_and_equal_ones_once(tuned, target, tmp_path):
    of_matmul = [one for one in winners_of(tuned) if one.case == MATMUL.id]
    different = len({one.schedule for one in of_matmul})
    pairs = [(one, target) for one in (*of_matmul, *of_matmul)]
    everything = export_database(pairs, tmp_path / "all", top=99)
    assert (everything.workloads, everything.records) == (1, different)
    assert export_database(pairs, tmp_path / "one").records == 1
    assert everything.left_out == ()


def test_what_does_not_apply_is_left_out_and_said(tuned, target, tmp_path):
    good, *_ = winners_of(tuned)
    bad = dataclasses.replace(good, schedule="%", latency_s=1e-12)
    exported = export_database([(bad, target), (good, target)], tmp_path / "database")
    assert exported.records == 1
    [why] = exported.left_out
    assert why.startswith(f"{MATMUL.id}, {MATMUL.id}: expected packed text")


def test_a_program_that_cannot_be_read_is_left_out_and_said_once(tuned, target, tmp_path):
    """As that of another version of TVM is."""
    winners = [*winners_of(tuned)]
    pairs = [
        (dataclasses.replace(one, program="%") if one.case == MATMUL.id else one, target)
        for one in winners
    ]
    exported = export_database(pairs, tmp_path / "database")
    assert exported.workloads == len(MLP.tasks()) == len(opened(tmp_path / "database"))
    [why] = exported.left_out
    assert why.startswith(f"{MATMUL.id}, {MATMUL.id}: expected packed text")
    assert len(database_of(pairs)) == exported.records


def test_a_database_that_is_there_is_not_touched(tuned, target, exported):
    before = [path.read_bytes() for path in sorted(exported.iterdir())]
    with pytest.raises(DatabaseError, match=r"it has a database_workload\.json already"):
        export_database(((one, target) for one in winners_of(tuned)), exported)
    assert [path.read_bytes() for path in sorted(exported.iterdir())] == before


def test_a_folder_that_cannot_be_is_refused(tuned, target, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DatabaseError, match=r"bad folder .*; check its permissions"):
        export_database([], tmp_path / "file" / "database")
    with pytest.raises(ValueError, match="bad top 0"):
        export_database([], tmp_path / "database", top=0)


def test_a_database_is_replaced_whole(tuned, target, exported, monkeypatch):
    pairs = [(one, target) for one in winners_of(tuned) if one.case == MATMUL.id]
    assert replace_database(pairs, exported).records == 1
    assert len(opened(exported)) == 1 and {path.name for path in exported.iterdir()} == FILES
    whole = os.replace

    def killed(source, destination):
        if destination.name == DATABASE_FILES[1]:
            raise KeyboardInterrupt
        whole(source, destination)

    everything = [(one, target) for one in winners_of(tuned)]
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, "replace", killed)
        replace_database(everything, exported)
    # Programs without a record: none of the old ones is taken for another program's.
    assert len(opened(exported)) == 0
    assert replace_database(everything, exported).workloads == len(MLP.tasks()) + 1


def test_a_database_in_memory_has_the_same(tuned, target, exported):
    database = database_of((one, target) for one in winners_of(tuned))
    assert len(database) == len(opened(exported))
    assert all(database.has_workload(task.mod) for task in MLP.tasks())
