"""Repeats that stop by themselves, simulated: rates of error over all looks, repeats spent.

A part of `verdicts.py`. A session draws as many repeats as there may be at most; the gate is that
of the first look that settles it, as in a session that stops there.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from drawn_runs import CRITERIA, Pool, drawn, gate_of

from pytest_ansorbench.records import Gate
from pytest_ansorbench.stats.evidence import Evidence, suite_evidence
from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.gate import Judge, settled_gate
from pytest_ansorbench.stats.looks import Looks
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.suite_test import SuiteTest

LOOKS = Looks()
JUDGE = Judge(replace(CRITERIA, looks=LOOKS), family=1)
OF_SUITE = replace(JUDGE, family=4)
TRUTHS = ((0.4, 0.9), (0.64, 0.9), (0.75, 0.9), (0.9, 0.9), (1.0, 1.0), (1.3, 1.0))
"""True S, and the limit."""


def sessions(pools: Sequence[Pool], count: int, rng: np.random.Generator) -> dict[str, object]:
    """A single case, its runs from each pool in turn."""

    def run(true_s: float) -> Callable[[float], Gate]:
        pairings = (drawn(pool, LOOKS.most, rng, true_s=true_s) for pool in _turns(pools, count))
        return lambda limit: gate_of("search_ratio", limit, next(pairings), JUDGE)

    return _told("one case", count, run)


def suites(pools: Sequence[Pool], count: int, rng: np.random.Generator) -> dict[str, object]:
    """A suite of six."""

    def run(true_s: float) -> Callable[[float], Gate]:
        def judged(limit: float) -> Gate:
            six = [drawn(pool, LOOKS.most, rng, true_s=true_s) for pool in _turns(pools, 6)]
            return suite_gate(six, limit)

        return judged

    return _told("six cases", max(1, count // 2), run)


def suite_gate(pairings: Sequence[PairedRuns], limit: float) -> Gate:
    """The gate on S of a suite."""
    figure = FIGURES["search_ratio"]

    def evidence_at(look: int, confidence: float) -> Evidence:
        seen = [paired.first(look) for paired in pairings]
        test = SuiteTest.of(figure, seen)
        return suite_evidence(test, test.estimate(confidence), confidence)

    return settled_gate(
        figure, limit, OF_SUITE, evidence_at, repeats=LOOKS.most, cases=len(pairings)
    )


def _told(
    what: str, count: int, run: Callable[[float], Callable[[float], Gate]]
) -> dict[str, object]:
    found: dict[str, object] = {}
    for true_s, limit in TRUTHS:
        judged = run(true_s)
        gates = [judged(limit) for _ in range(count)]
        repeats = statistics.fmean(gate.repeats for gate in gates)
        shares = {
            outcome: statistics.fmean(gate.outcome == outcome for gate in gates)
            for outcome in ("holds", "undecided", "broken")
        }
        found[f"{what}, true S {true_s}, limit {limit}"] = {**shares, "mean repeats": repeats}
        bar = " (2.5% and 1% at most)" if true_s == limit else ""
        print(
            f"  auto {LOOKS}, {what}, true S {true_s}, limit {limit}: holds in "
            f"{shares['holds']:.1%}, broken in {shares['broken']:.1%}{bar}, mean {repeats:.1f} "
            "repeats"
        )
    return found


def _turns(pools: Sequence[Pool], count: int) -> Iterable[Pool]:
    return (pools[index % len(pools)] for index in range(count))
