"""Commands about results: show, compare, merge, list."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.cli.exits import BROKEN, HOLDS, Refusal, exit_code
from pytest_ansorbench.cli.stored import add_storage, read_stored, refusal

if TYPE_CHECKING:
    from pytest_ansorbench.records import Result
    from pytest_ansorbench.report import Renderer
    from pytest_ansorbench.stats.judge_result import Judged


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the commands to a parser."""
    show = commands.add_parser("show", help="print the table of a result file")
    show.add_argument(
        "result", help="what --ansor-json wrote, or the name or number of a stored result"
    )
    show.add_argument("--columns", metavar="NAME,NAME", help="columns of the table")
    _add_goal(show)
    _add_suite_limits(show)
    show.add_argument("--sort", metavar="NAME", help="what to sort cases by")
    show.add_argument("--markdown", action="store_true", help="print a Markdown table")
    show.add_argument(
        "-v", "--verbose", action="store_true", help="add phases, failures and decisions"
    )
    add_storage(show)
    show.set_defaults(run=_show)

    compare = commands.add_parser(
        "compare",
        help="hold a result against an earlier one",
        description="Holds a result against an earlier one. Ratios between strategies are "
        "compared always, seconds and GFLOP/s on the same machine only.",
    )
    compare.add_argument("before", metavar="A", help="the earlier result: name, number or file")
    compare.add_argument("after", metavar="B", help="the later one")
    compare.add_argument(
        "--fail",
        action="append",
        default=[],
        metavar="METRIC:LIMIT",
        help="by how much a figure may get worse, e.g. search_ratio:5%%, or suite_search_ratio:5%% "
        "for all cases together; may be given several times; an unknown metric makes it list all",
    )
    _add_goal(compare)
    compare.add_argument(
        "--any-machine", action="store_true", help="compare seconds and GFLOP/s all the same"
    )
    compare.add_argument("--markdown", action="store_true", help="print a Markdown table")
    add_storage(compare)
    compare.set_defaults(run=_compare)

    merge = commands.add_parser(
        "merge", help="put the results of several shards or machines into one"
    )
    merge.add_argument("results", nargs="+", metavar="RESULT", help="name, number or file")
    merge.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE", help="file to write"
    )
    add_storage(merge)
    merge.set_defaults(run=_merge)

    saved = commands.add_parser(
        "list", help="list the results kept by --ansor-save, and interrupted runs"
    )
    add_storage(saved)
    saved.set_defaults(run=_list)


def _add_goal(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--goal",
        metavar="GOAL",
        help="what S counts the time to, as --ansor-goal has it (default: as recorded)",
    )


def _add_suite_limits(parser: argparse.ArgumentParser) -> None:
    from pytest_ansorbench.stats.figures import FIGURES

    for figure in FIGURES.values():
        if figure.suite_word:
            parser.add_argument(
                f"--{figure.suite_word}",
                type=_limit,
                metavar="RATIO",
                help=f"hold the {figure.name} of all cases together against this, as "
                f"--ansor-{figure.suite_word} does (default: as recorded)",
            )


