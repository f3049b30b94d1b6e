"""The command `tournament`: all strategies of recorded results against each other."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.cli.exits import HOLDS, Refusal, parsed
from pytest_ansorbench.cli.formats import add_formats, outputs_of, put_each
from pytest_ansorbench.cli.stored import add_storage, check_outputs, judging, narrowed, read_stored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_ansorbench.records import Result
    from pytest_ansorbench.stats.criteria import Criteria

_MOST_PAIRS = 28
"""Pairs that a terminal shows: those of eight strategies."""


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    tournament = commands.add_parser(
        "tournament",
        help="compare all strategies of results with each other",
        description="Compares all strategies of results, of one session or several: S of each "
        "pair, ranks, targets reached over trials and seconds, performance profiles. Runs meet "
        "under the same conditions only: version of the case, machine, budget, caches.",
    )
    tournament.add_argument("results", nargs="+", metavar="RESULT", help="name, number or file")
    tournament.add_argument(
        "--strategy", metavar="NAME,NAME", help="strategies that take part (default: all)"
    )
    tournament.add_argument(
        "--reference",
        metavar="NAME",
        help="strategy whose gain the targets divide, as in other reports (default: up to the best "
        "kernel of all)",
    )
    tournament.add_argument(
        "--goal", metavar="GOAL", help="as --ansor-goal has it (default: as recorded)"
    )
    add_formats(tournament)
    add_storage(tournament)
    tournament.set_defaults(run=_tournament)


def _tournament(given: argparse.Namespace) -> int:
    from pytest_ansorbench.report.tournament import tournament_report
    from pytest_ansorbench.stats.contests import contests_of

    outputs = outputs_of(given)
    results: dict[str, Result] = {}
    for one in given.results:
        path, result = read_stored(given.storage, one)
        if str(path.resolve()) in results:
            raise Refusal(f"bad results: {str(path)!r} is given twice; expected different files")
        results[str(path.resolve())] = result
    check_outputs((one.path for one in outputs), map(Path, results))
    with judging(*results.items()):
        criteria = _criteria(results, given.goal)
        contests = contests_of([*results.values()], criteria)
        known = sorted({arm for contest in contests for arm in contest.arms})
        arms = known
        if given.strategy is not None:
            arms = [name.strip() for name in given.strategy.split(",")]
        contests = tuple(of for one in contests if (of := one.of(arms)).arms)
        for name, wanted, choice in (
            *(("--strategy", arm, known) for arm in arms),
            ("--reference", given.reference, arms),
        ):
            narrowed(choice, name, wanted, str)
        if not contests:
            raise Refusal(f"bad results {', '.join(results)}: expected some with runs")
        mosts = [_MOST_PAIRS if output.format == "terminal" else None for output in outputs]
        reports = {
            most: tournament_report(contests, criteria, given.reference, most_pairs=most)
            for most in {*mosts}
        }
    put_each((reports[most], output) for output, most in zip(outputs, mosts, strict=True))
    return HOLDS


def _criteria(results: Mapping[str, Result], goal: str | None) -> Criteria:
    """Those that all results were judged by; a goal that is given decides.

    Progress is believed if it is so in any.
    """
    from dataclasses import replace

    from pytest_ansorbench.stats.criteria import Criteria
    from pytest_ansorbench.stats.goal import Goal

    wanted = None if goal is None else parsed("--goal", goal, Goal.parse)
    (first, criteria), *others = (
        (name, replace(Criteria.from_settings(result.settings), looks=None))
        for name, result in results.items()
    )
    if wanted is not None:
        criteria = replace(criteria, goal=wanted)
    for name, other in others:
        if other.progress == "believed":  # what every run has
            criteria = replace(criteria, progress="believed")
        for key in ("goal", "tolerance", "confidence"):
            mine, theirs = getattr(criteria, key), getattr(other, key)
            if mine != theirs and not (key == "goal" and wanted):
                cure = "--goal chooses one goal for all" if key == "goal" else "they must agree"
                raise Refusal(
                    f"bad results {first!r} and {name!r}: setting {key} is {mine} in one and "
                    f"{theirs} in the other; {cure}"
                )
    return criteria
