"""Pairs of TVM and its ffi package: those that work pass, others are refused with the cure."""

from __future__ import annotations

from importlib import metadata

import pytest
from packaging.requirements import Requirement

from pytest_ansorbench import tvm_versions
from pytest_ansorbench.causes import ToolchainError
from pytest_ansorbench.tvm_versions import FFI, FFI_OF, TVM, UntestedVersionWarning, check_pair


@pytest.fixture
def installed(monkeypatch):
    """Lets packages have other versions; None for one that is not there."""

    def install(tvm, ffi):
        versions = {TVM: tvm, FFI: ffi}

        def version(name):
            if versions[name] is None:
                raise metadata.PackageNotFoundError(name)
            return versions[name]

        monkeypatch.setattr(tvm_versions.metadata, "version", version)

    return install


def test_what_is_installed_here_fits():
    check_pair()


@pytest.mark.parametrize(
    ("tvm", "ffi"),
    [("0.27.0.post1", "0.1.14.post1"), ("0.26.0", "0.1.14.post1"), ("0.25.0.post1", "0.1.12")],
)
def test_pairs_that_work_pass(installed, tvm, ffi):
    installed(tvm, ffi)
    check_pair()


@pytest.mark.parametrize(
    ("tvm", "ffi", "message"),
    [
        ("0.27.0", "0.1.15", "apache-tvm-ffi 0.1.15 does not work with apache-tvm 0.27.0"),
        ("0.25.0.post1", "0.1.14.post1", "'apache-tvm==0.25.*' 'apache-tvm-ffi>=0.1.12,<0.1.13'"),
        ("0.27.0", None, "apache-tvm-ffi is not installed"),
        ("0.24.0", "0.1.12", "apache-tvm 0.24.0 has no tvm.s_tir.meta_schedule"),
    ],
)
def test_pairs_that_do_not_are_refused_with_the_cure(installed, tvm, ffi, message):
    installed(tvm, ffi)
    with pytest.raises(ToolchainError, match="pip install 'apache-tvm==") as caught:
        check_pair()
    assert message in str(caught.value)


@pytest.mark.parametrize("tvm", ["0.28.0", "0.27.dev123", "0.28.dev0+gabc", None])
def test_a_version_that_nobody_tried_is_warned_of_with_those_that_were(installed, tvm):
    installed(tvm, "0.1.15")
    with pytest.warns(UntestedVersionWarning, match=r"0\.27 with apache-tvm-ffi >=0\.1\.14"):
        check_pair()


def test_without_any_tvm_it_says_how_to_get_one(installed, monkeypatch):
    installed(None, None)
    monkeypatch.setattr(tvm_versions, "_is_importable", lambda: False)
    with pytest.raises(ToolchainError, match="apache-tvm is not installed: pip install"):
        check_pair()


@pytest.mark.parametrize("name", [TVM, FFI])
def test_what_the_package_asks_for_is_what_was_tested(name):
    asked = next(
        requirement.specifier
        for requirement in map(Requirement, metadata.requires("pytest-ansorbench") or ())
        if requirement.name == name
    )
    tested = {TVM: [f"{minor}.0" for minor in FFI_OF], FFI: ["0.1.12", "0.1.14.post1"]}[name]
    assert all(version in asked for version in tested)
    assert {TVM: "0.28.0", FFI: "0.1.15"}[name] not in asked
