"""How often verdicts are right: simulated comparisons, drawn from recorded searches.

    python benchmarks/verdicts.py docs/results/control-*.json [--comparisons 1000] [--json FILE]

Every simulated arm is a draw, with replacement, from the recorded runs of one search, so its
spread is the measured one and the truth is known: the challenger's clock runs `S` times as fast,
its kernels are slower by a planted loss, and nothing else differs. Gates, intervals and advice are
the plugin's own. No TVM, a few minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pytest_ansorbench.records import Remeasurement, Run
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.evidence import limit_evidence
from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.gate import Judge
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.power import detectable_effect, search_spread, throughput_spread
from pytest_ansorbench.stats.running_time_ratio import Race, search_ratio
from pytest_ansorbench.stats.throughput_ratio import throughput_ratio
from pytest_ansorbench.stats.trajectory import Trajectory
from pytest_ansorbench.storage import read_result

CRITERIA = Criteria()
JUDGE = Judge(CRITERIA, family=1)
REPEATS = (3, 4, 5, 7, 10, 15, 20)
TRUE_S = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
POWER_LIMIT = 0.9
GOALS = (Goal(), Goal("gain", 0.9), Goal("gain", 0.75), Goal("gain", 0.5))
POWER_GOALS = (GOALS[0], GOALS[-1])
OUTCOMES = ("holds", "undecided", "broken")


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", type=Path, nargs="+", help="results to draw runs from")
    parser.add_argument("--comparisons", type=int, default=1000, help="a figure (default: 1000)")
    parser.add_argument("--json", type=Path, help="write the shares here")
    given = parser.parse_args()
    found = {}
    for path in given.results:
        for case in read_result(path).cases:
            pool = [Trajectory.of(run) for run in case.runs if _is_reference(case, run)]
            print(f"{case.case}: {len(pool)} recorded runs of {case.strategies[0]}")
            found[case.case] = simulate(pool, given.comparisons)
            print()
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def simulate(pool: Sequence[Trajectory], comparisons: int) -> dict[str, object]:
    """All figures for one pool of runs."""
    rng = np.random.default_rng(0)
    return {
        "runs": len(pool),
        "spread": spread(pool),
        "false_alarms": false_alarms(pool, comparisons, rng),
        "kept_promises": kept_promises(pool, comparisons // 2, rng),
        "planted_losses": planted_losses(pool, comparisons // 2, rng),
        "coverage": coverage(pool, comparisons // 2, rng),
        "power": {str(goal): power(pool, comparisons // 10, rng, goal) for goal in POWER_GOALS},
    }


def spread(pool: Sequence[Trajectory]) -> dict[str, float | None]:
    """Measured spread of a pair of runs, and of what measuring alone contributes to it."""
    race = _race(pool, pool[1:] + pool[:1])
    rng = np.random.default_rng(0)
    found = {
        "log S": search_spread(race, "search_s"),
        "log throughput ratio": throughput_spread(race),
        "log throughput ratio of the same kernel": _noise(pool, rng, faster_half),
        "the same by medians": _noise(pool, rng, statistics.median),
    }
    print("  standard deviation of a single pair of runs:")
    for name, value in found.items():
        print(f"    {name}: {value:.3f}" if value else f"    {name}: unknown")
    return found


def faster_half(samples: Sequence[float]) -> float:
    """What a winner's samples come to."""
    return Remeasurement(0, "ok", tuple(samples)).latency_s or math.inf


def _noise(
    pool: Sequence[Trajectory],
    rng: np.random.Generator,
    latency_of: Callable[[Sequence[float]], float],
) -> float:
    """How much two measurements of one kernel differ."""
    ratios = [
        latency_of(_samples(run.run, rng)) / latency_of(_samples(run.run, rng))
        for _ in range(100)
        for run in pool
    ]
    return statistics.stdev(map(math.log, ratios))


def false_alarms(
    pool: Sequence[Trajectory], comparisons: int, rng: np.random.Generator
) -> dict[str, float]:
    """The search against itself, five repeats: how often is a gate at 1 broken?"""
    found = {}
    for repeats in (5, 10):
        races = [drawn(pool, repeats, rng) for _ in range(comparisons)]
        for key in ("search_ratio", "throughput_ratio"):
            found[f"{key}, {repeats} repeats"] = _share(map(outcome_at(key, 1.0), races))
    for name, share in found.items():
        print(f"  against itself, limit 1, {name}: broken in {share:.1%} (asked for: 1% at most)")
    return found


def kept_promises(
    pool: Sequence[Trajectory], comparisons: int, rng: np.random.Generator
) -> dict[str, float]:
    """Twice as fast, ten repeats, limit 0.9: how often does it hold, by goal?"""
    found = {}
    for goal in GOALS:
        races = (drawn(pool, 10, rng, true_s=0.5, goal=goal) for _ in range(comparisons))
        found[str(goal)] = _share(map(outcome_at("search_ratio", 0.9), races), "holds")
        print(
            f"  true S 0.5, limit 0.9, 10 repeats, goal {goal}: holds in {found[str(goal)]:.1%} "
            "(asked for: 80% at least)"
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
) -> dict[str, float]:
    """How often the intervals hold the truth."""
    found = {}
    for repeats in REPEATS:
        held = 0
        for _ in range(comparisons):
            estimate = search_ratio(drawn(pool, repeats, rng, true_s=0.75), "search_s", 0.95)
            held += estimate.low <= 0.75 <= estimate.high
        found[f"search_ratio, {repeats} repeats"] = held / comparisons
    for repeats in (5, 10):
        held = 0
        for _ in range(comparisons):
            race = drawn(pool, repeats, rng, loss=0.1)
            estimate = throughput_ratio(race.reference, race.challenger, 0.95)
            held += estimate.low <= 0.9 <= estimate.high
        found[f"throughput_ratio, {repeats} repeats"] = held / comparisons
    for name, share in found.items():
        print(f"  95% interval of {name}: holds the truth in {share:.1%}")
    return found


