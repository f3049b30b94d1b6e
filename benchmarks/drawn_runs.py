"""Arms whose truth is known, drawn from recorded searches; for `verdicts.py`.

Every arm is a draw, with replacement, from the recorded runs of one search, so its spread is the
measured one and the truth is known: the challenger's clock shows S times the time, its kernels are
slower by a planted loss, it stalls at a share of each run's own gain or hurries up to one, and
nothing else differs.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pytest_ansorbench.records import Gate, Remeasurement, Run
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.evidence import Evidence, limit_evidence, suite_evidence
from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.gate import Judge, settled_gate
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.suite_test import SuiteTest
from pytest_ansorbench.stats.trajectory import Trajectory
from pytest_ansorbench.storage import read_result

CRITERIA = Criteria()
OUTCOMES = ("holds", "undecided", "broken")
_JUDGE = Judge(CRITERIA, family=1)
_UNTIED = 0.01
"""By this share clocks and kernels of drawn runs differ at random."""

Pool = Sequence[Trajectory]
"""Runs of one search on one case."""


def pool_of(path: Path) -> Pool:
    """All runs of the reference in the first case of a result, those of its control included."""
    case = read_result(path).cases[0]
    mine = (case.strategies[0], case.control)
    return [Trajectory.of(run) for run in case.runs if run.strategy in mine]


def drawn(
    pool: Pool,
    repeats: int,
    rng: np.random.Generator,
    *,
    true_s: float = 1.0,
    loss: float = 0.0,
    stall: float = 1.0,
    hurried: float = 0.0,
    goal: Goal = CRITERIA.goal,
) -> PairedRuns:
    """Two arms of independent runs; the challenger's clock, kernels and ends are altered."""
    picks = rng.integers(len(pool), size=(2, repeats))
    # A recorded run may be drawn for both arms. Real runs never tie, so these must not either.
    untied = np.exp(_UNTIED * rng.standard_normal((2, repeats)))
    challenger = [
        altered(
            hurrying(stalled(pool[i], stall), hurried),
            true_s * untied[0, k],
            1.0 - (1.0 - loss) * untied[1, k],
        )
        for k, i in enumerate(picks[1])
    ]
    return pair_runs([pool[i] for i in picks[0]], challenger, goal)


def remeasured(pool: Pool, repeats: int, rng: np.random.Generator, *, loss: float) -> PairedRuns:
    """Two arms with the same kernels, measured twice with the noise of the recorded measurement."""
    runs = [pool[i] for i in rng.integers(len(pool), size=repeats)]
    again = [replace(run, final_s=run.final_s * noise_of(run.run, rng)) for run in runs]
    return pair_runs(runs, [altered(run, 1.0, loss) for run in again])


def altered(run: Trajectory, true_s: float, loss: float) -> Trajectory:
    """A run on a clock that shows `true_s` times the time, with a kernel slower by a share."""
    return replace(run, search_s=run.search_s * true_s, final_s=run.final_s / (1.0 - loss))


def stalled(run: Trajectory, share: float) -> Trajectory:
    """A run that stops at a share of its own gain, its kernel as much slower."""
    if share == 1.0 or not len(run.latency_s):
        return run
    cap_s = _at_share(run, share)
    kept = int(np.sum(run.latency_s > cap_s)) + 1
    latency_s = np.maximum(run.latency_s[:kept], cap_s)
    return replace(
        run,
        latency_s=latency_s,
        search_s=np.append(run.search_s[:kept], run.search_s[-1]),
        trials=np.append(run.trials[:kept], run.trials[-1]),
        final_s=run.final_s * cap_s / run.best_s,
    )


def hurrying(run: Trajectory, share: float) -> Trajectory:
    """A run that is ten times as fast up to a share of its own gain, and on time from there."""
    if not share or not len(run.latency_s):
        return run
    early = int(np.sum(run.latency_s > _at_share(run, share)))
    return replace(run, search_s=np.append(run.search_s[:early] / 10.0, run.search_s[early:]))


def _at_share(run: Trajectory, share: float) -> float:
    """The latency at a share of a run's own gain."""
    first, best = 1.0 / run.first_s, 1.0 / run.best_s
    return 1.0 / (first + share * (best - first))


def gate_of(key: str, limit: float, paired: PairedRuns, judge: Judge = _JUDGE) -> Gate:
    """What a session says of one case, after as many repeats as its looks ask for."""
    figure = FIGURES[key]

    def evidence_at(look: int, confidence: float) -> Evidence:
        seen = paired.first(look)
        estimate = figure.limited().estimate(seen, confidence)
        return limit_evidence(figure, seen, estimate, confidence)

    return settled_gate(figure, limit, judge, evidence_at, repeats=len(paired.reference))


def suite_gate_of(key: str, limit: float, pairings: Sequence[PairedRuns], judge: Judge) -> Gate:
    """The same of a suite, each case of which has as many repeats."""
    figure = FIGURES[key]

    def evidence_at(look: int, confidence: float) -> Evidence:
        test = SuiteTest.of(figure, [paired.first(look) for paired in pairings])
        return suite_evidence(test, test.estimate(confidence), confidence)

    return settled_gate(
        figure,
        limit,
        judge,
        evidence_at,
        repeats=len(pairings[0].reference),
        cases=len(pairings),
    )


def shares(outcomes: Iterable[str]) -> dict[str, float]:
    """How often each outcome is among some."""
    counts = Counter(outcomes)
    return {outcome: counts[outcome] / counts.total() for outcome in OUTCOMES}


def noise_of(run: Run, rng: np.random.Generator) -> float:
    """Ratio of two measurements of a run's winner, drawn from what was recorded of it.

    Slices that follow each other stand for those of two arms, sets are drawn anew. Samples without
    sets are drawn anew for each of the two.
    """
    final = run.final
    assert final is not None
    if not final.sets:
        return _again_s(final, rng) / _again_s(final, rng)
    medians = []
    for number in sorted(set(final.sets)):
        slices = [s for s, of in zip(final.latencies_s, final.sets, strict=True) if of == number]
        pairs = zip(slices[::2], slices[1::2], strict=False)
        medians.append(statistics.median(math.log(a / b) for a, b in pairs))
    return math.exp(statistics.median(rng.choice(medians, size=len(medians)).tolist()))


def _again_s(final: Remeasurement, rng: np.random.Generator) -> float:
    samples = rng.choice(final.latencies_s, size=len(final.latencies_s))
    return Remeasurement(0, "ok", tuple(samples.tolist())).latency_s or math.inf


def pair_runs(
    reference: Sequence[Trajectory], challenger: Sequence[Trajectory], goal: Goal = CRITERIA.goal
) -> PairedRuns:
    """Two arms as they are."""
    return PairedRuns(reference, challenger, goal, CRITERIA.tolerance)
