"""Is experience that is wrong noticed, and does the right one lose nothing by it?

    python benchmarks/draft_misled.py [--seeds N] [--trials N] [--landscapes FOLDER]

Searches of recorded landscapes, as in `draft_surrogate.py`, by `draft` with the shipped experience
and with wrong ones: the opposite of it (`inverted`), the throughput of other programs (`shuffled`),
and measurements of other shapes (`foreign`, where they know an operator's kinds of sketches). Those
that are `credulous` count experience by the number of trials alone. The tables show the best
throughput after 8 to 256 trials over that of `draft`, as geometric means over the seeds, with the
standard error of the last (of the logarithm). In the end none but the credulous may be below 0.97
on any landscape, which the last line tells, and `draft+transfer` has to be as fast as
`credulous+transfer` from the start.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from draft_surrogate import AFTER, LANDSCAPES, row, searches, table
from numpy.typing import NDArray

EXPERIENCES: Final = ("transfer", "inverted", "shuffled", "foreign")
HEEDING: Final = tuple(f"draft+{one}" for one in EXPERIENCES)
SEARCHED: Final = ("draft", *HEEDING, *(f"credulous+{one}" for one in EXPERIENCES))
LEAST: Final = 0.97
"""Of the throughput of `draft`, in the end."""


def missed(case: str, rows: Sequence[Sequence[Any]]) -> list[str]:
    """What ends below the bar, of a table without its columns after the ends."""
    return [f"{name} on {case}" for name, *_, end in rows if name in HEEDING and end < LEAST]


def main() -> None:
    """Print a table for each landscape and one for all, and what is below the bar."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--landscapes", type=Path, default=LANDSCAPES, metavar="FOLDER")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=256)
    given = parser.parse_args()
    after = [trials for trials in AFTER if trials <= given.trials]
    below: list[str] = []
    every: list[dict[str, NDArray[np.float64]]] = []
    for landscape, runs in searches(given.landscapes, SEARCHED, given.seeds, given.trials):
        # Seeds begin alike, so that each is compared with itself.
        over_draft = {name: runs[name] / runs["draft"] for name in SEARCHED[1:]}
        rows = [row(name, ratios, after) for name, ratios in over_draft.items()]
        print(f"\n{landscape.case}\n{table(rows, after)}", flush=True)
        below += missed(landscape.case, [one[: 1 + len(after)] for one in rows])
        every.append(over_draft)
    rows = [
        row(name, np.concatenate([one[name] for one in every]), after) for name in SEARCHED[1:]
    ]
    print(f"\nall\n{table(rows, after)}")
    print(f"\nbelow {LEAST} of draft: {', '.join(below) or 'none'}")


if __name__ == "__main__":
    main()
