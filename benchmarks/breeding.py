"""What a genetic search gets out of a trained cost model: how good, how soon, by which rules.

    python benchmarks/breeding.py [--cases ID,ID] [--trials 128] [--seeds 3] [--json FILE]

Measures `--trials` random programs of a held-out training workload and trains a cost model with
them, once a seed. Then searches of several sizes, with rules drawn by the stock weights or
predicted, each propose one round from the same database and model, and nothing is measured.
Printed are the seconds that took, the mean score of what is proposed, in shares of the best
throughput measured, and both over those of the first line, the stock size with stock rules.
The sizes of `rules` and `optimized` were chosen by this table.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure import Engine, register_intrinsics
from pytest_ansorbench.search import Search
from pytest_ansorbench.storage import describe_commit, describe_machine
from pytest_ansorbench.strategies import (
    Evolution,
    PredictedRules,
    StockRules,
    Strategy,
    XGBoostModel,
)
from pytest_ansorbench.training import HELD_OUT

CASES = "conv2d-n1-h28-w28-ci96-co96-k3-s1-p1,matmul-b1-m192-n320-k256"
ROUND_TRIALS = 32
SIZES = ((512, 4), (512, 2), (256, 4), (256, 2), (128, 4), (128, 2), (64, 4))
RULES = {"stock": StockRules(), "predicted": PredictedRules()}


@dataclass
class Witness:
    """A proposer policy that lets its run's setup be seen."""

    setup: Any = None

    def start(self, setup: Any) -> Any:
        """As an evolution that draws programs at random."""
        self.setup = setup
        return Evolution(blind_generations=0).start(setup)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", default=CASES, help="ids of held-out training workloads")
    parser.add_argument("--trials", type=int, default=128)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the raw figures here")
    given = parser.parse_args()
    target = resolve_target(None)
    register_intrinsics(target)
    rows = []
    with Engine(target) as engine:
        for case in [each for each in HELD_OUT if each.id in given.cases.split(",")]:
            for seed in range(given.seeds):
                rows += measured(case, seed, given.trials, engine)
    print(table(rows))
    if given.json:
        record = {"machine": describe_machine(), "commit": describe_commit(Path.cwd())}
        given.json.write_text(json.dumps({**record, "rows": rows}, indent=1) + "\n")


def measured(case: Any, seed: int, trials: int, engine: Engine) -> list[dict[str, Any]]:
    """One trained model, and what each search makes of it."""
    witness = Witness()
    search = Search(
        case.tasks()[0],
        # Trained by all trials, asked in none of the rounds that measure.
        Strategy("random", proposer=witness, cost_model=XGBoostModel(trials)),
        engine,
        case=case.id,
        seed=seed,
        budget_trials=trials,
        round_trials=ROUND_TRIALS,
    )
    while not search.finished:
        search.step()
    setup, rows = witness.setup, []
    for population, generations in SIZES:
        for name, rules in RULES.items():
            policy = Evolution(rules=rules, population=population, generations=generations)
            setup.rng.bit_generator.state = np.random.default_rng(seed).bit_generator.state
            proposer = policy.start(setup)
            started_s = time.perf_counter()
            candidates = proposer.propose(ROUND_TRIALS)
            seconds = time.perf_counter() - started_s
            scores = setup.cost_model.predict(setup.context, candidates)
            rows.append(
                {
                    "case": case.id,
                    "seed": seed,
                    "rules": name,
                    "population": population,
                    "generations": generations,
                    "propose_s": seconds,
                    "score": float(np.mean(scores)),
                    "decisions": dict(proposer.decisions()),
                }
            )
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Means over the seeds, by case and search."""
    cells = []
    for case in dict.fromkeys(row["case"] for row in rows):
        stock: dict[str, float] = {}
        for population, generations in SIZES:
            for rules in RULES:
                chosen = [
                    row
                    for row in rows
                    if (row["case"], row["rules"]) == (case, rules)
                    and (row["population"], row["generations"]) == (population, generations)
                ]
                means = {
                    key: statistics.mean(row[key] for row in chosen)
                    for key in ("propose_s", "score")
                }
                stock = stock or means
                ratios = [means[key] / stock[key] for key in ("propose_s", "score")]
                cells.append([case, population, generations, rules, *means.values(), *ratios])
    headers = ["case", "population", "generations", "rules", "s", "score", "s ratio", "score ratio"]
    return tabulate(cells, headers=headers, floatfmt=("", "", "", "", ".2f", ".3f", ".2f", ".3f"))


if __name__ == "__main__":
    main()
