"""Sessions whose folders cannot be written or locked, and on fewer cores."""

from __future__ import annotations

import errno
import json
import os

import pytest

from tests.bound import bound_to_one_cpu, takes_two_cpus
from tests.disks import read_only
from tests.plugin.test_full_disk import check_told

REPLAY = "--ansor-replay=saved.json"


def test_a_storage_folder_that_cannot_be_written_is_told_and_the_table_shown(saved):
    assert saved.bench(REPLAY, "--ansor-save=main").code == 0
    storage = saved.root / ".ansor_bench"
    with read_only(storage):
        outcome = saved.bench(REPLAY, "--ansor-save=main")
        listed = saved.ansor_bench("list")
    check_told(outcome, "not written: --ansor-save: bad storage folder")
    assert "got 'Permission denied'; check the folder's permissions" in outcome.out
    assert (listed.code, "0001_main.json" in listed.out) == (0, True)
    assert len([*storage.iterdir()]) == 1


@pytest.mark.usefixtures("fast_engine")
def test_a_journal_that_cannot_be_written_is_told_before_anything_is_searched(project):
    storage = project.root / ".ansor_bench"
    storage.mkdir()
    with read_only(storage):
        outcome = project.bench("--ansor-json=result.json")
    assert outcome.code == 1
    assert outcome.out.count("expected a place to write to, got 'Permission denied'") == 1
    assert "INTERNALERROR" not in outcome.text and "Traceback" not in outcome.text
    assert project.bench("--ansor-json=result.json").code == 0


@pytest.mark.usefixtures("fast_engine")
def test_a_session_goes_on_where_it_was_once_its_journal_can_be_written(project):
    assert project.bench("--ansor-json=first.json").code == 0
    project.replace("test_cases.py", "repeats=1", "repeats=2")
    journals = project.journal().parent
    with read_only(journals):
        outcome = project.bench("--ansor-resume=1")
    assert outcome.code == 1
    assert "got 'Permission denied'" in outcome.out and "Traceback" not in outcome.text
    again = project.bench("--ansor-resume=1", "--ansor-json=both.json")
    assert again.code == 0, again.text
    first, both = project.json("first.json"), project.json("both.json")
    runs = both["cases"][0]["runs"]
    assert (len(runs), runs[:2]) == (4, first["cases"][0]["runs"])


@pytest.mark.usefixtures("fast_engine")
def test_without_locks_a_session_runs_and_says_so(project, monkeypatch):
    def no_locks(*asked):
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr("fcntl.flock", no_locks)
    outcome = project.bench()
    assert outcome.code == 0, outcome.text
    assert outcome.out.count("its file system has no locks (Operation not supported)") == 1


@takes_two_cpus
@pytest.mark.usefixtures("fast_engine")
def test_a_session_on_fewer_cores_takes_them_alone_and_says_so(project):
    with bound_to_one_cpu():
        outcome = project.bench("--ansor-json=result.json")
    assert outcome.code == 0, outcome.text
    assert outcome.out.count("num-cores is 1, the machine has ") == 1
    [machine] = project.json("result.json")["machines"].values()
    assert json.loads(machine["target"])["num-cores"] == 1
    assert "num-cores is" not in project.bench().out
