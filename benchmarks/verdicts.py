"""How often verdicts are right: simulated comparisons, drawn from recorded searches.

    python benchmarks/verdicts.py docs/results/control-*.json.gz [--comparisons 1000]

`drawn_runs.py` draws the arms. Gates, intervals and advice are the plugin's own. No TVM, some
minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import math
import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import auto_verdicts
import numpy as np
from drawn_runs import (
    CRITERIA,
    Pool,
    drawn,
    gate_of,
    noise_of,
    pair_runs,
    pool_of,
    remeasured,
    shares,
)
from suite_verdicts import SUITE_PARTS

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.stats.goal import EARLY, Goal
from pytest_ansorbench.stats.measures import SearchRatio
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.power import detectable_effect
from pytest_ansorbench.stats.throughput_ratio import throughput_ratio, throughput_spread
from pytest_ansorbench.storage import result_name

REPEATS = (3, 4, 5, 7, 10, 15, 20)
TRUE_S = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
POWER_LIMIT = 0.9
GOALS = (Goal(), Goal(0.8), Goal(1.0, 1.0), EARLY)
STALL = 0.8
"""Share of its own gain at which a planted stall stops."""
PARTS = {
    **SUITE_PARTS,
    "auto, cases": auto_verdicts.sessions,
    "auto, suites": auto_verdicts.suites,
}
"""Simulations that draw from all pools."""


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", type=Path, nargs="+", help="results to draw runs from")
    parser.add_argument("--comparisons", type=int, default=1000, help="a figure (default: 1000)")
    given = parser.parse_args()
    with ProcessPoolExecutor() as processes:
        of_cases = [processes.submit(simulated, path, given.comparisons) for path in given.results]
        of_suites = [
            processes.submit(simulated_suites, given.results, part, given.comparisons)
            for part in PARTS
        ]
        for simulation in of_cases:
            print(simulation.result())
        names = ", ".join(result_name(path) for path in given.results)
        for part, simulation in zip(PARTS, of_suites, strict=True):
            print(f"{part}; cases drawn from {names} in turn")
            print(simulation.result(), end="")


def simulated(path: Path, comparisons: int) -> str:
    """What is printed of one result's first case."""
    pool = pool_of(path)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        run = pool[0].run
        print(f"{result_name(path)}, {run.case}: {len(pool)} recorded runs of {run.strategy}")
        simulate(pool, comparisons)
    return out.getvalue()


