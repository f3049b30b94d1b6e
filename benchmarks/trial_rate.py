"""What a trial costs: stock `ms.tune_tir` against this project's engine, in one run.

    python benchmarks/trial_rate.py [--case ID,ID] [--plan 32x64,64x128] [--seeds 3] [--json FILE]

Three arms search the same case with the same strategy, MetaSchedule's evolutionary search with
its stock parameters and cost model, and the same trials: `stock` is one call of `ms.tune_tir`
with its own builder and runner, `fixed` and `racing` are our round loop and engine with the two
measurement policies. The arms run one after the other, the lead rotating from seed to seed; then
the three winners are measured again, fixed, in turn, in fresh processes.

Seconds per trial are by phase: build and run are what TVM's profiler calls SendToBuilder, and
SendToRunner with JoinRunnerFutures; ours are the round loop's clock. Bars, on build + run per
trial over stock: 0.40 with 32 trials a round and 0.55 with 64 for `fixed`, 0.30 and 0.40 for
`racing`; best latency equal within noise.

With --json, blocks (case, plan, seed) that the file has are not measured again.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Any

from notebook import Notebook
from searched import bests, searched
from tabulate import tabulate

from pytest_ansorbench import workloads
from pytest_ansorbench.measure.local.engine import LocalEngine, local_engine
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.side_by_side import SideBySide

CASES = "conv2d-n1-h14-w14-ci256-co256-k3-s1-p1,matmul-b1-m512-n512-k512"
ARMS = ("stock", "fixed", "racing")
BARS = {("fixed", 32): 0.40, ("fixed", 64): 0.55, ("racing", 32): 0.30, ("racing", 64): 0.40}
PHASES = ("propose", "build", "run", "learn")
FINAL = SideBySide.of_samples(10)


def main() -> None:
    """Measure what is missing, then print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--case", default=CASES, help="ids, separated by commas")
    parser.add_argument("--plan", default="32x64,64x128", help="ROUNDxTRIALS, separated by commas")
    parser.add_argument("--seeds", type=int, default=3, help="seeds (default: 3)")
    parser.add_argument("--json", type=Path, help="keep what is measured here, and go on there")
    given = parser.parse_args()
    notebook = Notebook(given.json)
    plans = [tuple(map(int, plan.split("x"))) for plan in given.plan.split(",")]
    with local_engine(None, EngineSettings()) as engine:
        for seed in range(given.seeds):
            for case in given.case.split(","):
                for round_trials, trials in plans:
                    key = {"case": case, "round": round_trials, "trials": trials, "seed": seed}
                    notebook.fill(partial(measure_block, engine, **key), **key)
    print(report(notebook.pieces))


def measure_block(
    engine: LocalEngine, case: str, round: int, trials: int, seed: int
) -> dict[str, Any]:
    """One seed of all arms on one case, and their winners measured again."""
    start = seed % len(ARMS)
    arms: dict[str, dict[str, Any]] = {}
    winners: dict[str, Program] = {}
    for name in ARMS[start:] + ARMS[:start]:
        arm = run_stock if name == "stock" else partial(run_ours, name)
        arms[name], winners[name] = arm(engine, case, round, trials, seed)
    [task] = workloads.get(case).tasks()
    finals = engine.measure_side_by_side([winners[name] for name in ARMS], task.check, FINAL)
    for name, final in zip(ARMS, finals, strict=True):
        arms[name]["final_s"] = final.latencies_s
    return {"arms": arms}


