"""How often verdicts are right: simulated comparisons, drawn from recorded searches.

    python benchmarks/verdicts.py docs/results/control-*.json.gz [--comparisons 1000] [--json FILE]

`drawn_runs.py` draws the arms. Gates, intervals and advice are the plugin's own. No TVM, some
minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import auto_verdicts
import numpy as np
from drawn_runs import drawn, gate_of, noise_of, pair_runs, pool_of, remeasured
from suite_verdicts import SUITE_PARTS

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.goal import EARLY, Goal
from pytest_ansorbench.stats.measures import SearchRatio
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.power import detectable_effect
from pytest_ansorbench.stats.throughput_ratio import throughput_ratio, throughput_spread
from pytest_ansorbench.stats.trajectory import Trajectory
from pytest_ansorbench.storage import result_name

CRITERIA = Criteria()
REPEATS = (3, 4, 5, 7, 10, 15, 20)
TRUE_S = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
POWER_LIMIT = 0.9
GOALS = (Goal(), Goal(0.8), Goal(1.0, 1.0), EARLY)
STALL = 0.8
"""Share of its own gain at which a planted stall stops."""
OUTCOMES = ("holds", "undecided", "broken")


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
    parser.add_argument("--only", choices=("cases", "suites"), help="only one kind of verdicts")
    parser.add_argument("--json", type=Path, help="write the shares here")
    given = parser.parse_args()
    found = {}
    with ProcessPoolExecutor() as processes:
        paths = given.results if given.only != "suites" else ()
        parts = PARTS if given.only != "cases" else {}
        simulations = [processes.submit(simulated, path, given.comparisons) for path in paths]
        of_suites = [
            processes.submit(simulated_suites, given.results, part, given.comparisons)
            for part in parts
        ]
        for path, simulation in zip(paths, simulations, strict=True):
            text, found[result_name(path)] = simulation.result()
            print(text)
        names = ", ".join(result_name(path) for path in given.results)
        for part, simulation in zip(parts, of_suites, strict=True):
            text, found[part] = simulation.result()
            print(f"{part}; cases drawn from {names} in turn")
            print(text, end="")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def simulated(path: Path, comparisons: int) -> tuple[str, dict[str, object]]:
    """What is printed of one result's first case, and its figures."""
    pool = pool_of(path)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        run = pool[0].run
        print(f"{result_name(path)}, {run.case}: {len(pool)} recorded runs of {run.strategy}")
        figures = simulate(pool, comparisons)
    return out.getvalue(), figures


