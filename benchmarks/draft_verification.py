"""Which says more of a program: what was decided, or what came of it? On recorded programs.

    python benchmarks/draft_verification.py [--draws N]

A cost model sees finished programs, whose features take longer than a replay; the draft's model
sees decisions alone. Both are trained on the same programs of a training workload
(docs/results/draft-samples) and rank 64 others. The table shows the rank correlation with the
measured throughput, and the best and the mean of the 8 programs that are picked, over the best of
the 64: by decisions, by program features, by `Verification` (the best 16 by decisions, and the
better half of these by both), and at random. Means over workloads and draws, with the standard
error over workloads.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from pytest_ansorbench.stats.ranks import rank_correlation
from pytest_ansorbench.strategies import BoostedTrees, Verification
from pytest_ansorbench.training.programs import Programs, load_programs

SAMPLES: Final = Path(__file__).parent.parent / "docs" / "results" / "draft-samples"
POOL: Final = 64
PICKED: Final = 8
TRAINED_ON: Final = (32, 64)


def decisions(programs: Programs) -> NDArray[np.float32]:
    """Features of decisions, with columns of their own for sketches that have others."""
    families = np.array([kind.split("-")[0] for kind in programs.kinds.tolist()])
    names = sorted(set(families.tolist()))
    width = programs.decisions.shape[1]
    rows = np.full((len(families), len(names) * width + 1), np.nan, dtype=np.float32)
    for place, name in enumerate(names):
        mine = np.nonzero(families == name)[0]
        rows[mine[:, None], place * width + np.arange(width)] = programs.decisions[mine]
    rows[:, -1] = np.unique(programs.kinds, return_inverse=True)[1]
    return rows


def drawn(
    programs: Programs, trained_on: int, rng: np.random.Generator
) -> dict[str, tuple[float, float, float]]:
    """One draw: rank correlation, best and mean of the picked, by way of picking."""
    order = rng.permutation(len(programs.latencies_s))
    known, others = order[:trained_on], order[trained_on : trained_on + POOL]
    throughput = programs.latencies_s.min() / programs.latencies_s
    trust = np.ones(trained_on)
    scores = {}
    ways = {
        "decisions": (BoostedTrees(), decisions(programs)),
        "program features": (BoostedTrees(depth=4, trees=100), programs.features),
    }
    for name, (policy, rows) in ways.items():
        model = policy.fit(rows[known], throughput[known] / throughput[known].max(), trust, 0)
        assert model is not None
        scores[name] = model.predict(rows[others])
    best = np.argsort(-scores["decisions"], kind="stable")
    policy = Verification()
    few = best[: policy.replays * PICKED]
    picks = {name: np.argsort(-score, kind="stable")[:PICKED] for name, score in scores.items()}
    picks["verified"] = few[policy.pick(scores["program features"][few], PICKED)]
    picks["random"] = np.arange(PICKED)
    of_pool = throughput[others]
    correlations = dict.fromkeys(picks, np.nan)
    for name, score in scores.items():
        correlation = rank_correlation(score, of_pool)
        assert correlation is not None
        correlations[name] = correlation
    return {
        name: (
            correlations[name],
            float(of_pool[picked].max() / of_pool.max()),
            float(of_pool[picked].mean() / of_pool.max()),
        )
        for name, picked in picks.items()
    }


def main() -> None:
    """Draw, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--draws", type=int, default=10, help="of each workload")
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    workloads = [load_programs(path) for path in sorted(SAMPLES.glob("*.npz"))]
    table = []
    for trained_on in TRAINED_ON:
        means: dict[str, list[NDArray[np.float64]]] = {}
        for programs in workloads:
            draws = [drawn(programs, trained_on, rng) for _ in range(given.draws)]
            for name in draws[0]:
                means.setdefault(name, []).append(np.mean([draw[name] for draw in draws], axis=0))
        for name, of_workloads in means.items():
            values = np.array(of_workloads)
            errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
            cells = [
                "-" if np.isnan(mean) else f"{mean:.3f} +- {error:.3f}"
                for mean, error in zip(values.mean(axis=0), errors, strict=True)
            ]
            table.append([trained_on, name, *cells])
    columns = ["trained on", "picked by", "rank correlation", "best of 8", "mean of 8"]
    print(f"{len(workloads)} workloads, {given.draws} draws of each")
    print(tabulate(table, columns))


if __name__ == "__main__":
    main()
