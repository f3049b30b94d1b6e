"""What it costs to put the genetic search together in Python: the engine's own, and ours.

    python benchmarks/steering.py [--case ID] [--rounds 10]

`default` is the engine's search, `etc`, `rules` and `optimized` are put together from TVM's
schedules, mutators and postprocessors. With uniform sketches and stock rules both propose alike,
so their propose seconds show what the putting together costs, before the cost model is
trained and after. The two searches take turns round by round on one engine, as in a bench, with
nothing else different. Bar: ratio 0.9 to 1.1.
"""

from __future__ import annotations

import argparse
import statistics

from pytest_ansorbench import workloads
from pytest_ansorbench.measure.local.engine import local_engine
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.search import Search
from pytest_ansorbench.strategies import Evolution, StockEvolution, Strategy, XGBoostModel

ROUND_TRIALS = 16
WARMUP_TRIALS = XGBoostModel().warmup_samples
ARMS = (
    Strategy("stock", proposer=StockEvolution()),
    Strategy("ours", proposer=Evolution()),
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--case", default="conv2d-n1-h14-w14-ci256-co256-k3-s1-p1")
    parser.add_argument("--rounds", type=int, default=10, help="rounds of each arm (default: 10)")
    given = parser.parse_args()
    case = workloads.get(given.case)
    [task] = case.tasks()
    with local_engine(None, EngineSettings()) as engine:
        searches = [
            Search(
                case,
                [task],
                arm,
                engine,
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
        search.strategy.name: [round.propose_s for round in search.rounds] for search in searches
    }
    blind = -(-WARMUP_TRIALS // ROUND_TRIALS)
    for name, part in (("untrained", slice(None, blind)), ("trained", slice(blind, None))):
        medians = {arm: statistics.median(each[part]) for arm, each in seconds.items()}
        ratio = medians["ours"] / medians["stock"]
        print(
            f"{name:10} stock {medians['stock']:.2f} s, ours {medians['ours']:.2f} s, medians; "
            f"ratio {ratio:.3f} (bar: 0.9 to 1.1)"
        )


if __name__ == "__main__":
    main()