def run_stock(
    engine: LocalEngine, case: str, round_trials: int, trials: int, seed: int
) -> tuple[dict[str, Any], Program]:
    """`ms.tune_tir` as anyone calls it, in a process that nothing of ours is imported into."""
    from tvm.ir import load_json, save_json
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo

    [task] = workloads.get(case).tasks()
    request = {
        "mod": save_json(task.mod),
        "target": str(engine.target),
        "round": round_trials,
        "trials": trials,
        "seed": seed,
    }
    completed = subprocess.run(
        [sys.executable, "-c", STOCK],
        input=json.dumps(request),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    reply = json.loads(completed.stdout.splitlines()[-1])
    seconds = reply["profile"]
    measured = {
        "build_s": seconds["SendToBuilder"],
        "run_s": seconds["SendToRunner"] + seconds.get("JoinRunnerFutures", 0.0),
        "learn_s": seconds["MeasureCallback/UpdateCostModel"],
    }
    propose_s = reply["wall_s"] - sum(measured.values())
    winner = Program.kernel(load_json(reply["winner"]), ArgInfo.from_prim_func(task.mod["main"]))
    return {"trials": reply["trials"], "propose_s": propose_s, **measured}, winner


STOCK = """
import json, statistics, sys, tempfile, time
from tvm.ir import load_json, save_json
from tvm.s_tir import Schedule
from tvm.s_tir.meta_schedule import Profiler, tune_tir
from tvm.target import Target
import tvm.s_tir.tensor_intrin  # 15 s, and not what is measured here

given = json.load(sys.stdin)
mod, target = load_json(given["mod"]), Target(json.loads(given["target"]))
with tempfile.TemporaryDirectory() as folder, Profiler() as profiler:
    started = time.perf_counter()
    database = tune_tir(
        mod, target, folder, given["trials"],
        num_trials_per_iter=given["round"], seed=given["seed"] + 1,
    )
    wall_s = time.perf_counter() - started
    records = list(database.get_all_tuning_records())
    mean_s = [statistics.fmean(map(float, record.run_secs)) for record in records]
    schedule = Schedule(mod)
    best = records[mean_s.index(min(mean_s))]
    best.trace.apply_to_schedule(schedule, remove_postproc=False)
print(json.dumps({
    "trials": len(records),
    "wall_s": wall_s,
    "profile": {str(name): float(value) for name, value in profiler.get().items()},
    "winner": save_json(schedule.mod),
}))
"""


def run_ours(
    name: str, engine: LocalEngine, case_id: str, round_trials: int, trials: int, seed: int
) -> tuple[dict[str, Any], Program]:
    """The same search in our round loop, on our engine."""
    case = workloads.get(case_id)
    strategy = "default" if name == "fixed" else name
    search = searched(case, case.tasks(), strategy, engine, trials, round_trials, seed)
    [best] = bests(search)
    seconds = {
        f"{phase}_s": sum(getattr(r, f"{phase}_s") for r in search.rounds) for phase in PHASES
    }
    return {"trials": len(search.trials), **seconds}, best.program()


def report(blocks: Sequence[dict[str, Any]]) -> str:
    """Seconds per trial by phase, the ratios, and the winners' latencies."""
    rows = []
    settings = sorted({(b["case"], b["round"], b["trials"]) for b in blocks})
    for case, round_trials, trials in settings:
        chosen = [
            b["arms"]
            for b in blocks
            if (b["case"], b["round"], b["trials"]) == (case, round_trials, trials)
        ]
        stock, *ours = ([arms[name] for arms in chosen] for name in ARMS)
        title = [case, f"{round_trials} x {trials // round_trials}"]
        rows.append([*title, "stock", *phases(stock), "", "", "", latency_ms(stock), ""])
        for name, arms in zip(ARMS[1:], ours, strict=True):
            ratios = [per_trial(arm) / per_trial(of) for arm, of in zip(arms, stock, strict=True)]
            finals = [final(arm) / final(of) for arm, of in zip(arms, stock, strict=True)]
            bar = BARS.get((name, round_trials))
            rows.append(
                [
                    *("", "", name, *phases(arms)),
                    f"{geometric_mean(ratios):.2f}",
                    f"{min(ratios):.2f} to {max(ratios):.2f}",
                    "" if bar is None else f"{bar:.2f}",
                    latency_ms(arms),
                    f"{geometric_mean(finals):.2f} ({', '.join(f'{r:.2f}' for r in finals)})",
                ]
            )
    headings = ["case", "round x rounds", "arm", *(f"{phase} (s/trial)" for phase in PHASES)]
    headings += ["build+run / stock", "range", "bar", "best, measured again (ms)"]
    table = tabulate(rows, [*headings, "best / stock (by seed)"], disable_numparse=True)
    busy = max(b["busy_cores"] for b in blocks)
    return (
        f"{table}\n\n{len(blocks)} blocks; means over the seeds, ratios geometric; "
        f"at most {busy:.2f} cores of other work"
    )


def phases(arms: Sequence[dict[str, Any]]) -> list[str]:
    """Mean seconds per trial of each phase."""
    return [f"{fmean(arm[f'{phase}_s'] / arm['trials'] for arm in arms):.3f}" for phase in PHASES]


def per_trial(arm: dict[str, Any]) -> float:
    """Seconds of build and run per trial."""
    return float((arm["build_s"] + arm["run_s"]) / arm["trials"])


def latency_ms(arms: Sequence[dict[str, Any]]) -> str:
    """Geometric mean of the winners' latencies."""
    return f"{1e3 * geometric_mean(map(final, arms)):.3f}"


def final(arm: dict[str, Any]) -> float:
    """Latency of the winner, measured again; NaN if that failed."""
    return statistics.median(arm["final_s"]) if arm["final_s"] else math.nan


if __name__ == "__main__":
    main()
