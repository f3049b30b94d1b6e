"""What a result was measured on, in so far as it decides the result."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import psutil

_CPUINFO: Final = Path("/proc/cpuinfo")

# Each entry is found under the first of its distributions that is installed.
_PACKAGES: Final = {
    "apache-tvm": ("apache-tvm",),
    "apache-tvm-ffi": ("apache-tvm-ffi",),
    "numpy": ("numpy",),
    "pytest-ansorbench": ("pytest-ansorbench",),
    "xgboost": ("xgboost", "xgboost-cpu"),
}


def describe_machine() -> dict[str, Any]:
    """Describe hardware, operating system and the packages that decide a result.

    Leaves out whatever names the machine or its user: result files get published.

    Returns:
        JSON values under `system`, `release`, `machine`, `cpu`, `logical_cores`,
        `physical_cores`, `memory_bytes`, `python` and `packages`; None for what cannot be
        found out or is not installed.
    """
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "cpu": _cpu_model(),
        "logical_cores": psutil.cpu_count(logical=True),
        "physical_cores": psutil.cpu_count(logical=False),
        "memory_bytes": psutil.virtual_memory().total,
        "python": platform.python_version(),
        "packages": {name: _version(names) for name, names in _PACKAGES.items()},
    }


#: What decides how fast a kernel can be, and stays as it is: no clock speed of the moment, no
#: free memory, no release of a kernel that was updated overnight. Versions of packages are not
#: in it either: to compare those on one machine is what results are kept for.
_STABLE: Final = ("system", "machine", "cpu", "logical_cores", "physical_cores", "target")


def fingerprint(machine: Mapping[str, Any]) -> str:
    """Identify a machine by what decides its speed.

    Args:
        machine: A description, as `describe_machine` makes them, with the `target` in it.

    Returns:
        Twelve hexadecimal digits, equal for machines that may be expected to be equally fast.
    """
    stable = json.dumps([machine.get(key) for key in _STABLE], sort_keys=True, default=str)
    return hashlib.sha256(stable.encode()).hexdigest()[:12]


def machine_difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Say in what two machines differ, as far as their fingerprints do.

    Returns:
        E.g. `cpu: A is now B`; empty if the fingerprints are equal.
    """
    return "; ".join(
        f"{key}: {one.get(key)} is now {other.get(key)}"
        for key in _STABLE
        if one.get(key) != other.get(key)
    )


def _cpu_model() -> str | None:
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == "model name" and value.strip():
            return value.strip()
    return platform.processor() or None


def _version(distributions: tuple[str, ...]) -> str | None:
    for name in distributions:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None