def simulated_suites(paths: Sequence[Path], part: str, comparisons: int) -> str:
    """What is printed of one part of the simulations of suites."""
    pools = [pool_of(path) for path in paths]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        PARTS[part](pools, comparisons // 2, np.random.default_rng(0))
    return out.getvalue()


def simulate(pool: Pool, comparisons: int) -> None:
    """All figures for one pool of runs."""
    rng = np.random.default_rng(0)
    spread(pool)
    false_alarms(pool, comparisons, rng)
    kept_promises(pool, comparisons // 2, rng)
    stalls(pool, comparisons // 2, rng)
    planted_losses(pool, comparisons // 2, rng)
    coverage(pool, comparisons // 2, rng)
    power(pool, comparisons // 10, rng, GOALS[0])


def spread(pool: Pool) -> None:
    """Measured spread of a pair of runs, and of what measuring alone contributes to it."""
    paired = pair_runs(pool, [*pool[1:], pool[0]])
    rng = np.random.default_rng(0)
    noise = [math.log(noise_of(run.run, rng)) for _ in range(100) for run in pool]
    print("  standard deviation of a single pair of runs:")
    for name, value in (
        ("log S", SearchRatio("search_s").spread(paired)),
        ("log throughput ratio", throughput_spread(paired)),
        ("log throughput ratio of the same kernel", statistics.stdev(noise)),
    ):
        print(f"    {name}: {value:.3f}" if value else f"    {name}: unknown")


def false_alarms(pool: Pool, comparisons: int, rng: np.random.Generator) -> None:
    """The search against itself: how often is a gate at 1 broken, or held?"""
    for key in ("search_ratio", "search_ratio_early", "throughput_ratio"):
        for repeats in (3, 4, 5, 7, 10):
            judged = outcome_at(key, 1.0)
            share = shares(judged(drawn(pool, repeats, rng)) for _ in range(comparisons))
            print(
                f"  against itself, limit 1, {key}, {repeats} repeats: broken in "
                f"{share['broken']:.1%} (1% at most), holds in {share['holds']:.1%} (2.5%)"
            )


def kept_promises(pool: Pool, comparisons: int, rng: np.random.Generator) -> None:
    """Twice as fast, limit 0.9: how often does it hold, by goal?"""
    judged = outcome_at("search_ratio", 0.9)
    for goal in GOALS:
        for repeats, asked in ((5, "none"), (10, "60%")):
            pairings = (
                drawn(pool, repeats, rng, true_s=0.5, goal=goal) for _ in range(comparisons)
            )
            print(
                f"  true S 0.5, limit 0.9, goal {_name(goal)}, {repeats} repeats: holds in "
                f"{shares(map(judged, pairings))['holds']:.1%} (asked for: {asked} at least)"
            )


def stalls(pool: Pool, comparisons: int, rng: np.random.Generator) -> None:
    """Twice as fast to 80% of each run's gain and then no further: how often does S hold?"""
    searched, kernels = outcome_at("search_ratio", 0.9), outcome_at("throughput_ratio", 0.98)
    for repeats in (4, 5, 7, 10):
        pairings = [drawn(pool, repeats, rng, true_s=0.5, stall=STALL) for _ in range(comparisons)]
        of_s = [searched(paired) == "holds" for paired in pairings]
        of_both = [
            held and kernels(paired) == "holds" for held, paired in zip(of_s, pairings, strict=True)
        ]
        print(
            f"  stalled at {STALL:.0%}, {repeats} repeats: S holds 0.9 in "
            f"{statistics.fmean(of_s):.1%} (5% at most), with the gate on kernels in "
            f"{statistics.fmean(of_both):.1%} (2.5%)"
        )


def planted_losses(pool: Pool, comparisons: int, rng: np.random.Generator) -> None:
    """Kernels 10% slower, ten repeats, limit 0.98: how often is it broken?

    With the noise of measuring alone, both arms find the same kernels; with that of searching,
    each arm has its own.
    """
    judged = outcome_at("throughput_ratio", 0.98)
    for name, plant in (
        ("noise of measuring", remeasured),
        ("noise of searching and measuring", drawn),
    ):
        share = shares(judged(plant(pool, 10, rng, loss=0.1)) for _ in range(comparisons))
        print(
            f"  10% slower kernels, limit 0.98, {name}: broken in {share['broken']:.1%} "
            "(95% at least)"
        )


def coverage(pool: Pool, comparisons: int, rng: np.random.Generator) -> None:
    """How often the intervals hold the truth, and how wide they are: high over low, the median."""
    for goal, asked in ((GOALS[0], REPEATS), (EARLY, (5, 10))):
        for repeats in asked:
            pairings = (
                drawn(pool, repeats, rng, true_s=0.75, goal=goal) for _ in range(comparisons)
            )
            estimates = [SearchRatio("search_s").estimate(paired, 0.95) for paired in pairings]
            _tell_covered(f"S, goal {_name(goal)}, {repeats} repeats", estimates, 0.75)
    for repeats in (4, 5, 7, 10):
        pairings = (drawn(pool, repeats, rng, loss=0.1) for _ in range(comparisons))
        estimates = [throughput_ratio(paired, 0.95) for paired in pairings]
        _tell_covered(f"throughput ratio, {repeats} repeats", estimates, 0.9)


def _tell_covered(name: str, estimates: Sequence[Estimate], truth: float) -> None:
    covered = statistics.fmean(one.low <= truth <= one.high for one in estimates)
    width = statistics.median(one.high / one.low if one.low else math.inf for one in estimates)
    print(f"  95% interval of {name}: holds the truth in {covered:.1%}, high over low {width:.2f}")


def power(pool: Pool, comparisons: int, rng: np.random.Generator, goal: Goal) -> None:
    """Outcomes at limit 0.9, by true S and repeats; and what the advice would have said."""
    print(f"  goal {_name(goal)}, limit {POWER_LIMIT}: holds/broken in percent, the rest undecided")
    print("  true S   " + "".join(f"{repeats:>5} rep." for repeats in REPEATS))
    spreads: dict[int, list[float]] = {repeats: [] for repeats in REPEATS}
    judged = outcome_at("search_ratio", POWER_LIMIT)
    for true_s in TRUE_S:
        cells = []
        for repeats in REPEATS:
            pairings = [
                drawn(pool, repeats, rng, true_s=true_s, goal=goal) for _ in range(comparisons)
            ]
            share = shares(map(judged, pairings))
            cells.append(f"{100 * share['holds']:>6.0f}/{100 * share['broken']:<3.0f}")
            found = (SearchRatio("search_s").spread(paired) for paired in pairings)
            spreads[repeats] += [value for value in found if value]
        print(f"  {true_s:<9}" + "".join(cells))
    advised = [_advised(repeats, spreads[repeats]) for repeats in REPEATS]
    print("  advised  " + "".join(f"{cell:>10}" for cell in advised))


def _advised(repeats: int, spreads: Sequence[float]) -> str:
    """The smallest true S that so many repeats are said to show."""
    if not spreads:
        return "-"
    effect = detectable_effect(statistics.median(spreads), repeats, CRITERIA.confidence)
    return f"{POWER_LIMIT * math.exp(-effect):.2f}"


def _name(goal: Goal) -> str:
    return "S_early" if goal == EARLY else str(goal)


def outcome_at(key: str, limit: float) -> Callable[[PairedRuns], str]:
    """What a gate on a figure says of a paired."""
    return lambda paired: gate_of(key, limit, paired).outcome


if __name__ == "__main__":
    main()
