"""What a trial costs: stock `ms.tune_tir` against this project's engine, in one run.

    python benchmarks/trial_rate.py [--case ID,ID] [--plan 32x64,64x128] [--seeds 3]
                                    [--journal FILE] [--json FILE]

Three arms search the same case with the same strategy, MetaSchedule's evolutionary search with
its stock parameters and cost model, and the same trials: `stock` is one call of `ms.tune_tir`
with its own builder and runner, `fixed` and `racing` are our round loop and engine with the two
measurement policies. The arms run one after the other, the lead rotating from seed to seed; then
the three winners are measured again, fixed, in turn, in fresh processes.

Seconds per trial are by phase: build and run are what TVM's profiler calls SendToBuilder, and
SendToRunner with JoinRunnerFutures; ours are the round loop's clock. Bars, on build + run per
trial over stock: 0.40 with 32 trials a round and 0.55 with 64 for `fixed`, 0.30 and 0.40 for
`racing`; best latency equal within noise.

A journal keeps each finished block (case, plan, seed), so that the benchmark can be interrupted
and goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tabulate import tabulate

from pytest_ansorbench import workloads
from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.measure.local.engine import LocalEngine
from pytest_ansorbench.measure.local.machine import describe_machine, observe_machine
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.search import Search
from pytest_ansorbench.storage import describe_commit
from pytest_ansorbench.strategies import Registry

CASES = "conv2d-n1-h14-w14-ci256-co256-k3-s1-p1,matmul-b1-m512-n512-k512"
ARMS = {"stock": None, "fixed": "default", "racing": "racing"}
BARS = {("fixed", 32): 0.40, ("fixed", 64): 0.55, ("racing", 32): 0.30, ("racing", 64): 0.40}
PHASES = ("propose", "build", "run", "learn")
FINAL = SideBySide.of_samples(10)


def main() -> None:
    """Measure what the journal lacks, then print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--case", default=CASES, help="ids, separated by commas")
    parser.add_argument("--plan", default="32x64,64x128", help="ROUNDxTRIALS, separated by commas")
    parser.add_argument("--seeds", type=int, default=3, help="seeds (default: 3)")
    parser.add_argument("--journal", type=Path, help="file to keep finished blocks in")
    parser.add_argument("--json", type=Path, help="write everything measured here")
    given = parser.parse_args()
    commit = describe_commit(Path(__file__).parent)  # before anyone edits it
    blocks = read_journal(given.journal)
    target = resolve_target(None)
    register_intrinsics(target)
    plans = [tuple(map(int, plan.split("x"))) for plan in given.plan.split(",")]
    with LocalEngine(target) as engine:
        for seed in range(given.seeds):
            for case in given.case.split(","):
                for round_trials, trials in plans:
                    key = {"case": case, "round": round_trials, "trials": trials, "seed": seed}
                    if any(key.items() <= block.items() for block in blocks):
                        continue
                    block = {**key, **measure_block(engine, target, **key)}
                    blocks.append(block)
                    if given.journal:
                        with given.journal.open("a") as journal:
                            journal.write(json.dumps(block) + "\n")
                    print(f"done: {key}", flush=True)
    print(report(blocks))
    if given.json:
        record = {
            "machine": describe_machine(),
            "commit": commit,
            "blocks": blocks,
        }
        given.json.write_text(json.dumps(record) + "\n")


def read_journal(path: Path | None) -> list[dict[str, Any]]:
    """The blocks that are finished; a last line cut short by an interrupt is measured again."""
    if path is None or not path.exists():
        return []
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole)
    return [json.loads(line) for line in whole.splitlines()]


def measure_block(
    engine: LocalEngine, target: Any, case: str, round: int, trials: int, seed: int
) -> dict[str, Any]:
    """One seed of all arms on one case, and their winners measured again."""
    task = workloads.get(case).tasks()[0]
    names = list(ARMS)
    order = names[seed % len(names) :] + names[: seed % len(names)]
    before = observe_machine()
    arms: dict[str, dict[str, Any]] = {}
    winners: dict[str, Any] = {}
    for name in order:
        if name == "stock":
            arms[name], winners[name] = run_stock(case, target, round, trials, seed)
        else:
            arms[name], winners[name] = run_ours(
                task, engine, ARMS[name], case, round, trials, seed
            )
    kernels = [Program.kernel(*winners[name]) for name in names]
    finals = engine.measure_side_by_side(kernels, task.check, FINAL)
    for name, final in zip(names, finals, strict=True):
        arms[name]["final_s"] = final.latencies_s
    return {
        "arms": arms,
        "busy_cores": [before.busy_cores, observe_machine().busy_cores],
    }


