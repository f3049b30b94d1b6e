"""Options that cannot be met together, found out before an hour of search and not after it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from pytest_ansorbench.options.declarations import flag_of
from pytest_ansorbench.options.settings import Settings, value_at
from pytest_ansorbench.plugin import workers
from pytest_ansorbench.storage import StorageError, check_name


@dataclass(frozen=True)
class _Conflict:
    """A field that is refused beside another, or without it.

    Attributes:
        field: The field that is refused; with `=` only if it has this value.
        other: The field that it is refused beside, or that it needs.
        why: What follows the refused option, with `{value}` for its value and `{other}` for the
            other option.
        needed: Whether the other field is needed.
    """

    field: str
    other: str
    why: str
    needed: bool = False

    def check(self, settings: Settings) -> None:
        name, _, only = self.field.partition("=")
        value = value_at(settings, name)
        is_given = str(value) == only if only else _is_given(value)
        if is_given and _is_given(value_at(settings, self.other)) != self.needed:
            told = value[0] if isinstance(value, tuple) and value else value
            why = self.why.format(value=repr(str(told)), other=flag_of(self.other))
            raise pytest.UsageError(f"bad {flag_of(name)}{why}")


def _is_given(value: object) -> bool:
    return value not in (None, False, ())


def _needed(field: str, other: str, why: str) -> _Conflict:
    return _Conflict(field, other, why, needed=True)


def _beside(other: str, why: str, fields: Iterable[str]) -> tuple[_Conflict, ...]:
    return tuple(_Conflict(field, other, f": {why}; leave one of the two out") for field in fields)


_THIS_MACHINES: Final = (
    "toolchains",
    "kernels.result",
    "engine.cores",
    "experiment.roofline",
    "experiment.reference_kernels",
    "engine.caches=network",
)
_WHICH_KERNELS: Final = ": expected {other} with it, to say which kernels to make"
_ON_ANOTHER: Final = "it is about this machine, and with {other} programs run on another"
_ONE_MACHINES: Final = (
    "remote.tracker",
    "remote.server",
    "toolchains",
    "kernels.result",
    "reference",
    "files.learn",
)
_CONFLICTS: Final = (
    *_beside(
        "kernels.result",
        "{other} searches nothing",
        ("replay", "resume", "baseline.compare", "files.save"),
    ),
    _needed("kernels.against", "kernels.result", _WHICH_KERNELS),
    _needed("kernels.variants", "kernels.result", _WHICH_KERNELS),
    _needed(
        "shard_by",
        "shard",
        " {value}: expected {other} with it, to say which part of the session this is",
    ),
    _needed(
        "baseline.compare_fail",
        "baseline.compare",
        " {value}: expected {other} with it, to say with what",
    ),
    _Conflict(
        "baseline.compare",
        "shard",
        " {value}: a shard has only some of the runs; put all together with ansor-bench merge, "
        "then hold them against it with ansor-bench compare",
    ),
    _Conflict("remote.server", "remote.tracker", " {value}: expected it or {other}, not both"),
    *_beside("remote.server", _ON_ANOTHER, _THIS_MACHINES),
    *_beside("remote.tracker", _ON_ANOTHER, _THIS_MACHINES),
    *_beside(
        "cluster.address",
        "it is about one machine, and with {other} repeats run on several",
        _ONE_MACHINES,
    ),
    *_beside("replay", "a replay runs nothing that could go on", ("resume",)),
)


def check_conflicts(settings: Settings) -> None:
    """Refuse settings, of a session or of a test, that contradict each other.

    Raises:
        pytest.UsageError: Two options do.
    """
    for conflict in _CONFLICTS:
        conflict.check(settings)


def check_session(config: pytest.Config, settings: Settings) -> None:
    """Refuse what a session cannot do.

    Raises:
        pytest.UsageError: Options contradict each other, or a file cannot be written.
    """
    _check_processes(config, settings)
    check_conflicts(settings)
    if settings.files.json is not None:
        _check_writable(flag_of("files.json"), settings.files.json)
    for output in settings.files.report:
        if output.path is not None:
            _check_writable(flag_of("files.report"), output.path)
    if settings.files.save is not None:
        try:
            check_name(settings.files.save)
        except StorageError as error:
            raise pytest.UsageError(f"bad --ansor-save: {error}") from None


def _check_processes(config: pytest.Config, settings: Settings) -> None:
    """Refuse test processes beside each other, unless each measures somewhere else."""
    several = bool(config.getoption("numprocesses", default=None))
    if settings.replay or not (several or workers.is_worker(config)):
        return
    if several:
        cluster = settings.cluster.address
        if cluster is not None and not cluster.scheduler:
            raise pytest.UsageError(
                "bad option -n: each process would start workers of its own on this machine; start "
                "a scheduler and workers once, and give --ansor-cluster their address"
            )
        if cluster is None and settings.remote.tracker is None:
            raise pytest.UsageError(
                "bad option -n: live searches cannot share a machine with other test processes; "
                "run pytest --ansor-bench without -n, or with -n 0 (--ansor-replay takes any -n, "
                "and so does --ansor-cluster; --ansor-rpc takes as many as the tracker has "
                "devices; --ansor-shard runs a part of the session on each of several machines)"
            )
        if settings.resume is not None:
            raise pytest.UsageError(
                "bad option -n: each process has a journal of its own; resume them one by one, "
                "without -n"
            )
    if settings.has_suite_gates:
        raise pytest.UsageError(
            "bad option -n: a gate of the suite is about the runs of all processes; hold the "
            "result against it with ansor-bench show, or run without -n"
        )


def _check_writable(flag: str, path: Path) -> None:
    folder = path.resolve().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise pytest.UsageError(f"bad {flag} {str(path)!r}: {error}") from None
    if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise pytest.UsageError(
            f"bad {flag} {str(path)!r}: expected a file that can be written, e.g. out/{path.name}"
        )
