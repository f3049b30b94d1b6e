"""What would `Plateau` have given back, and lost? Recorded runs of `draft`, cut where it ends them.

    python benchmarks/draft_stopping.py RESULT.json [RESULT.json ...]

A stopping rule changes nothing of a search before it ends it, so the runs of one that went on to
the end of its budget tell what the rule is worth. For each strategy and rule the table shows how
many runs it ends, which share of the trials and seconds of all runs is left, and the throughput of
the fastest program until then over that of the whole run: geometric mean, and worst run. Programs
count as fast as when they were measured again, side by side, at the end of the repeat. Operators
only: a network's tasks stop one by one. Runs nothing.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tabulate import tabulate

from pytest_ansorbench.records import Run
from pytest_ansorbench.storage import read_result
from pytest_ansorbench.strategies import Plateau

RULES: Final = tuple(Plateau(trials) for trials in (32, 64, 96, 128))


@dataclass(frozen=True)
class Cut:
    """A run up to where a rule ends it.

    Attributes:
        trials: Trials until then.
        all_trials: Trials of the whole run.
        spent_s: Seconds of the rounds until then.
        all_s: Seconds of all rounds.
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
    heads = ("strategy", "looks back on", "ended", "trials", "seconds", "throughput", "worst run")
    print(f"runs that end when so many trials have gained less than {RULES[0].gain:.0%}")
    print(tabulate(rows, heads, floatfmt=".3f"))


def cut(run: Run, rule: Plateau) -> Cut:
    """Where a rule ends a run: before a round, as the strategy asks it."""
    of_round = Counter(trial.round for trial in run.trials)
    gflops = [run.flops / trial.latency_s / 1e9 if trial.latency_s else 0.0 for trial in run.trials]
    spent_s = [one.search_s for one in run.rounds]
    done = rounds = 0
    for one in run.rounds:
        if done and rule.reached(gflops[:done]):
            break
        rounds += 1
        done += of_round[one.index]
    latencies_s = {
        one.trial: one.latency_s
        for one in run.leads or ()
        if one.trial is not None and one.latency_s is not None
    }
    fastest_s = min(latencies_s.values())
    until_s = min((s for trial, s in latencies_s.items() if trial < done), default=math.inf)
    return Cut(done, len(run.trials), sum(spent_s[:rounds]), sum(spent_s), fastest_s / until_s)


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