def run_stock(
    case: str, target: Any, round_trials: int, trials: int, seed: int
) -> tuple[dict[str, Any], Any]:
    """`ms.tune_tir` as anyone calls it, in a process that nothing of ours is imported into."""
    from tvm.ir import load_json, save_json
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo

    task = workloads.get(case).tasks()[0]
    request = {
        "mod": save_json(task.mod),
        "target": str(target),
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
    seconds = reply.pop("profile")
    measured = {
        "build_s": seconds["SendToBuilder"],
        "run_s": seconds["SendToRunner"] + seconds.get("JoinRunnerFutures", 0.0),
        "learn_s": seconds["MeasureCallback/UpdateCostModel"],
    }
    winner = load_json(reply.pop("winner"))
    propose_s = reply["wall_s"] - sum(measured.values())
    return (
        {**reply, "propose_s": propose_s, **measured, "profile": seconds},
        (winner, ArgInfo.from_prim_func(task.mod["main"])),
    )


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
valid_s = [seconds for seconds in mean_s if seconds < 1e9]
print(json.dumps({
    "trials": len(records),
    "valid": len(valid_s),
    "wall_s": wall_s,
    "best_s": min(valid_s),
    "latencies_s": valid_s,
    "profile": {str(name): float(value) for name, value in profiler.get().items()},
    "winner": save_json(schedule.mod),
}))
"""


def run_ours(
    task: Any,
    engine: LocalEngine,
    strategy: str | None,
    case: str,
    round_trials: int,
    trials: int,
    seed: int,
) -> tuple[dict[str, Any], Any]:
    """The same search in our round loop, on our engine."""
    assert strategy is not None
    search = Search(
        workloads.get(case),
        [task],
        Registry().get(strategy),
        engine,
        seed=seed,
        budget_trials=trials,
        round_trials=round_trials,
    )
    started = time.perf_counter()
    while not search.finished:
        search.step()
    wall_s = time.perf_counter() - started
    best = search.tasks[0].best
    assert best is not None
    return (
        {
            "trials": len(search.trials),
            "valid": sum(trial.status == "ok" for trial in search.trials),
            "wall_s": wall_s,
            **{
                f"{phase}_s": sum(getattr(r, f"{phase}_s") for r in search.rounds)
                for phase in PHASES
            },
            "trial_build_s": [trial.build_s for trial in search.trials],
            "trial_run_s": [trial.run_s for trial in search.trials],
            "latencies_s": [trial.latency_s for trial in search.trials],
            "restarts": sum(r.restarts for r in search.rounds),
            "peak_memory_mb": max(trial.peak_memory_mb or 0.0 for trial in search.trials),
            "best_s": best.latency_s,
        },
        (best.mod, best.args_info),
    )


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
        for name in ARMS:
            phases = [
                statistics.fmean(arms[name][f"{phase}_s"] / arms[name]["trials"] for arms in chosen)
                for phase in PHASES
            ]
            ratios = [per_trial(arms[name]) / per_trial(arms["stock"]) for arms in chosen]
            finals = [final(arms[name]) / final(arms["stock"]) for arms in chosen]
            bar = BARS.get((name, round_trials))
            rows.append(
                [
                    case if name == "stock" else "",
                    f"{round_trials} x {trials // round_trials}" if name == "stock" else "",
                    name,
                    *(f"{seconds:.3f}" for seconds in phases),
                    "" if name == "stock" else f"{geometric_mean(ratios):.2f}",
                    "" if name == "stock" else f"{min(ratios):.2f} to {max(ratios):.2f}",
                    "" if bar is None else f"{bar:.2f}",
                    f"{1e3 * geometric_mean([final(a[name]) for a in chosen]):.3f}",
                    ""
                    if name == "stock"
                    else f"{geometric_mean(finals):.2f} ({', '.join(f'{r:.2f}' for r in finals)})",
                ]
            )
    busy = max(max(b["busy_cores"]) for b in blocks)
    return (
        tabulate(
            rows,
            headers=[
                "case",
                "round x rounds",
                "arm",
                *(f"{phase} (s/trial)" for phase in PHASES),
                "build+run / stock",
                "range",
                "bar",
                "best, measured again (ms)",
                "best / stock (by seed)",
            ],
            disable_numparse=True,
        )
        + f"\n\n{len(blocks)} blocks; means over the seeds, ratios geometric; "
        f"at most {busy:.2f} cores of other work"
    )


def per_trial(arm: dict[str, Any]) -> float:
    """Seconds of build and run per trial."""
    return float((arm["build_s"] + arm["run_s"]) / arm["trials"])


def final(arm: dict[str, Any]) -> float:
    """Latency of the winner, measured again; NaN if that failed."""
    return statistics.median(arm["final_s"]) if arm["final_s"] else math.nan


def geometric_mean(values: Sequence[float]) -> float:
    """Geometric mean."""
    return math.exp(statistics.fmean(map(math.log, values)))


if __name__ == "__main__":
    main()
