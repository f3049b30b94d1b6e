"""Targets as users write them."""

from __future__ import annotations

import os

import pytest

from pytest_ansorbench.environment import (
    MisfitError,
    ToolchainError,
    check_cores,
    check_toolchain,
    resolve_target,
)


@pytest.mark.parametrize("text", [None, "llvm", '{"kind": "llvm"}'])
def test_cpu_and_cores_are_filled_in(text):
    target = resolve_target(text)
    assert target.kind.name == "llvm"
    assert target.attrs["mcpu"]
    assert int(target.attrs["num-cores"]) >= 1


def test_what_is_given_is_kept():
    target = resolve_target('{"kind": "llvm", "mcpu": "haswell", "num-cores": 1}')
    assert (str(target.attrs["mcpu"]), int(target.attrs["num-cores"])) == ("haswell", 1)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("cuda-foo", "expected an LLVM or CUDA target"),
        ("opencl", "only CPUs and CUDA can be measured so far"),
        ('{"kind": "llvm", "mcpu": "8086"}', "LLVM knows no CPU '8086'"),
        ('{"kind": "llvm", "num-cores": 0}', "num-cores is 0, expected 1 or more"),
        ('{"kind": "llvm", "num-cores": -1}', "num-cores is -1, expected 1 or more"),
        (
            '{"kind": "llvm", "mtriple": "s390x-linux-gnu"}',
            "expected the mcpu of a processor for s390x-linux-gnu, e.g. ",
        ),
    ],
)
def test_a_target_that_does_not_fit_is_told_with_a_good_one(text, problem):
    with pytest.raises(MisfitError, match=r"^bad target .*e\.g\. ") as caught:
        resolve_target(text)
    assert (caught.value.setting, caught.value.value) == ("target", text)
    assert caught.value.problem.startswith(problem)


def test_a_complete_toolchain_passes():
    check_toolchain()


def test_cores_that_are_there_and_enough_pass():
    check_cores(None, 2)
    check_cores(tuple(os.sched_getaffinity(0)), 1)


@pytest.mark.parametrize(
    ("cores", "threads", "reason"),
    [((100_000,), 1, "expected some of the cores"), ((0,), 2, "runs on 2 threads")],
)
def test_cores_that_do_not_do_are_refused_with_an_example(cores, threads, reason, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1})
    with pytest.raises(MisfitError, match=rf"^bad cores '\d+': .*{reason}.*e\.g\. 0") as caught:
        check_cores(cores, threads)
    assert (caught.value.setting, caught.value.value) == ("cores", str(cores[0]))
    assert reason in caught.value.problem


def test_where_cores_cannot_be_chosen_they_are_refused(monkeypatch):
    monkeypatch.delattr("os.sched_setaffinity")
    with pytest.raises(MisfitError, match="leave the setting out"):
        check_cores((0,), 1)


def test_a_tvm_without_llvm_is_refused(monkeypatch):
    monkeypatch.setattr("tvm.runtime.enabled", lambda feature: False)
    with pytest.raises(ToolchainError, match="no LLVM"):
        check_toolchain()
