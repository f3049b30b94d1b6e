"""Commands about results: show, compare, merge, list."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.cli.exits import BROKEN, HOLDS, UNDECIDED, Refusal, exit_code, parsed
from pytest_ansorbench.cli.formats import add_formats, outputs_of, put_each, put_out
from pytest_ansorbench.cli.stored import (
    add_storage,
    check_outputs,
    judging,
    passed_over,
    read_stored,
)

if TYPE_CHECKING:
    from pytest_ansorbench.records import CaseResult, Result
    from pytest_ansorbench.report.build import Explanation
    from pytest_ansorbench.report.table import Layout
    from pytest_ansorbench.stats.judging import JudgedResult


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    show = commands.add_parser("show", help="print the table of a result file")
    show.add_argument(
        "result", help="what --ansor-json wrote, or the name or number of a stored result"
    )
    _add_goal(show)
    _add_suite_limits(show)
    _add_layout(show)
    add_formats(show)
    show.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="explain the columns, and add phases, failures and decisions",
    )
    add_storage(show)
    show.set_defaults(run=_show)

    report = commands.add_parser(
        "report",
        help="all that is known of a result, in the formats of files",
        description="Reports on a result: verdicts, table, details of each case, curves. Several "
        "results are put together first, as merge does.",
    )
    report.add_argument("results", nargs="+", metavar="RESULT", help="name, number or file")
    _add_goal(report)
    _add_suite_limits(report)
    _add_layout(report)
    add_formats(report)
    add_storage(report)
    report.set_defaults(run=_report)

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
        help="by how much a figure may get worse, e.g. throughput_ratio:3%%, or "
        "suite_search_ratio:5%% for all cases together; may be given several times; an unknown "
        "metric makes it list all",
    )
    _add_goal(compare)
    compare.add_argument(
        "--any-machine", action="store_true", help="compare seconds and GFLOP/s all the same"
    )
    add_formats(compare)
    add_storage(compare)
    compare.set_defaults(run=_compare)

    merge = commands.add_parser(
        "merge",
        help="put the results of several shards or machines into one",
        description="Puts the results of several shards or machines into one and judges it. Exits "
        "with 3 if shards are missing.",
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


def _add_layout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--columns", metavar="NAME,NAME", help="columns of the table")
    parser.add_argument(
        "--sort",
        metavar="NAME",
        default="order",
        help="what to sort cases by (default: order, as they were run)",
    )
    parser.add_argument(
        "--group-by",
        metavar="NAME",
        default="case",
        help="which rows stand together, with their sums: those of a case, of a family (an "
        "operator or a network), of a network, or of a strategy (default: %(default)s)",
    )
    parser.add_argument(
        "--time-unit",
        metavar="UNIT",
        default="auto",
        help="unit of times: s, ms, us, or auto for that in which the longest is at least 1 "
        "(default: %(default)s)",
    )


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
                type=float,
                metavar="RATIO",
                help=f"hold the {figure.name} of all cases together against this, as "
                f"--ansor-{figure.suite_word} does (default: as recorded)",
            )


def _show(given: argparse.Namespace) -> int:
    from pytest_ansorbench.report.build import result_report

    outputs = outputs_of(given)
    layout = _layout(given)
    read = path, result = read_stored(given.storage, given.result)
    check_outputs((one.path for one in outputs), [path])
    judged = _judged(result, given, [read])
    explained: Explanation = "fully" if given.verbose else "not"
    put_out(result_report(judged, layout, explained=explained, detailed=given.verbose), outputs)
    return _exit_code(judged)


def _judged(
    result: Result, given: argparse.Namespace, read: Sequence[tuple[str | Path, Result]]
) -> JudgedResult:
    """A result judged again, by what is asked for: the verdicts in its files are not believed."""
    from pytest_ansorbench.stats.judging import judge_result

    result = _with_suite_limits(_with_goal(result, given.goal), given)
    with judging(*read):
        return judge_result(result)


def _layout(given: argparse.Namespace) -> Layout:
    """The table that was asked for."""
    from pytest_ansorbench.report.columns import parse_columns
    from pytest_ansorbench.report.table import Layout, parse_grouping, parse_sort, parse_time_unit

    return Layout(
        parse_columns(given.columns) if given.columns else None,
        parse_sort(given.sort),
        parse_grouping(given.group_by),
        parse_time_unit(given.time_unit),
    )


def _exit_code(judged: JudgedResult) -> int:
    of_cases = (verdict.outcome for case in judged.cases for verdict in case.verdicts)
    of_suites = (suite.outcome for suite in judged.suites)
    of_lost = ("broken" for _ in judged.missed)
    return exit_code([*_of_arms(judged.cases), *of_cases, *of_suites, *of_lost])


def _of_arms(cases: Sequence[CaseResult]) -> Iterator[str]:
    """An arm that cannot be judged is as bad as a broken gate."""
    from pytest_ansorbench.stats.failures import arm_failures

    for case in cases:
        yield from ("broken" for failures in arm_failures(case) if failures.is_complete)


def _report(given: argparse.Namespace) -> int:
    from pytest_ansorbench.options.settings import command_line
    from pytest_ansorbench.report.build import full_report
    from pytest_ansorbench.report.provenance import provenance
    from pytest_ansorbench.winners import scripts_of

    outputs = outputs_of(given)
    layout = _layout(given)
    read = [read_stored(given.storage, one) for one in given.results]
    check_outputs((one.path for one in outputs), (path for path, _ in read))
    result = _merged(read)
    judged = _judged(result, given, read)
    reports = {
        has_room: full_report(
            judged,
            layout,
            scripts=scripts_of(result) if has_room else (),
            rests_on=provenance(result, command_line(result.settings)),
        )
        for has_room in {output.has_room for output in outputs}
    }
    put_each((reports[output.has_room], output) for output in outputs)
    return _exit_code(judged)


def _compare(given: argparse.Namespace) -> int:
    from pytest_ansorbench.report.build import changes_report
    from pytest_ansorbench.report.changes import comparison_report
    from pytest_ansorbench.stats.criteria import Criteria
    from pytest_ansorbench.stats.limits import Allowance
    from pytest_ansorbench.storage import result_changes

    outputs = outputs_of(given)
    allowances = [parsed("--fail", text, Allowance.parse) for text in given.fail]
    earlier = then, before = read_stored(given.storage, given.before)
    later = now, after = read_stored(given.storage, given.after)
    check_outputs((one.path for one in outputs), [then, now])
    after = _with_goal(after, given.goal)
    with judging(earlier, later):
        criteria = Criteria.from_settings(after.settings)
        changes = result_changes(
            before, after, allowances, criteria=criteria, any_machine=given.any_machine
        )
        brief = full = changes_report(
            changes,
            "--any-machine",
            cases=after.cases,
            noise_before=before.noise,
            noise_after=after.noise,
        )
        if any(output.has_room for output in outputs):
            full = comparison_report(brief, changes, before.cases, after.cases, criteria)
    put_each((full if output.has_room else brief, output) for output in outputs)
    gates = [gate for case in changes for gate in case.gates]
    if allowances and not gates:
        print("nothing could be compared, so --fail is broken", file=sys.stderr)
        return BROKEN
    unknown = ["undecided" for case in changes if case.incomparable and allowances]
    return exit_code([*_of_arms(after.cases), *(gate.outcome for gate in gates), *unknown])


def _merge(given: argparse.Namespace) -> int:
    from pytest_ansorbench.report.render.text import printable
    from pytest_ansorbench.report.wording import counted
    from pytest_ansorbench.stats.judging import judge_result
    from pytest_ansorbench.storage import write_result

    read = [read_stored(given.storage, wanted) for wanted in given.results]
    check_outputs([given.output], (path for path, _ in read))
    merged = _merged(read)
    with judging(*read):
        judged = judge_result(merged)
    write_result(replace(merged, cases=judged.cases, suites=judged.suites), given.output)
    cases = counted(len(judged.cases), "case")
    runs = counted(sum(len(case.runs) for case in judged.cases), "run")
    print(f"{given.output}: {cases}, {runs} from {counted(len(read), 'result')}")
    missing = merged.shards.missing if merged.shards is not None else ()
    if missing:
        shards = "shard" if len(missing) == 1 else "shards"
        print(f"missing: {shards} {', '.join(map(str, missing))}")
        if merged.lost:
            print(f"without any run: {printable(', '.join(merged.lost))}")
    return UNDECIDED if missing else HOLDS


def _merged(read: Sequence[tuple[Path, Result]]) -> Result:
    """Several results as one; a single one as it is."""
    from pytest_ansorbench.storage import merge_results

    if len({path.resolve() for path, _ in read}) < len(read):
        raise Refusal("bad results: expected different files, got one of them twice")
    if len(read) == 1:
        return read[0][1]
    return merge_results({str(path): result for path, result in read})


def _with_goal(result: Result, goal: str | None) -> Result:
    """The same runs, to be judged by another goal."""
    from pytest_ansorbench.stats.goal import Goal

    if goal is None:
        return result
    wanted = parsed("--goal", goal, Goal.parse)
    return replace(result, settings={**result.settings, "goal": str(wanted)})


def _with_suite_limits(result: Result, given: argparse.Namespace) -> Result:
    """The same runs, to be held to other limits of the suite."""
    from pytest_ansorbench.stats.figures import FIGURES
    from pytest_ansorbench.stats.limits import Limits

    recorded = {}
    for key, figure in FIGURES.items():
        limit = getattr(given, figure.suite_keyword) if figure.suite_word else None
        if limit is not None:
            try:
                recorded[figure.suite_keyword] = Limits({key: limit})[key]
            except ValueError as error:
                raise Refusal(f"bad --{figure.suite_word} {limit!r}: {error}") from None
    return replace(result, settings={**result.settings, **recorded})


def _list(given: argparse.Namespace) -> int:
    from tabulate import tabulate

    from pytest_ansorbench.report.render.text import printable
    from pytest_ansorbench.storage import (
        is_being_written,
        journal_name,
        list_journals,
        list_saved,
        read_journal,
        read_result,
        readable,
    )

    rows = []
    for path, result in readable(list_saved(given.storage), read_result, passed_over):
        strategies = sorted({name for case in result.cases for name in case.strategies})
        told = (printable(result.created), len(result.cases), printable(", ".join(strategies)))
        rows.append([str(path), *told])
    journals = [*readable(list_journals(given.storage), read_journal, passed_over)]
    if rows:
        print(tabulate(rows, headers=["file", "created", "cases", "strategies"]))
    else:
        print(f"nothing saved in {given.storage}; pytest --ansor-bench --ansor-save NAME saves")
    for path, past in journals:
        if past.finished:
            continue
        began, name = printable(past.session.created), journal_name(path)
        if is_being_written(path):
            print(f"running: {path}, begun {began}; ansor-bench watch {path} shows it")
        else:
            print(f"interrupted: {path}, begun {began}; --ansor-resume={name} goes on with it")
    return HOLDS
