"""The workers of a cluster: which there are, and which of them fit."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest_ansorbench
from pytest_ansorbench.cluster.workers import blocks_under_way, workers_of
from pytest_ansorbench.cuda import CudaError
from pytest_ansorbench.environment import (
    ToolchainError,
    check_toolchain,
    device_name,
    resolve_target,
)
from pytest_ansorbench.measure.local.gpu import describe_gpu
from pytest_ansorbench.measure.local.machine import describe_machine

_CODE: Final = Path(pytest_ansorbench.__file__).parent
_DECISIVE: Final = ("apache-tvm", "apache-tvm-ffi", "xgboost")

_ANSWER_S: Final = 10.0
"""Seconds to fetch an answer that a worker has given."""

Identify = Callable[[], Mapping[str, Any]]
"""Like `identify`, with the target; pickled on its way to a worker."""


@dataclass(frozen=True)
class Helper:
    """A worker that fits."""

    address: str
    name: str
    machine: Mapping[str, Any]


class Pool:
    """The workers that blocks may go to.

    A worker is asked what it is by a task, so that one that is measuring for another session is
    asked afterwards. The target of the first one that fits is that of the session.
    """

    def __init__(self, client: Any, identify: Identify, expected: Mapping[str, str]) -> None:
        self.target = ""  # of the session; empty until there is a worker
        self.fit: dict[str, Helper] = {}  # by address
        self.refused: dict[str, str] = {}  # by name, why
        self.paused: dict[str, str] = {}  # by address, names of those that begin nothing for now
        self._client = client
        self._identify = identify
        self._expected = dict(expected)
        self._asked: dict[str, tuple[str, Any]] = {}
        self._answered: set[str] = set()

    def refresh(self) -> None:
        """Find out which workers there are, and ask new ones; OSError if the scheduler is gone."""
        every = workers_of(self._client)
        there = {
            address: str(info["name"])
            for address, info in every.items()
            if info["status"] in ("running", "paused")
        }
        self.paused = {at: name for at, name in there.items() if every[at]["status"] == "paused"}
        self.fit = {address: one for address, one in self.fit.items() if address in there}
        self._answered &= there.keys()
        for address, name in there.items():
            if address not in self._asked and address not in self._answered:
                future = self._client.submit(
                    self._identify, workers=[address], pure=False, retries=0
                )
                self._asked[address] = name, future
        for address in self._asked.keys() - there.keys():
            self._asked.pop(address)[1].cancel()
        for address in sorted(self._asked, key=lambda one: self._asked[one][0]):
            name, future = self._asked[address]
            if future.done():
                del self._asked[address]
                self._answered.add(address)
                self._judge(address, name, future)

    def awaits_busy(self) -> bool:
        """Whether a worker is at a block before it answers; OSError if the scheduler is gone."""
        return not self._asked.keys().isdisjoint(blocks_under_way(self._client))

    def refuse(self, address: str, reason: str) -> None:
        """Send nothing to a worker any more."""
        helper = self.fit.pop(address, None)
        if helper is not None:
            self.refused[helper.name] = reason

    def _judge(self, address: str, name: str, future: Any) -> None:
        try:
            answer = future.result(timeout=_ANSWER_S)
        except Exception as error:  # whatever it raised there, or that it is gone meanwhile
            self.refused[name] = f"{type(error).__name__}: {error}"
            return
        misfit = answer.get("error") or difference(self._expected, answer["requirements"])
        if not misfit and self.target and answer["target"] != self.target:
            misfit = f"target {answer['target']} and not {self.target}"
        if misfit:
            self.refused[name] = misfit
            return
        self.target = self.target or answer["target"]
        self.refused.pop(name, None)
        self.fit[address] = Helper(address, name, answer["machine"])


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
    """What this process is, asked of a worker, as JSON; or the `error` that rules it out."""
    try:
        check_toolchain()
        resolved = resolve_target(target)
    except ToolchainError as error:
        return {"error": str(error)}
    machine = {**describe_machine(), "target": str(resolved)}
    if device_name(resolved) == "cuda":
        with suppress(CudaError):  # a block on it says what is missing
            machine["gpu"] = describe_gpu()
    return {"requirements": requirements(machine), "target": machine["target"], "machine": machine}


def difference(expected: Mapping[str, str], found: Mapping[str, str]) -> str:
    """In what a worker differs from what is required, e.g. `apache-tvm 0.26.0 and not 0.27.0`."""
    return ", ".join(
        f"{name} {found.get(name)} and not {wanted}"
        for name, wanted in expected.items()
        if found.get(name) != wanted
    )
