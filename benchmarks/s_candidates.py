"""Where should S begin? Candidates for it, on the same draws, with the truth planted.

    python benchmarks/s_candidates.py docs/results/control-*.json.gz [--sessions 400]

`drawn_runs.py` draws the arms. A candidate holds a limit where its one-sided test rejects it at
2.5%, and is broken at 1%. The first is S as it was until schema 11: from 10% of the gain on, with a
run that has ended counted as censored, so that it is later than nobody. No TVM, some minutes.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from drawn_runs import Pool, drawn, pool_of

from pytest_ansorbench.stats.climb import Climb
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.strata import Strata
from pytest_ansorbench.stats.stratum import Stratum, labels_of, search_stratum

Made = Callable[[PairedRuns], Stratum | None]


def main() -> None:
    """Simulate and print a row for each question."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", type=Path, nargs="+", help="results to draw runs from")
    parser.add_argument("--sessions", type=int, default=400, help="a figure (default: 400)")
    given = parser.parse_args()
    print(f"{'percent of sessions':<46}" + "".join(f"{name:>14}" for name in CANDIDATES))
    with ProcessPoolExecutor() as processes:
        asked = [
            processes.submit(answer, question, given.results, given.sessions)
            for question in QUESTIONS
        ]
        for question, found in zip(QUESTIONS, asked, strict=True):
            print(f"{question.name:<46}" + "".join(f"{100 * x:>14.1f}" for x in found.result()))


@dataclass(frozen=True)
class Question:
    """A planted truth; each case of a suite has the next of the plants."""

    name: str
    cases: int
    repeats: int
    limit: float
    plants: tuple[dict[str, float], ...]
    broken: bool = False


FAST, STALLED = {"true_s": 0.5}, {"true_s": 0.5, "stall": 0.8}
QUESTIONS = (
    Question("1 x 5, S 0.9 against 0.9: holds", 1, 5, 0.9, ({"true_s": 0.9},)),
    Question("6 x 5, S 0.9 against 0.9: holds", 6, 5, 0.9, ({"true_s": 0.9},)),
    Question("1 x 5, S 0.5 against 0.9: holds", 1, 5, 0.9, (FAST,)),
    Question("1 x 10, S 0.5 against 0.9: holds", 1, 10, 0.9, (FAST,)),
    Question("6 x 5, S 0.5 against 0.9: holds", 6, 5, 0.9, (FAST,)),
    Question("6 x 5, S 0.2 against 0.9: holds", 6, 5, 0.9, ({"true_s": 0.2},)),
    Question("12 x 5, S 0.64 against 0.9: holds", 12, 5, 0.9, ({"true_s": 0.64},)),
    Question("6 x 5, S 1.3 against 1: broken", 6, 5, 1.0, ({"true_s": 1.3},), True),
    Question("6 x 5, S 2 against 1: broken", 6, 5, 1.0, ({"true_s": 2.0},), True),
    Question("1 x 5, stalled at 80%: holds", 1, 5, 0.9, (STALLED,)),
    Question("1 x 10, stalled at 80%: holds", 1, 10, 0.9, (STALLED,)),
    Question("2 x 5, one stalled at 80%: holds", 2, 5, 0.9, (FAST, STALLED)),
    Question("6 x 5, all stalled at 80%: holds", 6, 5, 0.9, (STALLED,)),
    Question("6 x 5, ten times as fast to 50% only: holds", 6, 5, 0.9, ({"hurried": 0.5},)),
    Question("6 x 5, ten times as fast to 80% only: holds", 6, 5, 0.9, ({"hurried": 0.8},)),
)


def censored(paired: PairedRuns) -> Stratum | None:
    """S from 10% of the gain on, where a run that has ended has no vote on what lay beyond."""
    climb = Climb.of(paired, "search_s", Goal(0.1))
    n, reached = climb.repeats, np.isfinite(climb.log_cost)
    cost = np.where(reached, climb.log_cost, climb.log_spent[:, np.newaxis])
    labels, complete = labels_of(n, n)
    ladders = climb.ladders(labels[:, :n])

    def badness(log_ratio: float):  # type: ignore[no-untyped-def]
        at = cost.copy()
        at[n:] -= log_ratio
        later = (at[:, np.newaxis] > at[np.newaxis] + 1e-9) & reached[np.newaxis]
        votes = later.sum(axis=1, dtype=np.int32) - later.sum(axis=0, dtype=np.int32)
        sums = np.concatenate([np.zeros((2 * n, 1)), votes.cumsum(axis=1)], axis=1)
        return climb.lateness(sums, labels, ladders)

    return Stratum(badness, climb.gaps(), len(labels) - 1, complete)


def missing(low: float) -> Made:
    """S from a share of the gain on, where such a run is later than any that got there."""
    return lambda paired: search_stratum(Climb.of(paired, "search_s", Goal(low)))


CANDIDATES: dict[str, Made] = {
    "10%, censored": censored,
    **{f"from {100 * low:.0f}%": missing(low) for low in (0.1, 0.5, 0.6, 0.7, 0.8, 0.9)},
}


def answer(question: Question, results: Sequence[Path], sessions: int) -> list[float]:
    """The share of sessions in which each candidate says so."""
    pools = [pool_of(path) for path in results]
    rng = np.random.default_rng(0)
    said = np.zeros(len(CANDIDATES))
    for number in range(sessions):
        suite = list(_drawn(question, pools, number, rng))
        for place, made in enumerate(CANDIDATES.values()):
            said[place] += _says(question, [made(paired) for paired in suite])
    return list(said / sessions)


def _drawn(
    question: Question, pools: Sequence[Pool], number: int, rng: np.random.Generator
) -> Iterator[PairedRuns]:
    for case in range(question.cases):
        plant = question.plants[case % len(question.plants)]
        yield drawn(pools[(case + number) % len(pools)], question.repeats, rng, **plant)


def _says(question: Question, found: Sequence[Stratum | None]) -> bool:
    strata = [stratum for stratum in found if stratum is not None]
    level = 0.01 if question.broken else 0.025
    if not question.broken:
        strata = [_turned(stratum) for stratum in strata]
    return Strata(tuple(strata)).chance(math.log(question.limit), level) <= level


def _turned(stratum: Stratum) -> Stratum:
    """The same, asked how good the challenger looks."""
    return replace(stratum, badness=lambda log_ratio: -stratum.badness(log_ratio))


if __name__ == "__main__":
    main()