def simulated_suites(paths: Sequence[Path], part: str, comparisons: int) -> tuple[str, object]:
    """What is printed of suites, and the figures: one part of it."""
    pools = [pool_of(path) for path in paths]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        figures = PARTS[part](pools, comparisons // 2, np.random.default_rng(0))
    return out.getvalue(), figures


def simulate(pool: Sequence[Trajectory], comparisons: int) -> dict[str, object]:
    """All figures for one pool of runs."""
    rng = np.random.default_rng(0)
    return {
        "runs": len(pool),
        "spread": spread(pool),
        "false_alarms": false_alarms(pool, comparisons, rng),
        "kept_promises": kept_promises(pool, comparisons // 2, rng),
        "stalls": stalls(pool, comparisons // 2, rng),
        "planted_losses": planted_losses(pool, comparisons // 2, rng),
        "coverage": coverage(pool, comparisons // 2, rng),
        "power": power(pool, comparisons // 10, rng, GOALS[0]),
    }


def spread(pool: Sequence[Trajectory]) -> dict[str, float | None]:
    """Measured spread of a pair of runs, and of what measuring alone contributes to it."""
    paired = pair_runs(pool, pool[1:] + pool[:1])
    rng = np.random.default_rng(0)
    noise = [math.log(noise_of(run.run, rng)) for _ in range(100) for run in pool]
    found = {
        "log S": SearchRatio("search_s").spread(paired),
        "log throughput ratio": throughput_spread(paired),
        "log throughput ratio of the same kernel": statistics.stdev(noise),
    }
    print("  standard deviation of a single pair of runs:")
    for name, value in found.items():
        print(f"    {name}: {value:.3f}" if value else f"    {name}: unknown")
    return found


def false_alarms(
    pool: Sequence[Trajectory], comparisons: int, rng: np.random.Generator
) -> dict[str, dict[str, float]]:
    """The search against itself: how often is a gate at 1 broken, or held?"""
    found = {}
    for key in ("search_ratio", "search_ratio_early", "throughput_ratio"):
        for repeats in (3, 4, 5, 7, 10):
            judged = outcome_at(key, 1.0)
            counts = Counter(judged(drawn(pool, repeats, rng)) for _ in range(comparisons))
            shares = {outcome: counts[outcome] / comparisons for outcome in OUTCOMES}
            found[f"{key}, {repeats} repeats"] = shares
            print(
                f"  against itself, limit 1, {key}, {repeats} repeats: broken in "
                f"{shares['broken']:.1%} (1% at most), holds in {shares['holds']:.1%} (2.5%)"
            )
    return found


def kept_promises(
    pool: Sequence[Trajectory], comparisons: int, rng: np.random.Generator
) -> dict[str, float]:
    """Twice as fast, limit 0.9: how often does it hold, by goal?"""
    found = {}
    judged = outcome_at("search_ratio", 0.9)
    for goal in GOALS:
        for repeats, asked in ((5, "none"), (10, "60%")):
            pairings = (
                drawn(pool, repeats, rng, true_s=0.5, goal=goal) for _ in range(comparisons)
            )
            name = f"{_name(goal)}, {repeats} repeats"
            found[name] = _share(map(judged, pairings), "holds")
            print(
                f"  true S 0.5, limit 0.9, goal {name}: holds in {found[name]:.1%} "
                f"(asked for: {asked} at least)"
            )
    return found


def stalls(
    pool: Sequence[Trajectory], comparisons: int, rng: np.random.Generator
) -> dict[str, dict[str, float]]:
    """Twice as fast to 80% of each run's gain and then no further: how often does S hold?"""
    found = {}
    searched, kernels = outcome_at("search_ratio", 0.9), outcome_at("throughput_ratio", 0.98)
    for repeats in (4, 5, 7, 10):
        pairings = [drawn(pool, repeats, rng, true_s=0.5, stall=STALL) for _ in range(comparisons)]
        of_s = [searched(paired) == "holds" for paired in pairings]
        of_both = [
            held and kernels(paired) == "holds" for held, paired in zip(of_s, pairings, strict=True)
        ]
        found[f"{repeats} repeats"] = {
            "search_ratio": statistics.fmean(of_s),
            "both gates": statistics.fmean(of_both),
        }
        print(
            f"  stalled at {STALL:.0%}, {repeats} repeats: S holds 0.9 in "
            f"{statistics.fmean(of_s):.1%} (5% at most), with the gate on kernels in "
            f"{statistics.fmean(of_both):.1%} (2.5%)"
        )
    return found


def planted_losses(
    pool: Sequence[Trajectory], comparisons: int, rng: np.random.Generator
) -> dict[str, float]:
    """Kernels 10% slower, ten repeats, limit 0.98: how often is it broken?

    With the noise of measuring alone, both arms find the same kernels; with that of searching,
    each arm has its own.
    """
    judged = outcome_at("throughput_ratio", 0.98)
    found = {
        "noise of measuring": _share(
            judged(remeasured(pool, 10, rng, loss=0.1)) for _ in range(comparisons)
        ),
        "noise of searching and measuring": _share(
            judged(drawn(pool, 10, rng, loss=0.1)) for _ in range(comparisons)
        ),
    }
    for name, share in found.items():
        print(f"  10% slower kernels, limit 0.98, {name}: broken in {share:.1%} (95% at least)")
    return found


def coverage(
    pool: Sequence[Trajectory], comparisons: int, rng: np.random.Generator
) -> dict[str, dict[str, float]]:
    """How often the intervals hold the truth, and how wide they are: high over low, the median."""
    found = {}
    for goal, asked in ((GOALS[0], REPEATS), (EARLY, (5, 10))):
        for repeats in asked:
            pairings = (
                drawn(pool, repeats, rng, true_s=0.75, goal=goal) for _ in range(comparisons)
            )
            estimates = [SearchRatio("search_s").estimate(paired, 0.95) for paired in pairings]
            found[f"S, goal {_name(goal)}, {repeats} repeats"] = _covered(estimates, 0.75)
    for repeats in (4, 5, 7, 10):
        pairings = (drawn(pool, repeats, rng, loss=0.1) for _ in range(comparisons))
        estimates = [throughput_ratio(paired, 0.95) for paired in pairings]
        found[f"throughput ratio, {repeats} repeats"] = _covered(estimates, 0.9)
    for name, one in found.items():
        print(
            f"  95% interval of {name}: holds the truth in {one['covered']:.1%}, "
            f"high over low {one['width']:.2f}"
        )
    return found


def _covered(estimates: Sequence[Estimate], truth: float) -> dict[str, float]:
    widths = [one.high / one.low if one.low else math.inf for one in estimates]
    return {
        "covered": statistics.fmean(one.low <= truth <= one.high for one in estimates),
        "width": statistics.median(widths),
    }


def power(
    pool: Sequence[Trajectory], comparisons: int, rng: np.random.Generator, goal: Goal
) -> dict[str, dict[str, dict[str, float]]]:
    """Outcomes at limit 0.9, by true S and repeats; and what the advice would have said."""
    print(f"  goal {_name(goal)}, limit {POWER_LIMIT}: holds/broken in percent, the rest undecided")
    print("  true S   " + "".join(f"{repeats:>5} rep." for repeats in REPEATS))
    table: dict[str, dict[str, dict[str, float]]] = {}
    spreads: dict[int, list[float]] = {repeats: [] for repeats in REPEATS}
    judged = outcome_at("search_ratio", POWER_LIMIT)
    for true_s in TRUE_S:
        table[str(true_s)] = {}
        for repeats in REPEATS:
            pairings = [
                drawn(pool, repeats, rng, true_s=true_s, goal=goal) for _ in range(comparisons)
            ]
            counts = Counter(map(judged, pairings))
            shares = {outcome: counts[outcome] / comparisons for outcome in OUTCOMES}
            table[str(true_s)][str(repeats)] = shares
            found = (SearchRatio("search_s").spread(paired) for paired in pairings)
            spreads[repeats] += [value for value in found if value]
        cells = (table[str(true_s)][str(repeats)] for repeats in REPEATS)
        print(
            f"  {true_s:<9}"
            + "".join(f"{100 * c['holds']:>6.0f}/{100 * c['broken']:<3.0f}" for c in cells)
        )
    shown = {
        str(repeats): POWER_LIMIT
        * math.exp(
            -detectable_effect(statistics.median(spreads[repeats]), repeats, CRITERIA.confidence)
        )
        for repeats in REPEATS
        if spreads[repeats]
    }
    cells = [f"{shown[str(r)]:.2f}" if str(r) in shown else "-" for r in REPEATS]
    print("  advised  " + "".join(f"{cell:>10}" for cell in cells))
    return {**table, "smallest detectable S as advised": {"0.8": shown}}


def _name(goal: Goal) -> str:
    return "S_early" if goal == EARLY else str(goal)


def outcome_at(key: str, limit: float) -> Callable[[PairedRuns], str]:
    """What a gate on a figure says of a paired."""
    return lambda paired: gate_of(key, limit, paired).outcome


def _share(outcomes, wanted: str = "broken") -> float:  # type: ignore[no-untyped-def]
    judged = list(outcomes)
    return judged.count(wanted) / len(judged)


if __name__ == "__main__":
    main()