def power(
    pool: Sequence[Trajectory], comparisons: int, rng: np.random.Generator, goal: Goal
) -> dict[str, dict[str, dict[str, float]]]:
    """Outcomes at limit 0.9, by true S and repeats; and what the advice would have said."""
    print(f"  goal {goal}, limit {POWER_LIMIT}: holds/broken in percent, the rest undecided")
    print("  true S   " + "".join(f"{repeats:>5} rep." for repeats in REPEATS))
    table: dict[str, dict[str, dict[str, float]]] = {}
    spreads: dict[int, list[float]] = {repeats: [] for repeats in REPEATS}
    judged = outcome_at("search_ratio", POWER_LIMIT)
    for true_s in TRUE_S:
        table[str(true_s)] = {}
        for repeats in REPEATS:
            races = [
                drawn(pool, repeats, rng, true_s=true_s, goal=goal) for _ in range(comparisons)
            ]
            counts = Counter(map(judged, races))
            shares = {outcome: counts[outcome] / comparisons for outcome in OUTCOMES}
            table[str(true_s)][str(repeats)] = shares
            found = (search_spread(race, "search_s") for race in races)
            spreads[repeats] += [value for value in found if value]
        cells = (table[str(true_s)][str(repeats)] for repeats in REPEATS)
        print(
            f"  {true_s:<9}"
            + "".join(f"{100 * c['holds']:>6.0f}/{100 * c['broken']:<3.0f}" for c in cells)
        )
    shown = {
        str(repeats): POWER_LIMIT
        * math.exp(-detectable_effect(statistics.median(spreads[repeats]), repeats, 0.95))
        for repeats in REPEATS
    }
    print("  advised  " + "".join(f"{shown[str(repeats)]:>10.2f}" for repeats in REPEATS))
    return {**table, "smallest detectable S as advised": {"0.8": shown}}


def drawn(
    pool: Sequence[Trajectory],
    repeats: int,
    rng: np.random.Generator,
    *,
    true_s: float = 1.0,
    loss: float = 0.0,
    goal: Goal = GOALS[0],
) -> Race:
    """Two arms of independent runs; the challenger's clock and kernels are altered."""
    picks = rng.integers(len(pool), size=(2, repeats))
    challenger = [altered(pool[i], true_s, loss) for i in picks[1]]
    return _race([pool[i] for i in picks[0]], challenger, goal)


def remeasured(
    pool: Sequence[Trajectory], repeats: int, rng: np.random.Generator, *, loss: float
) -> Race:
    """Two arms with the same kernels, each measured with samples drawn from the recorded ones."""
    runs = [pool[i] for i in rng.integers(len(pool), size=repeats)]
    again = [[replace(run, final_s=_sampled_s(run.run, rng)) for run in runs] for _ in range(2)]
    return _race(again[0], [altered(run, 1.0, loss) for run in again[1]])


def altered(run: Trajectory, true_s: float, loss: float) -> Trajectory:
    """A run on a clock that shows `true_s` times the time, with a kernel slower by a share."""
    return replace(run, search_s=run.search_s * true_s, final_s=run.final_s / (1.0 - loss))


def outcome_at(key: str, limit: float) -> Callable[[Race], str]:
    """What a gate on a figure says of a race."""
    figure = FIGURES[key]

    def outcome(race: Race) -> str:
        assert figure.limit is not None
        estimate = figure.limit.estimate(race, CRITERIA.confidence)
        return JUDGE.gate(figure, limit_evidence(figure, race, estimate), limit).outcome

    return outcome


def _sampled_s(run: Run, rng: np.random.Generator) -> float:
    """The winner's latency from samples drawn anew from those that were measured."""
    return faster_half(_samples(run, rng))


def _samples(run: Run, rng: np.random.Generator) -> list[float]:
    assert run.final is not None
    samples: list[float] = rng.choice(
        run.final.latencies_s, size=len(run.final.latencies_s)
    ).tolist()
    return samples


def _race(
    reference: Sequence[Trajectory], challenger: Sequence[Trajectory], goal: Goal = GOALS[0]
) -> Race:
    return Race(reference, challenger, goal, CRITERIA.tolerance)


def _share(outcomes, wanted: str = "broken") -> float:  # type: ignore[no-untyped-def]
    judged = list(outcomes)
    return judged.count(wanted) / len(judged)


def _is_reference(case, run: Run) -> bool:  # type: ignore[no-untyped-def]
    return run.strategy in (case.strategies[0], case.control)


if __name__ == "__main__":
    main()
