"""Commands about journals: look at a session that runs, delete what results have taken over."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.cli.exits import HOLDS, Refusal
from pytest_ansorbench.cli.formats import terminal
from pytest_ansorbench.cli.stored import add_storage, passed_over, read_stored

if TYPE_CHECKING:
    from pytest_ansorbench.bench import Watch
    from pytest_ansorbench.bench.watching import WatchedSession
    from pytest_ansorbench.cluster.settings import ClusterAddress
    from pytest_ansorbench.report.sections import Report

_CLEAR: Final = "\x1b[H\x1b[2J"
"""Cursor to the top left, then erase the screen: ECMA-48, 8.3.21 and 8.3.39."""


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    watch = commands.add_parser(
        "watch",
        help="how a session stands that runs elsewhere, or what workers do",
        description="Shows from another terminal how a session stands: cases, gates, best "
        "programs, time left, machines; or which repeat each worker of a Dask cluster is at. It "
        "only reads: the session's journal, or what the scheduler says.",
    )
    watch.add_argument(
        "journal",
        nargs="?",
        metavar="JOURNAL|ADDRESS",
        help="number or file of a journal (default: the newest), or HOST:PORT of a scheduler",
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
        description="Deletes journals of sessions that have ended and whose complete runs are "
        "all in a stored result, or in a result given here. Without --yes it only says which. A "
        "journal has the programs of all trials, which train-draft learns from; a result has not.",
    )
    clean.add_argument(
        "results", nargs="*", metavar="RESULT", help="results beside the stored ones: files"
    )
    clean.add_argument(
        "--unreadable",
        action="store_true",
        help="journals and stored results as well that are empty, of NUL bytes, or cut short",
    )
    clean.add_argument("--yes", action="store_true", help="delete them")
    add_storage(clean)
    clean.set_defaults(run=_clean)


def _watch(given: argparse.Namespace) -> int:
    if not given.every > 0.0:
        raise Refusal(f"bad --every {given.every}: expected seconds above 0, e.g. 2")
    scheduler = _scheduler(given.journal)
    try:
        if scheduler is not None:
            return _watch_workers(given, scheduler)
        return _watch_session(given)
    except KeyboardInterrupt:
        return HOLDS


def _watch_session(given: argparse.Namespace) -> int:
    from pytest_ansorbench.report.watch_tables import overview_report

    watch = _begun(given.storage, given.journal)

    def look() -> tuple[Report, bool]:
        overview = _looked(watch)
        return overview_report(overview), overview.is_over

    _show(given, look)
    return HOLDS


def _watch_workers(given: argparse.Namespace, scheduler: ClusterAddress) -> int:
    from pytest_ansorbench.cluster.workers import ClusterWatch
    from pytest_ansorbench.report.watch_tables import workers_report

    with ClusterWatch(scheduler) as watch:
        _show(given, lambda: (workers_report(watch.look()), False))
    return HOLDS


def _show(given: argparse.Namespace, look: Callable[[], tuple[Report, bool]]) -> None:
    """Show what there is to be seen, again and again if that is wanted, until it is over."""
    live = sys.stdout.isatty() and not given.once
    while True:
        report, is_over = look()
        text = terminal().render(report)
        print(f"{_CLEAR}{text}" if live else text, flush=True)
        if is_over or not live:
            return
        time.sleep(given.every)


def _scheduler(wanted: str | None) -> ClusterAddress | None:
    """The scheduler that was asked for; None if it was a journal."""
    from pytest_ansorbench.cluster.settings import ClusterAddress

    if wanted is None or Path(wanted).exists():
        return None
    try:
        address = ClusterAddress.parse(wanted)
    except ValueError:
        return None
    return address if address.scheduler else None


def _begun(storage: Path, wanted: str | None) -> Watch:
    """Watches the journal that was asked for, or the newest that can be read."""
    from pytest_ansorbench.bench import Watch
    from pytest_ansorbench.storage import find_journal, list_journals, newest

    if wanted is not None:
        return Watch(find_journal(storage, wanted))
    journals = list_journals(storage)
    if not journals:
        raise Refusal(f"no journal in {str(storage)!r}; pytest --ansor-bench writes one")

    def begun(path: Path) -> Watch:
        watch = Watch(path)
        _looked(watch)
        return watch

    return newest(journals, begun, passed_over)[1]


def _looked(watch: Watch) -> WatchedSession:
    """How its session stands; runs that cannot be judged are a fault of the journal."""
    from pytest_ansorbench.storage import StorageError

    try:
        return watch.look()
    except (ValueError, ArithmeticError) as error:
        raise StorageError(f"bad journal {str(watch.path)!r}: {error}") from None


def _clean(given: argparse.Namespace) -> int:
    from pytest_ansorbench.report.render.text import printable
    from pytest_ansorbench.storage import (
        CutShortError,
        StorageError,
        cleanable,
        is_being_written,
        left_over,
        list_journals,
        list_saved,
        read_journal,
        read_result,
        readable,
    )

    errors: dict[Path, StorageError] = {}
    results = {
        str(path): result
        for path, result in readable(list_saved(given.storage), read_result, errors.__setitem__)
    }
    results |= {name: read_stored(given.storage, name)[1] for name in given.results}
    kept: dict[Path, str] = {}
    old: dict[Path, str] = {}
    for _, past in readable(list_journals(given.storage), read_journal, errors.__setitem__):
        found = cleanable(past, results)
        if found.reason:
            kept[found.path] = found.reason
        else:
            there = ", ".join(found.taken_over)
            old[found.path] = f"its runs are in {there}" if there else "no repeat of it is complete"
    for path in left_over(given.storage):
        errors[path] = CutShortError("left by a process that was killed while it wrote")
    for path, why in errors.items():
        if not isinstance(why, CutShortError):
            kept[path] = str(why)
        elif given.unreadable:
            old[path] = str(why)
        else:
            kept[path] = f"{why}; --unreadable deletes it"
    for path in filter(is_being_written, (*kept, *old)):
        old.pop(path, None)
        kept[path] = "a session is writing it"
    for path, reason in kept.items():
        print(f"keeps {path} ({_size(path)}): {printable(reason)}")
    for path, reason in old.items():
        does, size = "deleted" if given.yes else "would delete", _size(path)
        if given.yes:
            try:
                path.unlink()
            except OSError as error:
                raise Refusal(f"cannot delete {str(path)!r}: {error.strerror}") from None
        print(f"{does} {path} ({size}): {printable(reason)}")
    if not old:
        print(f"nothing to delete in {given.storage}")
    elif not given.yes:
        print("with --yes it does")
    return HOLDS


def _size(path: Path) -> str:
    return f"{path.lstat().st_size / 1e6:.1f} MB"
