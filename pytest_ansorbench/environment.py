"""Checks, at the start of a bench, that the tools it stands on are there and fit together.

A wrong pair of apache-tvm and apache-tvm-ffi ends in a segmentation fault minutes later, a
core that does not exist in a server that does not start. Each is one sentence here instead.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal

from pytest_ansorbench.cores import usable_cores
from pytest_ansorbench.tvm_versions import NEWEST, VersionError, check_pair

if TYPE_CHECKING:
    from tvm.target import Target

_TARGET_EXAMPLE: Final = '{"kind": "llvm", "mcpu": "x86-64-v3", "num-cores": 2}'
_CROSS_EXAMPLE: Final = (
    '{"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "cortex-a72", "num-cores": 4}'
)


class ToolchainError(RuntimeError):
    """Something a bench needs is missing or does not fit; the message says how to mend it."""


class MisfitError(ToolchainError):
    """A setting that does not fit this machine or its toolchain."""

    def __init__(
        self,
        setting: Literal["target", "cores", "linker", "variant"],
        value: str | None,
        problem: str,
    ):
        super().__init__(f"bad {setting} {value!r}: {problem}")
        self.setting = setting
        self.value = value
        self.problem = problem  # the misfit, and what was expected instead


def check_toolchain() -> None:
    """Check TVM and its ffi package, LLVM, and xgboost.

    Imports TVM, but only once its version is known to be safe; warns of one that was not tested.

    Raises:
        ToolchainError: One of them is missing or of a wrong version.
    """
    try:
        check_pair()
    except VersionError as error:
        raise ToolchainError(str(error)) from None
    _check_module("xgboost", "pip install xgboost  (or xgboost-cpu, without its GPU libraries)")
    _check_module("tvm", f"pip install 'apache-tvm=={NEWEST}.*'")
    _check_llvm()


def resolve_target(text: str | None) -> Target:
    """The LLVM target to tune for, with `mcpu` and `num-cores`; None means this machine's CPU.

    Without `num-cores` it has those that this process may use.

    Raises:
        MisfitError: TVM rejects the target, or it is no CPU target, or LLVM does not know its
            CPU, or it is of another architecture and has no `mcpu`.
    """
    from tvm.target import Target

    if text is None:
        attributes = dict(Target.from_device("cpu").export())
    else:
        try:
            attributes = dict(Target(json.loads(text) if text.startswith("{") else text).export())
        except Exception as error:  # TVM raises many kinds, its own among them
            reason = str(error).strip().splitlines()[-1].strip().rstrip(".")
            raise MisfitError(
                "target", text, f"expected an LLVM target, e.g. '{_TARGET_EXAMPLE}' ({reason})"
            ) from None
    if attributes["kind"] != "llvm":
        raise MisfitError(
            "target",
            text,
            f"only CPUs can be measured so far, expected an LLVM target, e.g. '{_TARGET_EXAMPLE}'",
        )
    host = Target.from_device("cpu").export()
    triple = str(attributes.get("mtriple", host["mtriple"]))
    if triple.split("-")[0] == str(host["mtriple"]).split("-")[0]:
        attributes.setdefault("mcpu", host["mcpu"])
    elif "mcpu" not in attributes:
        raise MisfitError(
            "target",
            text,
            f"expected the mcpu of a processor for {triple}, e.g. '{_CROSS_EXAMPLE}'",
        )
    attributes.setdefault("num-cores", usable_cores().count)
    attributes.pop("tag", None)
    attributes.pop("keys", None)
    target = Target({key: _plain(value) for key, value in attributes.items()})
    _check_cpu(target, text)
    return target


def triple_of(target: Target) -> str:
    """An LLVM target's triple, e.g. `aarch64-linux-gnu`; this machine's if it names none."""
    from tvm.target.codegen import llvm_get_system_triple

    return str(target.attrs.get("mtriple", "") or llvm_get_system_triple())


def laid_over(target: Target, attributes: Mapping[str, object]) -> Target:
    """A target with some attributes changed.

    Raises:
        MisfitError: TVM rejects the outcome, or LLVM does not know its CPU.
    """
    if not attributes:
        return target
    exported = {**dict(target.export()), **attributes}
    plain = {key: _plain(value) for key, value in exported.items() if key not in ("tag", "keys")}
    return resolve_target(json.dumps(plain))


def check_cores(cores: Sequence[int] | None, threads: int) -> None:
    """Check that kernels of so many threads can be pinned to cores; None is no pinning.

    Raises:
        MisfitError: The operating system cannot pin, a core is not there or not ours, or they
            are fewer than the threads.
    """
    if cores is None:
        return
    problem = _core_problem(cores, threads)
    if problem:
        raise MisfitError("cores", ",".join(map(str, cores)), problem)


def _core_problem(cores: Sequence[int], threads: int) -> str:
    if not hasattr(os, "sched_setaffinity"):
        return (
            "this operating system does not let a process choose its cores; leave the setting out"
        )
    usable = sorted(os.sched_getaffinity(0))
    good = ",".join(map(str, usable[:threads]))
    if not set(cores) <= set(usable):
        there = ", ".join(map(str, usable))
        return f"expected some of the cores this process may use, {there}, e.g. {good}"
    if len(cores) < threads:
        return (
            f"a kernel runs on {threads} threads, the TVM target's num-cores, expected at least as "
            f"many cores, e.g. {good}"
        )
    return ""


def _check_module(name: str, cure: str) -> None:
    try:
        importlib.import_module(name)
    except Exception as error:  # a broken shared library raises OSError, or worse
        raise ToolchainError(
            f"cannot import {name} ({type(error).__name__}: {error}): {cure}"
        ) from None


def _check_llvm() -> None:
    from tvm.runtime import enabled

    if not enabled("llvm"):
        raise ToolchainError(
            "this build of TVM cannot compile for CPUs, it has no LLVM: "
            f"pip install 'apache-tvm=={NEWEST}.*' has it"
        )


def _check_cpu(target: Target, text: str | None) -> None:
    from tvm.target.codegen import llvm_get_cpu_archlist

    cpu = str(target.attrs["mcpu"])
    if cpu not in {str(known) for known in llvm_get_cpu_archlist(target)}:
        raise MisfitError(
            "target", text, f"LLVM knows no CPU {cpu!r}, expected e.g. '{_TARGET_EXAMPLE}'"
        )


def _plain(value: object) -> object:
    """A target attribute as a Python value: TVM's containers become lists."""
    if isinstance(value, str | int | float | bool):
        return value
    return [_plain(item) for item in value]  # type: ignore[attr-defined]
