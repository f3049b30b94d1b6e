"""A figure of S over the ladder: runs on their ladder of targets, and the votes of their pairs.

    python benchmarks/ladder.py RESULT.json [--strategy NAME] [--svg FILE]

The first case of a result. On the left each run's best throughput so far over search time, and the
rungs of the ladder; on the right, for each rung, by how many of the pairs of runs the challenger is
later or earlier, as it is and with its times divided by S. Matplotlib, no TVM, seconds.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
from figures import figure

from pytest_ansorbench.stats.climb import Climb
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.paired_runs import pair_case_runs
from pytest_ansorbench.stats.trajectory import Trajectory
from pytest_ansorbench.storage import read_result

COLORS = ("C0", "C1")


def main() -> None:
    """Draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("result", type=Path, metavar="RESULT.json")
    parser.add_argument("--strategy", help="the challenger (default: the first)")
    parser.add_argument("--svg", type=Path, default=Path("ladder.svg"), help="file to write")
    given = parser.parse_args()
    case = read_result(given.result).cases[0]
    strategy = given.strategy or case.strategies[1]
    paired = pair_case_runs(case, strategy, Criteria())
    climb = Climb.of(paired, "search_s", paired.goal)
    n, flops = climb.repeats, paired.flops
    [start], [stop] = climb.ladder
    every = max(1, (stop - start) // 20)  # of so many rungs, the eye tells twenty
    rungs = climb.levels[start:stop:every] * flops / 1e9
    log_s = climb.log_ratio
    with figure(given.svg, 1, 2, figsize=(10, 4.2), sharey=True) as (fig, (ways, votes)):
        for rung in rungs:
            ways.axhline(rung, color="0.85", linewidth=0.6, zorder=0)
        arms = ((case.strategies[0], paired.reference), (strategy, paired.challenger))
        for color, (name, runs) in zip(COLORS, arms, strict=True):
            for index, run in enumerate(runs):
                label = name if index == 0 else None
                ways.step(*_way(run, flops), where="post", color=color, linewidth=1, label=label)
        ways.set_xlabel("search time (s)")
        ways.set_ylabel("best throughput so far (GFLOP/s)")
        ways.legend(loc="lower right")
        for at, marker, label in (
            (0.0, "o", "as it is"),
            (log_s, "x", f"its times divided by S = {math.exp(log_s):.2f}"),
        ):
            votes.plot(climb.rungs(at)[1][::every], rungs, marker, markersize=4, label=label)
        votes.axvline(0.0, color="0.5", linewidth=0.8)
        votes.set_xlabel(f"pairs of runs, of {n * n}: challenger earlier < 0 < later")
        votes.legend(loc="lower right")
        fig.suptitle(f"{case.case}: {strategy} against {case.strategies[0]}")
    print(given.svg)


def _way(run: Trajectory, flops: int) -> tuple[np.ndarray, np.ndarray]:
    """Search time and best throughput, to the run's end."""
    gflops = flops / run.latency_s / 1e9
    return run.search_s, np.append(gflops, gflops[-1:])


if __name__ == "__main__":
    main()
