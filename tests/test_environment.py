"""Targets as users write them."""

from __future__ import annotations

import pytest

from pytest_ansorbench.environment import ToolchainError, check_toolchain, resolve_target


@pytest.mark.parametrize("text", [None, "llvm", '{"kind": "llvm"}'])
def test_cpu_and_cores_are_filled_in(text):
    target = resolve_target(text)
    assert target.kind.name == "llvm"
    assert target.attrs["mcpu"]
    assert int(target.attrs["num-cores"]) >= 1


def test_what_is_given_is_kept():
    target = resolve_target('{"kind": "llvm", "mcpu": "haswell", "num-cores": 1}')
    assert (str(target.attrs["mcpu"]), int(target.attrs["num-cores"])) == ("haswell", 1)


def test_a_complete_toolchain_passes():
    check_toolchain()


def test_a_tvm_without_llvm_is_refused(monkeypatch):
    monkeypatch.setattr("tvm.runtime.enabled", lambda feature: False)
    with pytest.raises(ToolchainError, match="no LLVM"):
        check_toolchain()
