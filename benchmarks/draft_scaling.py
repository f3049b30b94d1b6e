"""Do the seconds of proposing a trial stay flat, as trials and tasks grow?

    python benchmarks/draft_scaling.py RESULT.json [RESULT.json ...]

Reads runs of `draft` and its relatives from results, e.g. of an operator by 1,000 trials and of
networks, which have many tasks. Prints for each run the seconds of proposing and learning a trial,
in milliseconds, over the trials up to 64, 128, 256, 512 and 1,000, each part by itself, and the
number of its tasks. Runs nothing.
"""

from __future__ import annotations

import argparse
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Final

from tabulate import tabulate

from pytest_ansorbench.records import Run
from pytest_ansorbench.storage import read_result

MARKS: Final = (0, 64, 128, 256, 512, 1_000)


def main() -> None:
    """Print a row a run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("results", nargs="+", type=Path)
    rows = [
        (result.case, run.strategy, run.seed, len(run.tasks), len(run.trials), *a_trial_ms(run))
        for path in parser.parse_args().results
        for result in read_result(path).cases
        for run in result.runs
        if run.strategy.startswith("draft")
    ]
    spans = [f"to {mark}" for mark in MARKS[1:]]
    heads = ("case", "strategy", "seed", "tasks", "trials", *spans)
    print("milliseconds of proposing and learning a trial")
    print(tabulate(rows, heads, floatfmt=".1f"))


def a_trial_ms(run: Run) -> list[float | None]:
    """Milliseconds a trial between two marks; None where the run has no trials."""
    of_round = Counter(trial.round for trial in run.trials)
    done, spent_s = [0], [0.0]
    for one in run.rounds:
        done.append(done[-1] + of_round[one.index])
        spent_s.append(spent_s[-1] + one.propose_s + one.learn_s)

    def until(mark: int) -> tuple[int, float]:
        at = max(index for index, count in enumerate(done) if count <= mark)
        return done[at], spent_s[at]

    spans = [(until(low), until(high)) for low, high in pairwise(MARKS)]
    return [
        1e3 * (to_s - from_s) / (to - from_) if to > from_ else None
        for (from_, from_s), (to, to_s) in spans
    ]


if __name__ == "__main__":
    main()
