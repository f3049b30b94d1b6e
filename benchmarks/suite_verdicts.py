"""Verdicts over suites, simulated as those of single cases are; a part of `verdicts.py`.

The cases of a simulated suite draw their runs from the pools of recorded searches in turn. The
true ratio is the same in each case.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

import numpy as np
from drawn_runs import CRITERIA, Pool, drawn, remeasured, shares, suite_gate_of

from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.gate import Judge
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.suite_test import SuiteTest

Suite = Sequence[PairedRuns]
Pools = Sequence[Pool]
JUDGE = Judge(CRITERIA, family=4)
"""As in a session with gates on cases, where the suite's two have half of the false alarms."""


def at_the_limit(pools: Pools, suites: int, rng: np.random.Generator) -> None:
    """The truth is the limit: how often is the gate of six cases held, or broken?"""
    for key in ("search_ratio", "search_ratio_early", "throughput_ratio"):
        for repeats in (3, 4, 5, 7, 10):
            drawn_ones = (_drawn(pools, 6, repeats, rng) for _ in range(2 * suites))
            share = shares(_outcome(key, 1.0, suite) for suite in drawn_ones)
            print(
                f"  against itself, limit 1, {key}, 6 cases x {repeats} repeats: broken in "
                f"{share['broken']:.1%} (1% at most), holds in {share['holds']:.1%} (2.5%)"
            )


def promises(pools: Pools, suites: int, rng: np.random.Generator) -> None:
    """S below or above its limit: how often is that seen?"""
    for cases, repeats, true_s, limit, asked in (
        (3, 5, 0.5, 0.9, ""),
        (6, 3, 0.5, 0.9, ""),
        (6, 5, 0.2, 0.9, ""),
        (6, 5, 0.5, 0.9, "holds in 80% at least"),
        (6, 5, 0.75, 0.9, ""),
        (6, 10, 0.75, 0.9, ""),
        (12, 5, 0.64, 0.9, ""),
        (6, 5, 1.3, 1.0, "broken in 80% at least"),
        (6, 5, 2.0, 1.0, ""),
    ):
        drawn_ones = (_drawn(pools, cases, repeats, rng, true_s=true_s) for _ in range(suites))
        share = shares(_outcome("search_ratio", limit, suite) for suite in drawn_ones)
        print(
            f"  true S {true_s}, limit {limit}, {cases} x {repeats}: holds in "
            f"{share['holds']:.1%}, broken in {share['broken']:.1%}"
            + (f" (asked for: {asked})" if asked else "")
        )


def losses(pools: Pools, suites: int, rng: np.random.Generator) -> None:
    """The same kernels, 5% slower, limit 0.98: how often is the suite's gate broken?"""
    for repeats, asked in ((3, ""), (5, ""), (10, " (90% at least)")):
        drawn_ones = (
            [remeasured(pools[i % len(pools)], repeats, rng, loss=0.05) for i in range(6)]
            for _ in range(suites)
        )
        share = shares(_outcome("throughput_ratio", 0.98, suite) for suite in drawn_ones)
        print(
            f"  same kernels 5% slower, limit 0.98, 6 cases x {repeats} repeats: broken in "
            f"{share['broken']:.1%}{asked}"
        )


def stalls(pools: Pools, suites: int, rng: np.random.Generator) -> None:
    """Twice as fast to 80% of each run's gain and then no further: how often does S hold?"""
    for cases, stalled, repeats, asked in (
        (2, 1, 5, " (5% at most)"),
        (2, 1, 10, ""),
        (6, 1, 5, ""),
        (6, 6, 3, ""),
        (6, 6, 5, " (5% at most)"),
    ):
        drawn_ones = (
            [
                drawn(
                    pools[rng.integers(len(pools))],
                    repeats,
                    rng,
                    true_s=0.5,
                    stall=0.8 if case < stalled else 1.0,
                )
                for case in range(cases)
            ]
            for _ in range(suites)
        )
        share = shares(_outcome("search_ratio", 0.9, suite) for suite in drawn_ones)
        print(
            f"  {stalled} of {cases} cases stalled at 80%, {repeats} repeats: S holds 0.9 in "
            f"{share['holds']:.1%}{asked}"
        )


def coverage(pools: Pools, suites: int, rng: np.random.Generator) -> None:
    """How often intervals over six cases hold the truth, and their width: the median."""
    for key, truth, altered in (
        ("search_ratio", 0.75, {"true_s": 0.75}),
        ("search_ratio_early", 0.75, {"true_s": 0.75}),
        ("throughput_ratio", 0.9, {"loss": 0.1}),
    ):
        for repeats in (3, 5, 10):
            estimates = [
                SuiteTest.of(FIGURES[key], _drawn(pools, 6, repeats, rng, **altered)).estimate(
                    CRITERIA.confidence
                )
                for _ in range(suites)
            ]
            covered = statistics.fmean(one.low <= truth <= one.high for one in estimates)
            width = statistics.median(one.high / max(one.low, 1e-9) for one in estimates)
            print(
                f"  95% interval of {key}, 6 cases x {repeats} repeats: holds the truth in "
                f"{covered:.1%}, high over low {width:.2f}"
            )


SUITE_PARTS: dict[str, Callable[[Pools, int, np.random.Generator], None]] = {
    "at the limit": at_the_limit,
    "promises": promises,
    "losses": losses,
    "stalls": stalls,
    "coverage": coverage,
}


def _outcome(key: str, limit: float, suite: Suite) -> str:
    return suite_gate_of(key, limit, suite, JUDGE).outcome


def _drawn(
    pools: Pools, cases: int, repeats: int, rng: np.random.Generator, **altered: float
) -> Suite:
    return [drawn(pools[index % len(pools)], repeats, rng, **altered) for index in range(cases)]
