"""What a worker is: code, toolchain, target and machine, as it says itself."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest_ansorbench

_CODE: Final = Path(pytest_ansorbench.__file__).parent
_DECISIVE: Final = ("apache-tvm", "apache-tvm-ffi", "xgboost")


@cache
def code_version() -> str:
    """Hash of this package's Python files: two installations that agree run the same code."""
    digest = hashlib.sha256()
    for path in sorted(_CODE.rglob("*.py")):
        digest.update(path.relative_to(_CODE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def requirements(machine: Mapping[str, Any]) -> dict[str, str]:
    """What a worker has to have in common with the session that asks."""
    packages = machine["packages"]
    return {
        # Cases and strategies travel as this version of Python writes them.
        "Python": ".".join(platform.python_version_tuple()[:2]),
        **{name: str(packages.get(name)) for name in _DECISIVE},
        "code of pytest-ansorbench": code_version(),
    }


def identify(target: str | None) -> dict[str, Any]:
    """What this process is, asked of a worker: `requirements`, `target` and `machine` as JSON.

    Or only the `error` that keeps it from measuring. The target is as a session was given it; None
    for the worker's own CPU.
    """
    from pytest_ansorbench.environment import ToolchainError, check_toolchain, resolve_target
    from pytest_ansorbench.measure.local.machine import describe_machine

    try:
        check_toolchain()
        resolved = str(resolve_target(target))
    except ToolchainError as error:
        return {"error": str(error)}
    machine = {**describe_machine(), "target": resolved}
    return {"requirements": requirements(machine), "target": resolved, "machine": machine}


def difference(expected: Mapping[str, str], found: Mapping[str, str]) -> str:
    """In what a worker differs from what is required, e.g. `apache-tvm 0.26.0 and not 0.27.0`."""
    return ", ".join(
        f"{name} {found.get(name)} and not {wanted}"
        for name, wanted in expected.items()
        if found.get(name) != wanted
    )
