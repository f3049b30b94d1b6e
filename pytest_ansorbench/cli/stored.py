"""Results that a command is given by name, number or path."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pytest_ansorbench.cli.exits import Refusal

if TYPE_CHECKING:
    from pytest_ansorbench.records import Result
    from pytest_ansorbench.storage import StorageError


_Found = TypeVar("_Found")


def add_storage(parser: argparse.ArgumentParser, meaning: str = "folder of stored results") -> None:
    parser.add_argument(
        "--storage",
        type=Path,
        default=Path(".ansor_bench"),
        metavar="DIR",
        help=f"{meaning} (default: %(default)s)",
    )


def read_stored(storage: Path, wanted: str) -> tuple[Path, Result]:
    """A result by name, number or path, and its file."""
    from pytest_ansorbench.storage import read_saved

    return read_saved(storage, wanted, passed_over)


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path]) -> None:
    """Refuse to write over a file that is read, or where none can be written; None is no file."""
    from pytest_ansorbench.storage import check_output

    read = [*inputs]
    for path in filter(None, outputs):
        check_output("output", path, read)


def passed_over(path: Path, error: StorageError) -> None:
    """Say of a file that a command goes past why it cannot be read."""
    from pytest_ansorbench.report.render.text import printable

    print(f"ansor-bench: passed over: {printable(str(error))}", file=sys.stderr)


@contextmanager
def judging(*read: tuple[str | Path, Result]) -> Iterator[None]:
    """Runs that cannot be judged are a fault of their file; of several, of that which shows it."""
    from pytest_ansorbench.stats.judging import faults_of
    from pytest_ansorbench.storage import StorageError

    try:
        yield
    except (ValueError, ArithmeticError) as error:
        at_fault = (str(path) for path, result in read if str(error) in faults_of(result))
        name = next(at_fault, ", ".join(str(path) for path, _ in read))
        raise StorageError(f"bad result file {name!r}: {error}") from None


def narrowed(
    found: Sequence[_Found], name: str, wanted: str | None, of: Callable[[_Found], str]
) -> list[_Found]:
    """Those of some findings that have the value which an option asks for, one at least.

    All of them, if it asks for none.
    """
    if wanted is None:
        return [*found]
    kept = [one for one in found if of(one) == wanted]
    if not kept:
        raise Refusal(f"bad {name} {wanted!r}: expected one of: {listed(map(of, found))}")
    return kept


def listed(values: Iterable[str]) -> str:
    """Different values, in order of appearance."""
    return ", ".join(dict.fromkeys(values))
