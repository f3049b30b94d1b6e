"""Does advice come true? Of gates told how many repeats would settle them, how many are so, then?

    python benchmarks/advice.py docs/results/control-*.json.gz [--sessions 40]

`drawn_runs.py` draws the arms of a single case, under several truths: with five repeats first, then
with as many as the gate was told, at most a hundred. No TVM, some minutes.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from drawn_runs import Pool, drawn, gate_of, pool_of

from pytest_ansorbench.stats.power import MOST_REPEATS

REPEATS = 5
TRUTHS: Sequence[tuple[str, float, Mapping[str, float]]] = (
    ("throughput_ratio", 0.98, {"loss": 0.1}),
    ("throughput_ratio", 0.98, {"loss": 0.2}),
    ("throughput_ratio", 0.95, {"loss": 0.0}),
    ("search_ratio_early", 0.9, {"true_s": 0.8}),
    ("search_ratio_early", 0.9, {"true_s": 0.6}),
    ("search_ratio", 0.9, {"true_s": 0.5}),
)
"""A figure, its limit, and what is planted."""


@dataclass(frozen=True)
class Followed:
    """Advice that was followed to its end."""

    repeats: int
    settled: bool


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", type=Path, nargs="+", help="results to draw runs from")
    parser.add_argument("--sessions", type=int, default=40, help="a file and truth (default: 40)")
    given = parser.parse_args()
    pools = [pool_of(path) for path in given.results]
    every: list[Followed] = []
    for key, limit, plant in TRUTHS:
        found = [one for pool in pools for one in followed(pool, key, limit, plant, given.sessions)]
        every += found
        planted = ", ".join(f"{name} {value}" for name, value in plant.items())
        print(f"{key} against {limit}, {planted}: {_told(found, given.sessions * len(pools))}")
    print(f"all: {_told(every, given.sessions * len(pools) * len(TRUTHS))} (asked for: 70%)")


def followed(
    pool: Pool, key: str, limit: float, plant: Mapping[str, float], sessions: int
) -> list[Followed]:
    """Advice to gates that five repeats left undecided, and what came of it."""
    rng, found = np.random.default_rng(0), []
    for _ in range(sessions):
        paired = drawn(pool, MOST_REPEATS, rng, **plant)
        advice = gate_of(key, limit, paired.first(REPEATS)).advice
        if advice is not None and advice.prospect == "settles" and advice.repeats_needed:
            later = gate_of(key, limit, paired.first(advice.repeats_needed))
            found.append(Followed(advice.repeats_needed, later.outcome != "undecided"))
    return found


def _told(found: Sequence[Followed], sessions: int) -> str:
    if not found:
        return f"advised 0 of {sessions}"
    settled = sum(one.settled for one in found)
    median = statistics.median(one.repeats for one in found)
    return (
        f"advised {len(found)} of {sessions}, median {median:.0f} repeats, settled so many later: "
        f"{settled}, {settled / len(found):.0%}"
    )


if __name__ == "__main__":
    main()
