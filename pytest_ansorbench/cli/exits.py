"""How the command ends: its exit codes, and what it says of an error."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

T = TypeVar("T")
Found = TypeVar("Found")

HOLDS: Final = 0
BROKEN: Final = 1
ERROR: Final = 2
UNDECIDED: Final = 3
SKIP: Final = 125
"""What `git bisect run` takes for a commit that cannot be told good or bad."""

INTERRUPTED: Final = "ansor-bench: interrupted"
"""What is said of Ctrl-C where a command has nothing else to say of it."""

_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Why what is printed to a file does not arrive there."""


class Refusal(Exception):
    """Wrong usage or an unreadable file; the message says which."""


def sentence(error: Exception) -> str | None:
    """What an error tells the user, with its cure; None if it is a fault of this package."""
    from pytest_ansorbench.environment import ToolchainError
    from pytest_ansorbench.measure.engine import EngineError
    from pytest_ansorbench.measure.remote.tracker import TrackerError
    from pytest_ansorbench.packed import PackedError
    from pytest_ansorbench.report.columns import ColumnError
    from pytest_ansorbench.storage import MissingResultError, StorageError
    from pytest_ansorbench.strategies import BadModel, StrategyError
    from pytest_ansorbench.winners import DatabaseError
    from pytest_ansorbench.workloads import (
        BadInputs,
        BadProgram,
        ImportFailed,
        OpenShape,
        UnknownCase,
    )

    if isinstance(error, MissingResultError):
        return f"{error}; pytest --ansor-bench --ansor-save NAME saves one"
    if isinstance(error, OpenShape):
        ways = [" ".join(_shape_flag(*one) for one in way.items()) for way in error.ways]
        return f"{error.problem}; give it, e.g. {' or '.join(ways)}"
    if isinstance(error, OSError) and error.errno in _NO_ROOM and error.filename is None:
        return f"cannot write the output: {error.strerror}"
    if isinstance(error, DatabaseError):
        return f"--database: {error}"
    if isinstance(error, StrategyError | BadModel):
        notes = "; ".join(getattr(error, "__notes__", ()))  # which strategy it was, and doing what
        return f"{error} ({notes})" if notes else str(error)
    told = (
        *(Refusal, ToolchainError, EngineError, TrackerError, PackedError, ColumnError),
        *(StorageError, ImportFailed, UnknownCase, BadInputs, BadProgram),
    )
    return str(error) if isinstance(error, told) else None


def _shape_flag(name: str, extents: int | Sequence[int]) -> str:
    numbers = [extents] if isinstance(extents, int) else extents
    return f"--shape {name}={','.join(map(str, numbers))}"


def parsed(name: str, value: T, parse: Callable[[T], Found]) -> Found:
    """What an option's value stands for; a value that is none is refused by the option's name."""
    try:
        return parse(value)
    except ValueError as error:
        raise Refusal(f"bad {name} {value!r}: {error}") from None


def exit_code(outcomes: Iterable[str | None]) -> int:
    """The code for the worst of some outcomes; None, and no outcome at all, hold."""
    seen = set(outcomes)
    if "broken" in seen:
        return BROKEN
    return UNDECIDED if "undecided" in seen else HOLDS
