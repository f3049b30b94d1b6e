"""What a genetic search gets out of a trained cost model: how good, how soon, by which rules.

    python benchmarks/breeding.py [--cases ID,ID] [--trials 128] [--seeds 3]

Measures `--trials` random programs of a held-out training workload and trains a cost model with
them, once a seed. Then searches of several sizes, with more or fewer of the mutations by the
predicted rule, each propose three rounds from the same database and model, and nothing is
measured. Printed are the seconds of a round, the mean score of what is proposed, in shares of the
best throughput measured, and both over those of the first line, the stock size with stock
rules. This is what the parameters of `rules` and `optimized` are to be judged by.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np
from searched import searched
from tabulate import tabulate

from pytest_ansorbench.measure.local.engine import LocalEngine, local_engine
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.strategies import (
    Evolution,
    PredictedRules,
    Strategy,
    XGBoostModel,
)
from pytest_ansorbench.training import HELD_OUT
from pytest_ansorbench.training.rule_samples import Witness

CASES = "conv2d-n1-h28-w28-ci96-co96-k3-s1-p1,matmul-b1-m192-n320-k256"
ROUND_TRIALS = 32
ROUNDS = 3
SEARCHES = {
    "512 x 4, stock rules": Evolution(),
    "256 x 4, stock rules": Evolution(population=256),
    "128 x 4, stock rules": Evolution(population=128),
    "128 x 2, stock rules": Evolution(population=128, generations=2),
    "64 x 4, stock rules": Evolution(population=64),
    "128 x 4, predicted": Evolution(population=128, rules=PredictedRules()),
    "128 x 4, half predicted": Evolution(population=128, rules=PredictedRules(), rule_share=0.5),
    "128 x 4, a quarter predicted": Evolution(
        population=128, rules=PredictedRules(), rule_share=0.25
    ),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", default=CASES, help="ids of held-out training workloads")
    parser.add_argument("--trials", type=int, default=128)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    rows = []
    with local_engine(None, EngineSettings()) as engine:
        for case in [case for case in HELD_OUT if case.id in given.cases.split(",")]:
            for seed in range(given.seeds):
                rows += measured(case, seed, given.trials, engine)
    print(table(rows))


def measured(case: Any, seed: int, trials: int, engine: LocalEngine) -> list[dict[str, Any]]:
    """One trained model, and what each search makes of it."""
    witness = Witness(Evolution(blind_generations=0))
    # Trained by all trials, asked in none of the rounds that measure.
    random = Strategy("random", proposer=witness, cost_model=XGBoostModel(trials))
    searched(case, case.tasks(), random, engine, trials, ROUND_TRIALS, seed)
    setup, rows = witness.setup, []
    for name, policy in SEARCHES.items():
        for turn in range(ROUNDS):
            setup.rng.bit_generator.state = np.random.default_rng([seed, turn]).bit_generator.state
            proposer = policy.start(setup)
            started_s = time.perf_counter()
            candidates = proposer.propose(ROUND_TRIALS)
            seconds = time.perf_counter() - started_s
            scores = setup.cost_model.predict(
                setup.context, [candidate.measure_candidate for candidate in candidates]
            )
            rows.append(
                {
                    "case": case.id,
                    "seed": seed,
                    "search": name,
                    "propose_s": seconds,
                    "score": float(np.mean(scores)),
                }
            )
        print(f"{case.id}, seed {seed}: {name} done", flush=True)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Means over seeds and rounds, by case and search."""
    cells = []
    for case in dict.fromkeys(row["case"] for row in rows):
        stock: list[float] = []
        for name in SEARCHES:
            chosen = [row for row in rows if (row["case"], row["search"]) == (case, name)]
            means = [statistics.mean(row[key] for row in chosen) for key in ("propose_s", "score")]
            stock = stock or means
            ratios = [mean / first for mean, first in zip(means, stock, strict=True)]
            cells.append([case, name, *means, *ratios])
    headers = ["case", "search", "s a round", "score", "s ratio", "score ratio"]
    return tabulate(cells, headers=headers, floatfmt=("", "", ".2f", ".3f", ".2f", ".2f"))


if __name__ == "__main__":
    main()
