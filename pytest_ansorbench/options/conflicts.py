"""Options that cannot be met together, found out before an hour of search and not after it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pytest_ansorbench.options.declarations import flag_of
from pytest_ansorbench.options.settings import Settings, value_at
from pytest_ansorbench.records import PEERS


class ConflictError(ValueError):
    """Two settings that contradict each other; the message names both."""


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
            raise ConflictError(f"bad {flag_of(name)}{why}")


def _is_given(value: object) -> bool:
    return value not in (None, False, ())


def _needed(field: str, other: str, why: str) -> _Conflict:
    return _Conflict(field, other, why, needed=True)


def _beside(other: str, why: str, fields: Iterable[str]) -> tuple[_Conflict, ...]:
    return tuple(_Conflict(field, other, f": {why}; leave one of the two out") for field in fields)


def _beside_kernels(fields: Iterable[str]) -> tuple[_Conflict, ...]:
    return _beside("kernels.result", "{other} searches nothing", fields)


_THIS_MACHINES: Final = (
    "toolchains",
    "kernels.result",
    "engine.cores",
    "experiment.roofline",
    "experiment.reference_kernels",
    "engine.caches=network",
)
_OF_SEARCHES: Final = (
    "replay",
    "resume",
    "reference",
    "control",
    "shard",
    "toolchains",
    "baseline.compare",
    "experiment.roofline",
    "experiment.reference_kernels",
    "files.save",
    "files.autosave",
    "files.report",
    "files.learn",
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
    *_beside_kernels(_OF_SEARCHES),
    *_beside("kernels.result", "kernels of {other} are in no network", ("engine.caches=network",)),
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
    *_beside("files.learn", "what {other} has learnt since, its runs do not know", ("reference",)),
    *_beside("toolchains", "what it has learnt, arms of {other} do not know", ("files.learn",)),
    *_beside("replay", "a replay runs nothing that could go on", ("resume",)),
)


def check_searches(settings: Settings, fields: Iterable[str]) -> None:
    """Refuse fields that are asked of searches where there are none.

    Raises:
        ConflictError: One of them is set beside kernels to make again.
    """
    for conflict in _beside_kernels(fields):
        conflict.check(settings)


def check_conflicts(settings: Settings) -> None:
    """Refuse settings, of a session or of a test, that contradict each other.

    Raises:
        ConflictError: Two options do.
    """
    for conflict in _CONFLICTS:
        conflict.check(settings)
    for library in PEERS:
        field = f"limits.over_{library.replace('-', '_')}"
        is_asked = library in settings.experiment.reference_kernels or settings.replay
        if value_at(settings, field) is not None and not is_asked:
            other = flag_of("experiment.reference_kernels")
            raise ConflictError(f"bad {flag_of(field)}: expected {library} among {other} with it")
