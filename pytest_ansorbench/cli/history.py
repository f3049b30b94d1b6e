"""The command `history`: stored results, one after the other."""

from __future__ import annotations

import argparse
from typing import Any

from pytest_ansorbench.cli.exits import HOLDS, Refusal
from pytest_ansorbench.cli.formats import add_formats, check_formats, put_out
from pytest_ansorbench.cli.stored import add_storage, judging, read_stored


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    history = commands.add_parser(
        "history",
        help="how stored results changed from one to the next",
        description="Shows the results that --ansor-save and --ansor-autosave have stored, in "
        "their order: S and throughput ratio of all cases, seconds and throughput of each case, "
        "and what changed since the result before by more than chance.",
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
    from pytest_ansorbench.storage import list_saved, result_changes, result_name

    check_formats(given)
    if given.last is not None and given.last < 1:
        raise Refusal(f"bad --last {given.last}: expected at least 1, e.g. 10")
    paths = list_saved(given.storage)
    if not paths:
        print(f"nothing saved in {given.storage}; pytest --ansor-bench --ansor-save NAME saves")
        return HOLDS
    stages: list[Stage] = []
    for path in paths[-given.last :] if given.last else paths:
        _, result = read_stored(given.storage, str(path))
        with judging(path):
            judged = judge_result(result)
            changes = (
                result_changes(
                    stages[-1].result, result, (), criteria=judged.criteria, any_machine=False
                )
                if stages
                else ()
            )
        stages.append(Stage(result_name(path), result, judged, changes))
    put_out(history_report(stages), given)
    return HOLDS
