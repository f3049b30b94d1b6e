"""Results that a command is given by name, number or path."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pytest_ansorbench.cli.exits import Refusal

if TYPE_CHECKING:
    from pytest_ansorbench.records import Result
    from pytest_ansorbench.storage import StorageError


_Found = TypeVar("_Found")


def add_storage(parser: argparse.ArgumentParser) -> None:
    """Add the option that says where results are stored."""
    parser.add_argument(
        "--storage",
        type=Path,
        default=Path(".ansor_bench"),
        metavar="DIR",
        help="folder of stored results (default: %(default)s)",
    )


def read_stored(storage: Path, wanted: str) -> tuple[Path, Result]:
    """A result by name, number or path, and its file.

    Raises:
        Refusal: There is none, or it cannot be read.
    """
    from pytest_ansorbench.storage import StorageError, find_saved, read_result

    try:
        path = find_saved(storage, wanted)
        return path, read_result(path)
    except StorageError as error:
        raise refusal(error) from None


def refusal(error: StorageError) -> Refusal:
    """A refusal that says how to mend what is wrong with a stored result."""
    from pytest_ansorbench.storage import MissingResultError, UnwritableError

    if isinstance(error, MissingResultError):
        return Refusal(f"{error}; pytest --ansor-bench --ansor-save NAME saves one")
    if isinstance(error, UnwritableError):
        return Refusal(f"{error}; see --storage")
    return Refusal(str(error))


def narrowed(
    found: Sequence[_Found], name: str, wanted: str, of: Callable[[_Found], str]
) -> list[_Found]:
    """Those of some findings that were asked for.

    Args:
        found: The findings.
        name: The option that asks.
        wanted: Its value.
        of: What a finding has of it.

    Raises:
        Refusal: None has that value.
    """
    kept = [one for one in found if of(one) == wanted]
    if not kept:
        raise Refusal(f"bad {name} {wanted!r}: expected one of: {listed(map(of, found))}")
    return kept


def listed(values: Iterable[str]) -> str:
    """Different values, in order of appearance."""
    return ", ".join(dict.fromkeys(values))
