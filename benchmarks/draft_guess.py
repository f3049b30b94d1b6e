"""How good is the guess that `draft` begins with? Points of the landscapes that ship.

    python benchmarks/draft_guess.py [--landscapes FOLDER]

Nothing is measured. For each operator that has a guess (`VectorUnits`), the table shows its rank
correlation with the throughput of all programs, and the best of 8 relative to the best of the
landscape, as means over 200 draws of 800 programs: 8 at random, and the 8 that the guess likes
best.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

import numpy as np
from landscapes import INTO
from numpy.typing import NDArray
from tabulate import tabulate

from pytest_ansorbench.landscapes.files import read_landscape
from pytest_ansorbench.landscapes.recorded import RecordedDesign
from pytest_ansorbench.landscapes.records import Landscape
from pytest_ansorbench.stats.ranks import rank_correlation
from pytest_ansorbench.strategies import VectorUnits

FIRST: Final = 8
"""Trials of the first batch."""
DRAWS: Final = 200
POOL: Final = 800


def guessed(landscape: Landscape) -> list[object] | None:
    """A line of the table; None for an operator without a guess."""
    design = RecordedDesign(landscape)
    nests = [space.nests for space in design.spaces]
    guess = VectorUnits().model(nests, design.encoding.columns, design.registers)
    if guess is None:
        return None
    points = design.different
    throughput = np.array([1.0 / design.record(point).latency_s for point in points])
    throughput /= throughput.max()
    guesses = guess.predict(design.rows(points))
    rng = np.random.default_rng(0)
    best = [
        [throughput[pool[:FIRST]].max(), throughput[liked(pool, guesses)].max()]
        for pool in (rng.permutation(len(points))[:POOL] for _ in range(DRAWS))
    ]
    correlation = rank_correlation(guesses, throughput)
    return [landscape.subject.case, correlation, *np.mean(best, axis=0).tolist()]


def liked(pool: NDArray[np.int64], guesses: NDArray[np.float64]) -> NDArray[np.int64]:
    """Those that a guess likes best, equal ones in the order of the pool; shape (FIRST,)."""
    return pool[np.argsort(-guesses[pool], kind="stable")[:FIRST]]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--landscapes", type=Path, default=INTO, metavar="FOLDER")
    given = parser.parse_args()
    lines = [guessed(read_landscape(path)) for path in sorted(given.landscapes.glob("*.json.gz"))]
    columns = ["operator", "rank correlation", f"best of {FIRST} random", f"of {FIRST} guessed"]
    print(tabulate([line for line in lines if line], columns, floatfmt=".2f"))


if __name__ == "__main__":
    main()
