"""Repeats that stop by themselves, simulated: rates of error over all looks, repeats spent.

A part of `verdicts.py`, with as many sessions as rates at the limit have comparisons there. A
session draws as many repeats as there may be at most; the gate is that of the first look that
settles it, as in a session that stops there.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from drawn_runs import CRITERIA, Pool, drawn, gate_of, shares, suite_gate_of

from pytest_ansorbench.records import Gate
from pytest_ansorbench.stats.gate import Judge
from pytest_ansorbench.stats.looks import Looks

LOOKS = Looks()
JUDGE = Judge(replace(CRITERIA, looks=LOOKS), family=1)
OF_SUITE = replace(JUDGE, family=4)
TRUTHS = ((0.4, 0.9), (0.64, 0.9), (0.75, 0.9), (0.9, 0.9), (1.0, 1.0), (1.3, 1.0))
"""True S, and the limit."""


def sessions(pools: Sequence[Pool], count: int, rng: np.random.Generator) -> None:
    """A single case, its runs from each pool in turn."""

    def gates(true_s: float, limit: float) -> Iterable[Gate]:
        for index in range(2 * count):
            paired = drawn(pools[index % len(pools)], LOOKS.most, rng, true_s=true_s)
            yield gate_of("search_ratio", limit, paired, JUDGE)

    _tell("one case", gates)


def suites(pools: Sequence[Pool], count: int, rng: np.random.Generator) -> None:
    """A suite of six."""

    def gates(true_s: float, limit: float) -> Iterable[Gate]:
        for _ in range(2 * count):
            six = [
                drawn(pools[index % len(pools)], LOOKS.most, rng, true_s=true_s)
                for index in range(6)
            ]
            yield suite_gate_of("search_ratio", limit, six, OF_SUITE)

    _tell("six cases", gates)


def _tell(what: str, gates_at: Callable[[float, float], Iterable[Gate]]) -> None:
    for true_s, limit in TRUTHS:
        gates = [*gates_at(true_s, limit)]
        share = shares(gate.outcome for gate in gates)
        bar = " (2.5% and 1% at most)" if true_s == limit else ""
        print(
            f"  auto {LOOKS}, {what}, true S {true_s}, limit {limit}: holds in "
            f"{share['holds']:.1%}, broken in {share['broken']:.1%}{bar}, mean "
            f"{statistics.fmean(gate.repeats for gate in gates):.1f} repeats"
        )
