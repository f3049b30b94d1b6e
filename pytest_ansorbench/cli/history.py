"""The command `history`: stored results, one after the other."""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.cli.exits import HOLDS, Refusal
from pytest_ansorbench.cli.formats import add_formats, outputs_of, put_out
from pytest_ansorbench.cli.stored import add_storage, check_outputs, judging, passed_over

if TYPE_CHECKING:
    from pytest_ansorbench.records import Result
    from pytest_ansorbench.stats.judging import JudgedResult


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    history = commands.add_parser(
        "history",
        help="how stored results changed from one to the next",
        description="Shows the results that --ansor-save and --ansor-autosave have stored, in "
        "their order: S and throughput ratio of all cases, seconds and throughput of each case, "
        "and what changed since the result before, with an interval that excludes 1.",
    )
    history.add_argument(
        "--last", type=int, metavar="N", help="only this many, the newest (default: all)"
    )
    add_formats(history)
    add_storage(history)
    history.set_defaults(run=_history)


def _history(given: argparse.Namespace) -> int:
    from pytest_ansorbench.report.history import Stage, history_report
    from pytest_ansorbench.stats.judging import judge_result
    from pytest_ansorbench.storage import (
        list_saved,
        read_result,
        readable,
        result_changes,
        result_name,
    )

    def judged(path: Path) -> tuple[Result, JudgedResult]:
        result = read_result(path)
        with judging((path, result)):
            return result, judge_result(result)

    outputs = outputs_of(given)
    if given.last is not None and given.last < 1:
        raise Refusal(f"bad --last {given.last}: expected at least 1, e.g. 10")
    newest_first = readable(reversed(list_saved(given.storage)), judged, passed_over)
    check_outputs((one.path for one in outputs), list_saved(given.storage))
    stages: list[Stage] = []
    for path, (result, found) in reversed([*islice(newest_first, given.last)]):
        with judging((path, result)):
            changes = (
                result_changes(
                    stages[-1].result, result, (), criteria=found.criteria, any_machine=False
                )
                if stages
                else ()
            )
        stages.append(Stage(result_name(path), result, found, changes))
    if not stages:
        print(f"nothing saved in {given.storage}; pytest --ansor-bench --ansor-save NAME saves")
        return HOLDS
    put_out(history_report(stages), outputs)
    return HOLDS
