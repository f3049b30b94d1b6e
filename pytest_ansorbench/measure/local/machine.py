"""Describes this machine, in so far as that decides a result."""

from __future__ import annotations

import platform
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import psutil

from pytest_ansorbench.measure.local.cache_sizes import caches_bytes

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
        `physical_cores`, `caches_bytes` by level, `memory_bytes`, `python` and `packages`; None
        for what cannot be found out or is not installed.
    """
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "cpu": _cpu_model(),
        "logical_cores": psutil.cpu_count(logical=True),
        "physical_cores": psutil.cpu_count(logical=False),
        "caches_bytes": caches_bytes(),
        "memory_bytes": psutil.virtual_memory().total,
        "python": platform.python_version(),
        "packages": {name: _version(names) for name, names in _PACKAGES.items()},
    }


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
