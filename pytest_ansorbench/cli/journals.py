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
from pytest_ansorbench.cli.stored import add_storage, read_stored

if TYPE_CHECKING:
    from pytest_ansorbench.cluster.settings import ClusterAddress
    from pytest_ansorbench.records import Result
    from pytest_ansorbench.report import Report
    from pytest_ansorbench.storage.cleaning import Cleanable

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
    from pytest_ansorbench.bench import Watch
    from pytest_ansorbench.report import overview_report

    watch = Watch(_journal(given.storage, given.journal))

    def look() -> tuple[Report, bool]:
        overview = watch.look()
        return overview_report(overview), overview.is_over

    try:
        _show(given, look)
    except ValueError as error:
        raise Refusal(f"bad journal {str(watch.path)!r}: {error}") from None
    return HOLDS


def _watch_workers(given: argparse.Namespace, scheduler: ClusterAddress) -> int:
    from pytest_ansorbench.cluster.workers import ClusterWatch
    from pytest_ansorbench.report import workers_report

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


def _journal(storage: Path, wanted: str | None) -> Path:
    """The journal that was asked for, or the newest."""
    from pytest_ansorbench.storage import find_journal, list_journals

    if wanted is not None:
        return find_journal(storage, wanted)
    journals = list_journals(storage)
    if not journals:
        raise Refusal(f"no journal in {str(storage)!r}; pytest --ansor-bench writes one")
    return journals[-1]


def _clean(given: argparse.Namespace) -> int:
    from pytest_ansorbench.storage import cleanable, list_journals, list_saved, read_journal

    results: dict[str, Result] = {}
    for name in [*map(str, list_saved(given.storage)), *given.results]:
        _, results[name] = read_stored(given.storage, name)
    found = [cleanable(read_journal(path), results) for path in list_journals(given.storage)]
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
