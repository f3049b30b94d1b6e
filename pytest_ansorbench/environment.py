"""Checks, at the start of a bench, that the tools it stands on are there and fit together.

A wrong pair of apache-tvm and apache-tvm-ffi ends in a segmentation fault minutes later, a
core that does not exist in a server that does not start. Each is one sentence here instead.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from pytest_ansorbench.causes import ToolchainError as ToolchainError
from pytest_ansorbench.causes import last_line
from pytest_ansorbench.cores import threads_of, usable_cores
from pytest_ansorbench.cuda import CudaError, device_limits
from pytest_ansorbench.tvm_versions import NEWEST, check_pair

if TYPE_CHECKING:
    from tvm.target import Target

_TARGET_EXAMPLE: Final = '{"kind": "llvm", "mcpu": "x86-64-v3", "num-cores": 2}'
_CROSS_EXAMPLE: Final = (
    '{"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "cortex-a72", "num-cores": 4}'
)
_EXPECTED: Final = f"expected an LLVM or CUDA target, e.g. '{_TARGET_EXAMPLE}' or 'cuda'"
_ANY_GPU: Final = {
    "max_threads_per_block": 1024,
    "max_shared_memory_per_block": 49152,
    "thread_warp_size": 32,
}
"""What a block has on every CUDA device (compute capabilities in NVIDIA's programming guide)."""


class MisfitError(ToolchainError):
    """A setting that does not fit this machine or its toolchain."""

    def __init__(
        self,
        setting: Literal[
            "target", "cores", "linker", "variant", "reference_kernels", "caches", "flush_cache_mb"
        ],
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
    check_pair()
    _check_module("xgboost", "pip install xgboost  (or xgboost-cpu, without its GPU libraries)")
    _check_module("tvm", f"pip install 'apache-tvm=={NEWEST}.*'")
    _check_llvm()


def resolve_target(text: str | None) -> Target:
    """The target to tune for, complete; None means this machine's CPU.

    A CPU has `mcpu` and `num-cores`, and without the latter those that this process may use. A CUDA
    target has such a CPU as `host`. What it does not say of `arch` and limits of a block is the
    device's; without a device it has to say `arch`, and has the limits that all devices share.

    Raises:
        MisfitError: TVM rejects the target, or it is neither, or LLVM does not know its CPU, or it
            is of another architecture and has no `mcpu`, or it has no cores.
        ToolchainError: There is no CUDA device to complete it by.
    """
    from tvm.target import Target

    try:
        attributes = dict(Target(_said(text)).export())
    except ToolchainError:
        raise
    except Exception as error:  # TVM raises many kinds, its own among them
        reason = last_line(error).rstrip(".")
        raise MisfitError("target", text, f"{_EXPECTED} ({reason})") from None
    if attributes["kind"] == "cuda":
        host = attributes.get("host")
        own = resolve_target(None if host is None else json.dumps(_plain(host)))
        attributes["host"] = own.export()
    elif attributes["kind"] == "llvm":
        attributes.setdefault("mcpu", _cpu_of(attributes, text))
        attributes.setdefault("num-cores", usable_cores().count)
    else:
        raise MisfitError("target", text, f"only CPUs and CUDA can be measured so far, {_EXPECTED}")
    target = Target(_plain(attributes))
    if target.kind.name == "llvm":
        _check_cpu(target, text)
    return target


def _cpu_of(attributes: Mapping[str, Any], text: str | None) -> str:
    """The `mcpu` of an LLVM target that names none: this machine's, if it is of its kind."""
    from tvm.target import Target

    host = Target.from_device("cpu").export()
    triple = str(attributes.get("mtriple", host["mtriple"]))
    if "mcpu" not in attributes and triple.split("-")[0] != str(host["mtriple"]).split("-")[0]:
        expected = f"expected the mcpu of a processor for {triple}, e.g. '{_CROSS_EXAMPLE}'"
        raise MisfitError("target", text, expected)
    return str(host["mcpu"])


def triple_of(target: Target) -> str:
    """The triple of a target's CPU, a GPU's host; this machine's if it names none."""
    from tvm.target.codegen import llvm_get_system_triple

    cpu = target if target.host is None else target.host
    return str(cpu.attrs.get("mtriple", "") or llvm_get_system_triple())


def device_name(target: Target) -> str:
    """TVM's and PyTorch's name of what runs that which is compiled for a target."""
    return "cuda" if target.kind.name == "cuda" else "cpu"


def _said(text: str | None) -> dict[str, Any]:
    """A target as TVM takes it; one for CUDA with what it does not say of a device."""
    from tvm.target import Target

    if text is None:
        return dict(Target.from_device("cpu").export())
    given = attributes_of(text)
    if given.get("kind") != "cuda" or given.keys() >= {"arch", *_ANY_GPU}:
        return given
    try:
        return {**device_limits(), **given}
    except CudaError:
        if "arch" not in given:
            raise
        return {**_ANY_GPU, **given}


def attributes_of(text: str) -> dict[str, Any]:
    """What the text of a target says of it, with a tag of TVM's spelt out."""
    from tvm.target import Target

    if text.startswith("{"):
        return dict(json.loads(text))
    return dict(_plain(Target(text).export())) if "/" in text else {"kind": text}


def laid_over(target: Target, attributes: Mapping[str, object]) -> Target:
    """A target with some attributes changed.

    Raises:
        MisfitError: TVM rejects the outcome, or LLVM does not know its CPU.
    """
    if not attributes:
        return target
    return resolve_target(json.dumps(_plain({**dict(target.export()), **attributes})))


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

    if (cores := threads_of(target)) < 1:
        raise MisfitError(
            "target", text, f"num-cores is {cores}, expected 1 or more, e.g. '{_TARGET_EXAMPLE}'"
        )
    cpu = str(target.attrs["mcpu"])
    if cpu not in {str(known) for known in llvm_get_cpu_archlist(target)}:
        raise MisfitError(
            "target", text, f"LLVM knows no CPU {cpu!r}, expected e.g. '{_TARGET_EXAMPLE}'"
        )


def _plain(value: Any) -> Any:
    """A target's attributes as Python values, without the names that TVM derives of others."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if hasattr(value, "items"):
        return {str(key): _plain(one) for key, one in value.items() if key not in ("tag", "keys")}
    return [_plain(item) for item in value]
