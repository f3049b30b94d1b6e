"""Do landscapes rank searches as the machine does? Recorded searches, and the same ones replayed.

    python benchmarks/agreement.py RESULT [RESULT ...] [--landscapes FOLDER] [--repeats N]

Of each case of the results that has a landscape, the arms that a landscape can be searched by are
replayed with as many trials in rounds of the same size. Arms are ranked by how often they are the
sooner one (as `ansor-bench tournament` does) and by final throughput. The table shows rank
correlations (Spearman) of recorded and replayed, over all arms and within the half that is best
when recorded; and, as what there is to reach, of one recorded repeat and the others, as the mean
over repeats.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from landscapes import INTO
from tabulate import tabulate

from pytest_ansorbench.landscapes.files import read_landscape
from pytest_ansorbench.landscapes.replaying import Plan, replay
from pytest_ansorbench.stats.contests import Contest, contests_of
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.ranks import rank_correlation
from pytest_ansorbench.stats.standings import sooner, throughputs
from pytest_ansorbench.storage import read_result
from pytest_ansorbench.strategies import Registry
from pytest_ansorbench.strategies.proposer import DecisionPolicy

CRITERIA: Final = Criteria()
Scores = Mapping[str, float]


def votes(contest: Contest) -> Scores:
    """How often each arm is the sooner one."""
    gain = contest.gain(None, CRITERIA.tolerance)
    return {} if gain is None else sooner(contest, gain, CRITERIA.goal)


def speeds(contest: Contest) -> Scores:
    """Final throughput of each arm."""
    found = throughputs(contest)
    return {arm: found[arm] for arm in contest.arms}


BY: Final[Mapping[str, Callable[[Contest], Scores]]] = {"sooner": votes, "throughput": speeds}


def of_seeds(contest: Contest, seeds: Collection[int]) -> Contest:
    """The repeats with some seeds."""
    arms = {
        arm: [entry for entry in entries if entry.seed in seeds]
        for arm, entries in contest.arms.items()
    }
    return replace(contest, arms=arms)


def correlation(some: Scores, others: Scores, arms: Collection[str]) -> float:
    """Of the ranks of arms; NaN if either has none."""
    if not some or not others:
        return np.nan
    names = sorted(arms)
    found = rank_correlation(
        np.array([some[name] for name in names]), np.array([others[name] for name in names])
    )
    return np.nan if found is None else found


def between_repeats(contest: Contest, score: Callable[[Contest], Scores]) -> float:
    """The mean correlation of one repeat and all others; NaN if no repeat ranks its arms."""
    seeds = {entry.seed for entries in contest.arms.values() for entry in entries}
    if len(seeds) < 2:
        return np.nan
    found = [
        correlation(
            score(of_seeds(contest, {seed})), score(of_seeds(contest, seeds - {seed})), contest.arms
        )
        for seed in sorted(seeds)
    ]
    ranked = [one for one in found if not np.isnan(one)]
    return float(np.mean(ranked)) if ranked else np.nan


def replayed(contest: Contest, path: Path, repeats: int) -> tuple[Contest, Contest]:
    """The contest of the arms that can be replayed, and these on its case's landscape."""
    registry = Registry.installed()
    known = {one.name: one for one in registry if isinstance(one.proposer, DecisionPolicy)}
    arms = [arm for arm in contest.arms if arm in known]
    [first, *_] = contest.runs_of(arms[0])
    plan = Plan(first.run.budget_trials, first.run.round_trials, repeats)
    result = replay([read_landscape(path)], [known[arm] for arm in arms], plan)
    [there] = contests_of([result], CRITERIA)
    return contest.of(arms), there


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULT")
    parser.add_argument("--landscapes", type=Path, default=INTO, metavar="FOLDER")
    parser.add_argument("--repeats", type=int, default=10, help="(default: %(default)s)")
    given = parser.parse_args()
    for contest in contests_of([read_result(path) for path in given.results], CRITERIA):
        path = given.landscapes / f"{contest.conditions.case}.json.gz"
        if not path.exists():
            continue
        here, there = replayed(contest, path, given.repeats)
        print(f"\n{contest.conditions.case}\n{arms_table(here, there)}\n")
        print(agreement_table(here, there))


def arms_table(here: Contest, there: Contest) -> str:
    """How good each arm is, recorded and replayed, the best first."""
    scores = [score(contest) for score in BY.values() for contest in (here, there)]
    rows = [[arm, *(of[arm] for of in scores)] for arm in here.arms]
    rows.sort(key=lambda row: -float(row[1]))
    columns = [f"{name}, {where}" for name in BY for where in ("recorded", "replayed")]
    return tabulate(rows, ["arm", *columns], floatfmt=("", ".2f", ".2f", ".1f", ".1f"))


def agreement_table(here: Contest, there: Contest) -> str:
    """Rank correlations."""
    rows = []
    for name, score in BY.items():
        live, played = score(here), score(there)
        best = sorted(live, key=lambda arm: -live[arm])[: (len(live) + 1) // 2]
        rows.append(
            [
                name,
                correlation(live, played, live),
                correlation(live, played, best),
                between_repeats(here, score),
            ]
        )
    columns = ["ranked by", "recorded and replayed", "within the better half", "between repeats"]
    return tabulate(rows, columns, floatfmt=".2f")


if __name__ == "__main__":
    main()