def _limit(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a ratio, e.g. 0.75") from None


def _show(given: argparse.Namespace) -> int:
    from pytest_ansorbench.report import (
        DEFAULT_COLUMNS,
        DEFAULT_SORT,
        ColumnError,
        parse_columns,
        parse_sort,
        result_report,
    )

    try:
        columns = parse_columns(given.columns) if given.columns else DEFAULT_COLUMNS
        sort = parse_sort(given.sort) if given.sort else DEFAULT_SORT
    except ColumnError as error:
        raise Refusal(str(error)) from None
    _, result = read_stored(given.storage, given.result)
    result = _with_suite_limits(_with_goal(result, given.goal), given)
    judged = _judged_again(result, given.result)
    report = result_report(
        judged.cases,
        judged.criteria,
        columns,
        sort,
        suites=judged.suites,
        noise=result.noise,
        detailed=given.verbose,
    )
    print(_renderer(given).render(report))
    of_cases = (verdict.outcome for case in judged.cases for verdict in case.verdicts)
    return exit_code([*of_cases, *(suite.outcome for suite in judged.suites)])


def _compare(given: argparse.Namespace) -> int:
    from pytest_ansorbench.report import changes_report
    from pytest_ansorbench.stats.compare import PairingError
    from pytest_ansorbench.stats.criteria import Criteria
    from pytest_ansorbench.stats.limits import Allowance
    from pytest_ansorbench.storage import result_changes

    allowances = []
    for text in given.fail:
        try:
            allowances.append(Allowance.parse(text))
        except ValueError as error:
            raise Refusal(f"bad --fail {text!r}: {error}") from None
    _, before = read_stored(given.storage, given.before)
    path, after = read_stored(given.storage, given.after)
    after = _with_goal(after, given.goal)
    try:
        changes = result_changes(
            before,
            after,
            allowances,
            criteria=Criteria.from_settings(after.settings),
            any_machine=given.any_machine,
        )
    except (PairingError, ValueError) as error:
        raise Refusal(f"bad result file {str(path)!r}: {error}") from None
    report = changes_report(
        changes, "--any-machine", noise_before=before.noise, noise_after=after.noise
    )
    print(_renderer(given).render(report))
    gates = [gate for case in changes for gate in case.gates]
    if allowances and not gates:
        print("", "nothing could be compared, so --fail is broken", sep="\n")
        return BROKEN
    unknown = ["undecided" for case in changes if case.incomparable and allowances]
    return exit_code([*(gate.outcome for gate in gates), *unknown])


def _renderer(given: argparse.Namespace) -> Renderer:
    from pytest_ansorbench.report import RENDERERS

    return RENDERERS["markdown" if given.markdown else "terminal"]


def _merge(given: argparse.Namespace) -> int:
    from pytest_ansorbench.storage import StorageError, merge_results, write_result

    read = [read_stored(given.storage, wanted) for wanted in given.results]
    if len({path.resolve() for path, _ in read}) < len(read):
        raise Refusal("bad results: expected different files, got one of them twice")
    try:
        merged = merge_results({str(path): result for path, result in read})
        judged = _judged_again(merged, given.output)
        write_result(replace(merged, cases=judged.cases, suites=judged.suites), given.output)
    except StorageError as error:
        raise Refusal(str(error)) from None
    runs = sum(len(case.runs) for case in judged.cases)
    print(f"{given.output}: {len(judged.cases)} cases, {runs} runs from {len(read)} results")
    return HOLDS


def _with_goal(result: Result, goal: str | None) -> Result:
    """The same runs, to be judged by another goal."""
    from pytest_ansorbench.stats.goal import Goal

    if goal is None:
        return result
    try:
        return replace(result, settings={**result.settings, "goal": str(Goal.parse(goal))})
    except ValueError as error:
        raise Refusal(f"bad --goal {goal!r}: {error}") from None


def _with_suite_limits(result: Result, given: argparse.Namespace) -> Result:
    """The same runs, to be held to other limits of the suite."""
    from pytest_ansorbench.stats.figures import FIGURES
    from pytest_ansorbench.stats.limits import Limits

    limits = {
        figure.suite_keyword: (figure, getattr(given, figure.suite_keyword))
        for figure in FIGURES.values()
        if figure.suite_word and getattr(given, figure.suite_keyword) is not None
    }
    for figure, limit in limits.values():
        try:
            Limits({figure.key: limit})
        except ValueError as error:
            raise Refusal(f"bad --{figure.suite_word} {limit!r}: {error}") from None
    recorded = {keyword: limit for keyword, (_, limit) in limits.items()}
    return replace(result, settings={**result.settings, **recorded})


def _judged_again(result: Result, source: str | Path) -> Judged:
    """The cases, with verdicts from their runs: those in the file are not believed."""
    from pytest_ansorbench.stats.compare import PairingError
    from pytest_ansorbench.stats.judge_result import judge_result

    try:
        return judge_result(result)
    except (PairingError, ValueError) as error:
        raise Refusal(f"bad result file {str(source)!r}: {error}") from None


def _list(given: argparse.Namespace) -> int:
    from tabulate import tabulate

    from pytest_ansorbench.storage import (
        StorageError,
        list_journals,
        list_saved,
        read_journal,
        read_result,
    )

    rows = []
    try:
        for path in list_saved(given.storage):
            result = read_result(path)
            strategies = sorted({name for case in result.cases for name in case.strategies})
            rows.append([str(path), result.created, len(result.cases), ", ".join(strategies)])
        journals = [read_journal(path) for path in list_journals(given.storage)]
    except StorageError as error:
        raise refusal(error) from None
    if rows:
        print(tabulate(rows, headers=["file", "created", "cases", "strategies"]))
    else:
        print(f"nothing saved in {given.storage}; pytest --ansor-bench --ansor-save NAME saves")
    for past in journals:
        if not past.finished:
            print(
                f"interrupted: {past.path}, begun {past.session.created}; "
                f"--ansor-resume={past.path.stem} goes on with it"
            )
    return HOLDS
