"""What would `Plateau` have given back, and lost? Recorded runs of `draft`, cut where it ends them.

    python benchmarks/draft_stopping.py RESULT.json [RESULT.json ...]

A stopping rule changes nothing of a search before it ends it, so the runs of one that went on to
the end of its budget tell what the rule is worth. For each strategy and rule the table shows how
many runs it stops, which share of the trials and seconds of all runs is left, and the throughput of
the fastest program until then over that of the whole run: geometric mean, and worst run. Programs
count as fast as when they were measured again, side by side, at the end of the repeat. Operators
only: a network's tasks stop one by one. Runs nothing.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from draft import best_after_s
from tabulate import tabulate

from pytest_ansorbench.records import Run
from pytest_ansorbench.stats.trajectory import Trajectory
from pytest_ansorbench.storage import read_result
from pytest_ansorbench.strategies import Plateau

RULES: Final = tuple(Plateau(trials) for trials in (32, 64, 96, 128))


@dataclass(frozen=True)
class Cut:
    """A run up to where a rule ends it.

    Attributes:
        trials: Trials until then.
        all_trials: Trials of the whole run.
        spent_s: Search time until the last of them was done.
        all_s: Search time until the last one of the run was done.
        throughput: That of the fastest program until then, over the whole run's.
    """

    trials: int
    all_trials: int
    spent_s: float
    all_s: float
    throughput: float


def main() -> None:
    """Print a row for each strategy and rule."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("results", nargs="+", type=Path)
    runs: dict[str, list[Run]] = defaultdict(list)
    for path in parser.parse_args().results:
        for case in read_result(path).cases:
            for run in case.runs:
                if run.strategy.startswith("draft") and len(run.tasks) == 1:
                    runs[run.strategy].append(run)
    rows = [
        (strategy, rule.trials, *summary([cut(run, rule) for run in of_one]))
        for strategy, of_one in runs.items()
        for rule in RULES
    ]
    heads = ("strategy", "N", "stopped", "trials", "seconds", "throughput", "worst run")
    print(f"stopped once the last N trials of a run gained less than {Plateau().gain:.0%}")
    print(tabulate(rows, heads, floatfmt=".3f"))


def cut(run: Run, rule: Plateau) -> Cut:
    """Where a rule ends a run: before a round, as the strategy asks it."""
    trials, known = run.trials, Trajectory.of(run)
    gflops = [run.flops / one.latency_s / 1e9 if one.latency_s else 0.0 for one in trials]
    begins = (after.index for before, after in pairwise(trials) if before.round < after.round)
    end = next((done for done in begins if rule.reached(gflops[:done])), len(trials))
    return Cut(
        trials=end,
        all_trials=len(trials),
        spent_s=trials[end - 1].search_s,
        all_s=trials[-1].search_s,
        throughput=known.best_s / best_after_s(known, end),
    )


def summary(cuts: Sequence[Cut]) -> tuple[str, float, float, float, float]:
    """How many are ended, shares of trials and seconds, mean and worst throughput."""
    return (
        f"{sum(one.trials < one.all_trials for one in cuts)} of {len(cuts)}",
        sum(one.trials for one in cuts) / sum(one.all_trials for one in cuts),
        sum(one.spent_s for one in cuts) / sum(one.all_s for one in cuts),
        statistics.geometric_mean([one.throughput for one in cuts]),
        min(one.throughput for one in cuts),
    )


if __name__ == "__main__":
    main()
