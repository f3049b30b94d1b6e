"""The `ansor-bench` command: looks at what there is to run and at what was saved.

Exit codes: 0 all gates of a shown result hold (or it has none), 1 one is broken, 2 wrong usage
or an unreadable file, 3 one is undecided and none broken.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pytest_ansorbench.records import CaseResult, Result

HOLDS: Final = 0
BROKEN: Final = 1
ERROR: Final = 2
UNDECIDED: Final = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: Words of the command line; `sys.argv` by default.

    Returns:
        The exit code.
    """
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        return int(given.run(given))
    except _Refusal as refusal:
        print(f"ansor-bench: {refusal}", file=sys.stderr)
        return ERROR
    except BrokenPipeError:
        # Whoever read our output has seen enough, as in `ansor-bench cases | head`.
        sys.stderr.close()
        return ERROR


class _Refusal(Exception):
    """Wrong usage or an unreadable file; the message says which."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ansor-bench",
        description="Looks at tuning cases, strategies and saved results. "
        "Searches are run with pytest --ansor-bench.",
        epilog="exit codes: 0 gates hold or there are none, 1 a gate is broken, "
        "2 usage or tool error, 3 a gate is undecided",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    show = commands.add_parser("show", help="print the table of a result file")
    show.add_argument("result", type=Path, help="what --ansor-json or --ansor-save wrote")
    show.add_argument("--columns", metavar="NAME,NAME", help="columns of the table")
    show.add_argument("--sort", metavar="NAME", help="what to sort cases by")
    show.add_argument("--markdown", action="store_true", help="print a Markdown table")
    show.add_argument(
        "-v", "--verbose", action="store_true", help="add phases, failures and decisions"
    )
    show.set_defaults(run=_show)

    saved = commands.add_parser("list", help="list the results kept by --ansor-save")
    saved.add_argument(
        "--storage",
        type=Path,
        default=Path(".ansor_bench"),
        metavar="DIR",
        help="folder they are in (default: .ansor_bench)",
    )
    saved.set_defaults(run=_list)

    cases = commands.add_parser("cases", help="list the shipped cases")
    cases.set_defaults(run=_cases)

    strategies = commands.add_parser("strategies", help="list shipped and installed strategies")
    strategies.set_defaults(run=_strategies)
    return parser


def _show(given: argparse.Namespace) -> int:
    from pytest_ansorbench.report import (
        DEFAULT_COLUMNS,
        DEFAULT_SORT,
        ColumnError,
        describe_case,
        machine_warnings,
        parse_columns,
        parse_sort,
        render_table,
    )
    from pytest_ansorbench.storage import StorageError, read_result

    try:
        columns = parse_columns(given.columns) if given.columns else DEFAULT_COLUMNS
        sort = parse_sort(given.sort) if given.sort else DEFAULT_SORT
        result = read_result(given.result)
    except (ColumnError, StorageError) as error:
        raise _Refusal(str(error)) from None
    cases = _judged_again(result, given.result)
    style = "github" if given.markdown else "simple"
    print(render_table(cases, columns=columns, sort=sort, tablefmt=style))
    if warnings := machine_warnings(cases):
        print("", *warnings, sep="\n")
    if given.verbose:
        for case in cases:
            print("", *describe_case(case), sep="\n")
    outcomes = {verdict.outcome for case in cases for verdict in case.verdicts}
    if "broken" in outcomes:
        return BROKEN
    return UNDECIDED if "undecided" in outcomes else HOLDS


def _judged_again(result: Result, path: Path) -> list[CaseResult]:
    """The cases, with verdicts from their runs: what a file says of itself is not believed."""
    from pytest_ansorbench.stats import PairingError, judge_again

    try:
        return [
            judge_again(
                case,
                tolerance=result.settings["tolerance"],
                confidence=result.settings["confidence"],
            )
            for case in result.cases
        ]
    except (KeyError, TypeError, PairingError, ValueError) as error:
        raise _Refusal(f"bad result file {str(path)!r}: {error}") from None


def _list(given: argparse.Namespace) -> int:
    from tabulate import tabulate

    from pytest_ansorbench.storage import StorageError, list_saved, read_result

    rows = []
    try:
        for path in list_saved(given.storage):
            result = read_result(path)
            strategies = sorted({name for case in result.cases for name in case.strategies})
            rows.append([str(path), result.created, len(result.cases), ", ".join(strategies)])
    except StorageError as error:
        raise _Refusal(str(error)) from None
    if not rows:
        print(f"nothing saved in {given.storage}; pytest --ansor-bench --ansor-save NAME saves")
        return HOLDS
    print(tabulate(rows, headers=["file", "created", "cases", "strategies"]))
    return HOLDS


def _cases(given: argparse.Namespace) -> int:
    from tabulate import tabulate

    from pytest_ansorbench.workloads import OPERATORS

    rows = [[case.id, f"{case.flops / 1e6:.1f}"] for case in OPERATORS]
    print(tabulate(rows, headers=["case", "MFLOP"], disable_numparse=True))
    return HOLDS


def _strategies(given: argparse.Namespace) -> int:
    from tabulate import tabulate

    from pytest_ansorbench.strategies import Registry, StrategyError

    registry = Registry()
    try:
        registry.add_entry_points()
    except StrategyError as error:
        raise _Refusal(str(error)) from None
    rows = [[strategy.name, strategy.description] for strategy in registry]
    print(tabulate(rows, headers=["strategy", "what it is"]))
    return HOLDS


if __name__ == "__main__":
    sys.exit(main())
