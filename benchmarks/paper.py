"""The experiment of the paper: is the optimized search faster, and which of its two ideas is?

    python benchmarks/paper.py [--size small|full] [--repeats N] [--only main|controls]

Runs `pytest --ansor-bench` over the paper's operators with the arms default, etc, rules and
optimized, which share the default's runs, then controls on a matmul: the default a second time,
the default with a small population, and random search. Every round is journaled; interrupted,
or told a larger `--repeats`, the same command goes on where it was. Then it writes tables and
figures to `docs/results/paper-SIZE.*`. `--only report` does that from the files that are there.

The paper is Han Lin, Wang Yifan, Li Jianan and Gao Wei, Automatic Scheduling Search Optimization
Method Based on TVM, Computer Science 52(3):268-276, 2025; figures are numbered as there.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from paper_report import write_report
from sessions import RESULTS, ROOT, bench, to_resume

from pytest_ansorbench.workloads import BATCH_MATMUL, CONV1D, CONV2D

MATMUL = "matmul-b1-m512-n512-k512"


@dataclass(frozen=True)
class Size:
    """How large the experiment is."""

    cases: tuple[str, ...]
    trials: int
    round_trials: int
    repeats: int


SIZES = {
    "small": Size(
        (
            "conv2d-n1-h14-w14-ci256-co256-k3-s1-p1",
            "conv1d-n1-l64-ci256-co256-k5-s1-p2",
            MATMUL,
        ),
        trials=256,
        round_trials=32,
        repeats=4,
    ),
    "full": Size(
        tuple(case.id for case in (*CONV2D, *CONV1D, *BATCH_MATMUL)),
        trials=1000,
        round_trials=64,
        repeats=10,
    ),
}


def main() -> None:
    """Run what is missing, then report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--repeats", type=int, help="seeds of each arm (default: the size's)")
    parser.add_argument("--only", choices=("main", "controls", "report"), help="default: all")
    given = parser.parse_args()
    size = SIZES[given.size]
    files = {
        "main": RESULTS / f"paper-{given.size}.json.gz",
        "controls": RESULTS / f"paper-{given.size}-controls.json.gz",
    }
    arms = {
        "main": ["--ansor-strategy", "default,etc,rules,optimized"],
        "controls": ["--ansor-strategy", "default,default-small,random", "--ansor-control"],
    }
    cases = {"main": size.cases, "controls": (MATMUL,)}
    for part in ("main", "controls"):
        if given.only in (None, part):
            storage = ROOT / ".ansor_bench" / f"paper-{given.size}-{part}"
            bench(
                files[part],
                *(*arms[part], *to_resume(storage)),
                case=",".join(cases[part]),
                trials=size.trials,
                round=size.round_trials,
                repeats=given.repeats or size.repeats,
                storage=storage,
            )
    write_report(files["main"], files["controls"], RESULTS / f"paper-{given.size}")


if __name__ == "__main__":
    main()
