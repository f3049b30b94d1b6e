"""How good is the guess that `draft` begins with? Random points of recorded landscapes.

    python benchmarks/draft_guess.py [--points N] [--landscapes FOLDER]

Nothing is measured: the trees of `draft_surrogate.py`, which learnt from all recorded programs of
an operator, say how fast random points are. For each operator that has a guess (`VectorUnits`), the
table shows its rank correlation with that throughput, and the best of 8 points relative to the best
of the landscape, as means over 200 draws of 800 points: 8 at random, and the 8 that the guess likes
best.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

import numpy as np
from draft_surrogate import LANDSCAPES, Surrogate, read
from numpy.typing import NDArray
from tabulate import tabulate

from pytest_ansorbench.stats.ranks import rank_correlation
from pytest_ansorbench.strategies import VectorUnits

FIRST: Final = 8
"""Trials of the first batch."""
DRAWS: Final = 200
POOL: Final = 800


def guessed(path: Path, points: int) -> list[object] | None:
    """A line of the table; None for an operator without a guess.

    Args:
        path: Of a landscape.
        points: Random points of each sketch.
    """
    landscape = read(path)
    stage = landscape.stage
    nests = [space.nests for space in stage.spaces]
    guess = VectorUnits().model(nests, stage.design.encoding.columns, stage.design.registers)
    if guess is None:
        return None
    machine = Surrogate(landscape, stage)
    rng = np.random.default_rng(0)
    drawn = [point for space in stage.spaces for point in space.scattered(points, rng)]
    notes = [(index, stage.spaces[index].decisions_of(vector)) for index, vector in drawn]
    throughput = machine.gflops(notes) / machine.best_gflops
    guesses = guess.predict(stage.design.rows(drawn))
    best = [
        [throughput[pool[:FIRST]].max(), throughput[liked(pool, guesses)].max()]
        for pool in (rng.permutation(len(drawn))[:POOL] for _ in range(DRAWS))
    ]
    return [landscape.case, rank_correlation(guesses, throughput), *np.mean(best, axis=0).tolist()]


def liked(pool: NDArray[np.int64], guesses: NDArray[np.float64]) -> NDArray[np.int64]:
    """Those that a guess likes best, equal ones in the order of the pool; shape (FIRST,)."""
    return pool[np.argsort(-guesses[pool], kind="stable")[:FIRST]]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--points", type=int, default=700, help="of each sketch")
    parser.add_argument("--landscapes", type=Path, default=LANDSCAPES, metavar="FOLDER")
    given = parser.parse_args()
    lines = [guessed(path, given.points) for path in sorted(given.landscapes.glob("*.json.gz"))]
    columns = ["operator", "rank correlation", f"best of {FIRST} random", f"of {FIRST} guessed"]
    print(tabulate([line for line in lines if line], columns, floatfmt=".2f"))


if __name__ == "__main__":
    main()
