"""Does a plainly broken search fail its session, and at what cost? Sessions at default options.

    python benchmarks/default_sessions.py docs/results/control-*.json.gz [--sessions 200]

`drawn_runs.py` draws the arms. A session holds S_early to 1.0 and the throughput ratio to 0.98, as
`bench_cases` does; it fails if a gate is broken. Compared are five repeats, and five with up to
ten more while a gate may yet be broken (`5+10`, the default). No TVM, some minutes.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
from drawn_runs import CRITERIA, Pool, drawn, gate_of, pool_of, remeasured
from tabulate import tabulate

from pytest_ansorbench.stats.gate import Judge
from pytest_ansorbench.stats.looks import USUAL, Looks
from pytest_ansorbench.stats.paired_runs import PairedRuns

LIMITS: Mapping[str, float] = {"search_ratio_early": 1.0, "throughput_ratio": 0.98}
MOST = USUAL.most
POLICIES: Mapping[str, Looks] = {"5": Looks(5, 5), str(USUAL): USUAL}
SHAPES: Mapping[str, int] = {
    "one challenger, one case": 1,
    "two challengers, one of them a twin": 2,
    "six cases, five of them twins": 6,
}
"""Sessions, by how many pairs of arms they compare; the fault is in the first."""

Draw = Callable[[Pool, np.random.Generator], PairedRuns]


def _altered(**plant: float) -> Draw:
    return lambda pool, rng: drawn(pool, MOST, rng, **plant)


TWIN = _altered()
PLANTS: Mapping[str, Draw] = {
    "nothing": TWIN,
    "kernels 10% slower": _altered(loss=0.1),
    "kernels 20% slower": _altered(loss=0.2),
    "the same kernels 20% slower": lambda pool, rng: remeasured(pool, MOST, rng, loss=0.2),
    "kernels 40% slower": _altered(loss=0.4),
    "1.3 times the seconds": _altered(true_s=1.3),
    "twice the seconds": _altered(true_s=2.0),
    "4 times the seconds": _altered(true_s=4.0),
}


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", type=Path, nargs="+", help="results to draw runs from")
    parser.add_argument("--sessions", type=int, default=200, help="a figure and file (200)")
    given = parser.parse_args()
    with ProcessPoolExecutor() as processes:
        rows = [
            processes.submit(simulated, given.results, plant, given.sessions) for plant in PLANTS
        ]
        table = [row.result() for row in rows]
    heads = [f"{shape}: {policy}" for shape in SHAPES for policy in POLICIES]
    print(f"sessions that fail, in percent (mean repeats of a case); {len(given.results)} files")
    print(tabulate(table, ["planted", *heads], maxheadercolwidths=[None, *[10] * len(heads)]))


def simulated(results: Sequence[Path], plant: str, sessions: int) -> list[str]:
    """One row of the table."""
    rng, cells = np.random.default_rng(0), [plant]
    pools = [pool_of(path) for path in results]
    for pairs in SHAPES.values():
        found: dict[str, list[tuple[bool, float]]] = {name: [] for name in POLICIES}
        for number in range(sessions * len(pools) // pairs):
            draws = [PLANTS[plant], *[TWIN] * (pairs - 1)]
            arms = [draw(pools[(number + at) % len(pools)], rng) for at, draw in enumerate(draws)]
            for name, looks in POLICIES.items():
                found[name].append(_session(arms, looks))
        for ends in found.values():
            failed = statistics.fmean(broken for broken, _ in ends)
            cells.append(f"{failed:.1%} ({statistics.fmean(repeats for _, repeats in ends):.2f})")
    return cells


def _session(arms: Sequence[PairedRuns], looks: Looks) -> tuple[bool, float]:
    """Whether it fails, and how many repeats a pair of arms took."""
    judge = Judge(replace(CRITERIA, looks=looks), family=len(LIMITS) * len(arms))
    gates = [
        [gate_of(key, limit, paired, judge) for key, limit in LIMITS.items()] for paired in arms
    ]
    failed = any(gate.outcome == "broken" for of_pair in gates for gate in of_pair)
    return failed, statistics.fmean(max(gate.repeats for gate in of_pair) for of_pair in gates)


if __name__ == "__main__":
    main()
