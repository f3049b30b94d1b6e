"""Commands about journals: look at a session that runs, delete what results have taken over."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.cli.exits import HOLDS, Refusal
from pytest_ansorbench.cli.formats import terminal
from pytest_ansorbench.cli.stored import add_storage, read_stored, refusal

if TYPE_CHECKING:
    from pytest_ansorbench.records import Result
    from pytest_ansorbench.storage.cleaning import Cleanable

_CLEAR: Final = "\x1b[H\x1b[2J"
"""Cursor to the top left, then erase the screen: ECMA-48, 8.3.21 and 8.3.39."""


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the commands to a parser."""
    watch = commands.add_parser(
        "watch",
        help="how a session stands that runs elsewhere",
        description="Shows from another terminal how a session stands: cases, gates, best "
        "programs, time left, machines. It only reads the session's journal.",
    )
    watch.add_argument(
        "journal",
        nargs="?",
        metavar="JOURNAL",
        help="number or file of a journal (default: the newest)",
    )
    watch.add_argument(
        "--every",
        type=float,
        default=2.0,
        metavar="SECONDS",
        help="look again after so many seconds, until the session ends (default: %(default)s)",
    )
    watch.add_argument(
        "--once",
        action="store_true",
        help="look once; so it does where output is no terminal",
    )
    add_storage(watch)
    watch.set_defaults(run=_watch)

    clean = commands.add_parser(
        "clean",
        help="delete journals whose runs are in results",
        description="Deletes journals of sessions that have ended and whose runs are all in a "
        "stored result, or in a result given here. Without --yes it only says which. A journal "
        "has the programs of all trials, which train-draft learns from; a result has not.",
    )
    clean.add_argument(
        "results", nargs="*", metavar="RESULT", help="results beside the stored ones: files"
    )
    clean.add_argument("--yes", action="store_true", help="delete them")
    add_storage(clean)
    clean.set_defaults(run=_clean)


def _watch(given: argparse.Namespace) -> int:
    from pytest_ansorbench.bench import Watch
    from pytest_ansorbench.report import overview_report
    from pytest_ansorbench.storage import StorageError

    if not given.every > 0.0:
        raise Refusal(f"bad --every {given.every}: expected seconds above 0, e.g. 2")
    watch = Watch(_journal(given.storage, given.journal))
    live = sys.stdout.isatty() and not given.once
    try:
        while True:
            overview = watch.look()
            text = terminal().render(overview_report(overview))
            print(f"{_CLEAR}{text}" if live else text, flush=True)
            if overview.is_over or not live:
                return HOLDS
            time.sleep(given.every)
    except StorageError as error:
        raise Refusal(str(error)) from None
    except ValueError as error:
        raise Refusal(f"bad journal {str(watch.path)!r}: {error}") from None
    except KeyboardInterrupt:
        return HOLDS


def _journal(storage: Path, wanted: str | None) -> Path:
    """The journal that was asked for, or the newest."""
    from pytest_ansorbench.storage import StorageError, journal_name, list_journals

    try:
        journals = {journal_name(path): path for path in list_journals(storage)}
    except StorageError as error:
        raise refusal(error) from None
    if wanted is None:
        if not journals:
            raise Refusal(f"no journal in {str(storage)!r}; pytest --ansor-bench writes one")
        return list(journals.values())[-1]
    for name, path in journals.items():
        if wanted in (name, name.lstrip("0")):
            return path
    if wanted.isdecimal():
        known = ", ".join([*journals][-3:]) or "none"
        raise Refusal(f"bad journal {wanted!r}: in {str(storage)!r} there are {known}")
    return Path(wanted)


def _clean(given: argparse.Namespace) -> int:
    from pytest_ansorbench.storage import (
        StorageError,
        cleanable,
        list_journals,
        list_saved,
        read_journal,
    )

    try:
        wanted = [*map(str, list_saved(given.storage)), *given.results]
        results: dict[str, Result] = {}
        for name in wanted:
            _, results[name] = read_stored(given.storage, name)
        found = [cleanable(read_journal(path), results) for path in list_journals(given.storage)]
    except StorageError as error:
        raise refusal(error) from None
    for one in found:
        if one.reason:
            print(f"keeps {one.path} ({_size(one)}): {one.reason}")
    old = [one for one in found if not one.reason]
    for one in old:
        does = "deleted" if given.yes else "would delete"
        if given.yes:
            try:
                one.path.unlink()
            except OSError as error:
                raise Refusal(f"cannot delete {str(one.path)!r}: {error.strerror}") from None
        print(f"{does} {one.path} ({_size(one)}): its runs are in {', '.join(one.taken_over)}")
    if not old:
        print(f"nothing to delete in {given.storage}")
    elif not given.yes:
        print("with --yes it does")
    return HOLDS


def _size(one: Cleanable) -> str:
    return f"{one.size / 1e6:.1f} MB"
