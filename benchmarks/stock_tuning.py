"""What does `draft` gain in TVM's own `tune_tir`, with TVM's builder and with one that lasts?

    python benchmarks/stock_tuning.py [--case ID,ID] [--trials N] [--seeds N]

Each line is a call of `ms.tune_tir` in a process of its own, started in turn: seconds of the call,
of its builder, and the GFLOP/s of the best record, as the stock runner measured it. Calls differ in
the strategy, `default` being MetaSchedule's own arguments, and in the builder.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from typing import Any, Final

from tabulate import tabulate

ARMS: Final = (
    ("default", "stock"),
    ("default", "lasting"),
    ("draft", "stock"),
    ("draft", "lasting"),
    ("draft+transfer", "lasting"),
)
COLUMNS: Final = ("strategy", "builder", "seed", "call (s)", "builder (s)", "batches", "GFLOP/s")


def main() -> None:
    """Run every call, then print the table; or, with --arm, run one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--case", default="matmul-b1-m512-n512-k512")
    parser.add_argument("--trials", type=int, default=128)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--arm", nargs=2, metavar=("STRATEGY", "BUILDER"), help="a single call")
    parser.add_argument("--seed", type=int, default=0, help="of a single call")
    given = parser.parse_args()
    if given.arm:
        print(json.dumps(call(given.case, *given.arm, given.trials, given.seed)))
        return
    for case in given.case.split(","):
        rows = []
        for seed in range(given.seeds):
            for strategy, builder in ARMS:
                options = ["--case", case, "--trials", str(given.trials), "--seed", str(seed)]
                command = [sys.executable, __file__, "--arm", strategy, builder, *options]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                rows.append([strategy, builder, seed, *json.loads(done.stdout.splitlines()[-1])])
                print(rows[-1], file=sys.stderr, flush=True)
        print(f"{case}, {given.trials} trials")
        print(tabulate(rows, COLUMNS, floatfmt=".4g"))


def call(case: str, strategy: str, builder: str, trials: int, seed: int) -> list[float]:
    """One call: its seconds, those of the builder, its batches, and GFLOP/s of the best record."""
    from skeptic_cases import SHAPES
    from tvm.ir.utils import derived_object
    from tvm.s_tir import meta_schedule as ms

    from pytest_ansorbench.environment import resolve_target
    from pytest_ansorbench.lasting_builder import lasting_builder
    from pytest_ansorbench.metaschedule import tune_parts
    from pytest_ansorbench.workloads import OPERATORS

    [task] = next(one for one in (*OPERATORS, *SHAPES) if one.id == case).tasks()
    target = resolve_target(None)
    built_s: list[float] = []
    inner = lasting_builder() if builder == "lasting" else ms.builder.LocalBuilder()

    @derived_object
    class Timed(ms.builder.PyBuilder):
        def build(self, build_inputs: Any) -> Any:
            started_s = time.perf_counter()
            built = inner.build(build_inputs)
            built_s.append(time.perf_counter() - started_s)
            return built

    parts: dict[str, Any] = {"seed": seed + 1}
    if strategy != "default":
        parts = {**tune_parts(strategy, target, seed=seed)}
    with tempfile.TemporaryDirectory() as folder:
        started_s = time.perf_counter()
        database = ms.tune_tir(task.mod, target, folder, trials, builder=Timed(), **parts)
        call_s = time.perf_counter() - started_s
    best_s = min(
        float(record.run_secs[0]) for record in database.get_all_tuning_records() if record.run_secs
    )
    return [call_s, sum(built_s), len(built_s), task.flops / best_s / 1e9]


if __name__ == "__main__":
    main()
