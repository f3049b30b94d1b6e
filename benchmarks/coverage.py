"""How often the interval of S holds the true S: simulated searches with a known truth.

    python benchmarks/coverage.py [--comparisons 500] [--json FILE]

Each run reaches the target after a log-normal time (sigma 0.5: the seeds of a stock search differ
by a factor of two in time to target), unless its budget, three times the median, ends first. The
candidate's times are `S` times as long, its budget too. The intervals are those of the gate.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from pytest_ansorbench.stats.running_time_ratio import running_time_ratio
from pytest_ansorbench.stats.trajectory import Hit

SIGMA = 0.5
BUDGET = 3.0
TRUE_S = 0.75
CONFIDENCE = 0.95
REPEATS = (2, 3, 4, 5, 7, 10, 15, 20)


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--comparisons", type=int, default=500, help="per line (default: 500)")
    parser.add_argument("--json", type=Path, help="write the shares here")
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    covered = {}
    print(
        f"true S {TRUE_S}, nominal coverage {CONFIDENCE:.0%}, {given.comparisons} comparisons each"
    )
    for repeats in REPEATS:
        holds = 0
        for _ in range(given.comparisons):
            reference, candidate = arm(rng, repeats, 1.0), arm(rng, repeats, TRUE_S)
            estimate = running_time_ratio(reference, candidate, "search_s", CONFIDENCE)
            holds += estimate.low <= TRUE_S <= estimate.high
        covered[repeats] = holds / given.comparisons
        print(f"{repeats:3} repeats: {covered[repeats]:.1%}")
    if given.json:
        given.json.write_text(json.dumps(covered, indent=1) + "\n")


def arm(rng: np.random.Generator, repeats: int, scale: float) -> list[Hit]:
    """First hitting times of one arm, censored at its budget."""
    times = rng.lognormal(0.0, SIGMA, repeats)
    return [Hit(time <= BUDGET, scale * float(min(time, BUDGET)), 1) for time in times]


if __name__ == "__main__":
    main()
