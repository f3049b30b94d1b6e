"""The cores that a process may use."""

from __future__ import annotations

import math

import pytest

from pytest_ansorbench.cores import Cores, pinned_to, time_of_group, usable_cores
from pytest_ansorbench.environment import resolve_target
from tests.bound import bound_to_one_cpu, takes_two_cpus

V1 = "9:name=systemd:/\n4:memory:/other\n2:cpu,cpuacct:/outer/inner\n0::/\n"


def group(folder, name, *, v1=False):
    """What a control group may have, as the kernel writes it: quota and period."""
    folder.mkdir(parents=True, exist_ok=True)
    if v1:
        quota, period = name
        (folder / "cpu.cfs_quota_us").write_text(f"{quota}\n")
        (folder / "cpu.cfs_period_us").write_text(f"{period}\n")
    else:
        (folder / "cpu.max").write_text(f"{name}\n")


def test_the_tightest_of_all_groups_around_a_process_counts(tmp_path):
    ours = tmp_path / "cgroup"
    ours.write_text("0::/outer/inner\n")
    group(tmp_path / "outer", "150000 100000")
    group(tmp_path / "outer" / "inner", "max 100000")
    assert time_of_group(ours, tmp_path) == 1.5


def test_the_files_of_the_older_version_are_read(tmp_path):
    ours = tmp_path / "cgroup"
    ours.write_text(V1)
    group(tmp_path / "cpu" / "outer", (200_000, 100_000), v1=True)
    group(tmp_path / "cpu" / "outer" / "inner", (-1, 100_000), v1=True)
    assert time_of_group(ours, tmp_path) == 2.0


def test_a_container_that_sees_its_own_group_as_the_root_has_its_quota(tmp_path):
    ours = tmp_path / "cgroup"
    ours.write_text("0::/docker/1234\n")
    group(tmp_path, "50000 100000")
    assert time_of_group(ours, tmp_path) == 0.5


def test_without_groups_there_is_no_limit(tmp_path):
    assert time_of_group(tmp_path / "cgroup", tmp_path) == math.inf
    (tmp_path / "cgroup").write_text(V1)
    assert time_of_group(tmp_path / "cgroup", tmp_path) == math.inf


@takes_two_cpus
def test_a_process_that_is_bound_to_a_cpu_has_one_core():
    free = usable_cores()
    with bound_to_one_cpu() as cpu:
        found = usable_cores()
        assert int(resolve_target(None).attrs["num-cores"]) == 1
    assert found.to_pin_to == found.cpus == (cpu,)
    assert found.machine == free.machine
    assert usable_cores() == free


@pytest.mark.parametrize(("cpus", "pinned"), [((0, 1), None), ((0, 2), (0, 2))])
def test_threads_are_pinned_where_the_first_cpus_share_a_core(monkeypatch, cpus, pinned):
    """To all CPUs TVM binds more threads than there are cores, each to one."""
    free = Cores(cpus, are_bound=False, machine=2, reason="")
    monkeypatch.setattr("pytest_ansorbench.cores.usable_cores", lambda: free)
    assert pinned_to(None, 1) == pinned_to(None, 2) == pinned
    assert pinned_to(None, 4) is None
    assert pinned_to((5,), 4) == (5,)


def test_a_share_of_a_cpu_is_one_core(monkeypatch):
    monkeypatch.setattr("pytest_ansorbench.cores.time_of_group", lambda: 0.5)
    found = usable_cores()
    assert found.count == 1
    if found.machine > 1:
        assert "its control group has the time of 0.5 CPUs" in found.note(1)


@pytest.mark.parametrize(("threads", "words"), [(1, "num-cores is 1, the"), (2, "warning: num-c")])
def test_it_is_said_what_was_taken_and_why(threads, words):
    few = Cores((3,), are_bound=True, machine=4, reason="this process may run on 1 of 4 CPUs")
    note = few.note(threads)
    assert note.startswith(words)
    assert "this process may run on 1 of 4 CPUs" in note
    assert Cores((0, 1, 2, 3), are_bound=False, machine=4, reason="").note(threads) == ""
