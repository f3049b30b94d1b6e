"""What it costs to steer the initial population: the same search, with and without.

    python benchmarks/steering.py [--case ID] [--rounds 8] [--json FILE]

The `etc` strategy puts an evolutionary search together from the engine's parts, `default` is
the engine's own. With uniform sketches both propose alike, so their propose seconds show what
the putting together costs. The two searches take turns round by round on one engine, as in a
bench, with nothing else different. Bar: ratio 0.9 to 1.1.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path

from pytest_ansorbench import workloads
from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure import Engine, register_intrinsics
from pytest_ansorbench.search import Search
from pytest_ansorbench.strategies import Evolution, StockEvolution, Strategy, UniformSketches

ROUND_TRIALS = 16
ARMS = (
    Strategy("stock", proposer=StockEvolution()),
    Strategy("steered", proposer=Evolution(UniformSketches())),
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--case", default="conv2d-n1-h14-w14-ci256-co256-k3-s1-p1")
    parser.add_argument("--rounds", type=int, default=8, help="rounds of each arm (default: 8)")
    parser.add_argument("--json", type=Path, help="write the raw seconds here")
    given = parser.parse_args()
    case = workloads.get(given.case)
    [task] = case.tasks()
    target = resolve_target(None)
    register_intrinsics(target)
    with Engine(target) as engine:
        searches = [
            Search(
                task,
                arm,
                engine,
                case=case.id,
                seed=0,
                budget_trials=ROUND_TRIALS * given.rounds,
                round_trials=ROUND_TRIALS,
            )
            for arm in ARMS
        ]
        for turn in range(given.rounds):
            for search in searches[:: 1 if turn % 2 else -1]:
                search.step()
    seconds = {
        search.strategy.name: [each.propose_s for each in search.record().rounds]
        for search in searches
    }
    medians = {arm: statistics.median(values) for arm, values in seconds.items()}
    for arm, values in seconds.items():
        print(
            f"{arm:8} median {medians[arm]:.2f} s   min {min(values):.2f}   max {max(values):.2f}"
        )
    print(f"ratio    {medians['steered'] / medians['stock']:.3f} (bar: 0.9 to 1.1)")
    if given.json:
        given.json.write_text(json.dumps(seconds, indent=1) + "\n")


if __name__ == "__main__":
    main()
