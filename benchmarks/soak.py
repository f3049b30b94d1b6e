"""Thousands of trials on one engine: what grows, what is left behind.

    python benchmarks/soak.py [--trials 2000] [--case ID]

Builds and runs random candidates in rounds of 64, as a search does, with faulty ones among them:
one in fifty crashes when it is run. Every 100 trials it notes the memory of the fork server and of
this process, and the peak memory of the candidates' processes. At the end it looks for processes
that outlived the engine, and for files in its temporary folder. Bars: memory at the end within 10%
of that at trial 500, no orphan, no file.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
from tabulate import tabulate

from pytest_ansorbench import workloads
from pytest_ansorbench.measure.local.engine import local_engine
from pytest_ansorbench.measure.policy import FixedMeasurement
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.strategies import TargetSpace

ROUND_TRIALS = 64
SETTLED_TRIAL = 500
LOOK_EVERY = 100
FAULT_EVERY = 50


def main() -> None:
    """Soak and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=2000, help="trials (default: 2000)")
    parser.add_argument("--case", default="matmul-b12-m128-n64-k128")
    given = parser.parse_args()
    [task] = workloads.get(given.case).tasks()
    folder = Path(tempfile.mkdtemp())
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)  # for this process and its children
    statuses: Counter[str] = Counter()
    looks: list[dict[str, Any]] = []
    peak_mb = 0.0
    started = time.perf_counter()
    with local_engine(None, EngineSettings()) as engine:
        server = psutil.Process(engine.server_pid)
        candidates = random_schedules(task, engine.target)
        done = 0
        while done < given.trials:
            batch = [next(candidates) for _ in range(min(ROUND_TRIALS, given.trials - done))]
            kernels = [
                Program.kernel(crashing(mod) if (done + i) % FAULT_EVERY == 0 else mod, args_info)
                for i, (mod, args_info) in enumerate(batch)
            ]
            for built in engine.build(kernels, task.check):
                outcome = engine.run(built, FixedMeasurement(min_repeat_ms=10))
                statuses[outcome.status] += 1
                peak_mb = max(peak_mb, outcome.peak_memory_mb)
                done += 1
                if done % LOOK_EVERY == 0:
                    looks.append(
                        {
                            "trial": done,
                            "server_mb": server.memory_info().rss / 1e6,
                            "parent_mb": psutil.Process().memory_info().rss / 1e6,
                            "server_descriptors": server.num_fds(),
                            "parent_descriptors": psutil.Process().num_fds(),
                            "candidate_peak_mb": peak_mb,
                        }
                    )
                    peak_mb = 0.0
        restarts = engine.restarts
    seconds = time.perf_counter() - started
    orphans = session(server.pid)
    leaked = sorted(path.name for path in folder.rglob("*"))
    shutil.rmtree(folder)
    print(tabulate([list(look.values()) for look in looks], list(looks[0]), floatfmt=".1f"))
    settled = next((look for look in looks if look["trial"] >= SETTLED_TRIAL), looks[0])
    growth = {name: looks[-1][name] / settled[name] for name in ("server_mb", "candidate_peak_mb")}
    print(
        f"\n{done} trials in {seconds:.0f} s: {dict(statuses)}; {restarts} restarts\n"
        f"memory at the end over trial {settled['trial']}: server {growth['server_mb']:.3f}, "
        f"candidates {growth['candidate_peak_mb']:.3f} (bar: 1.1)\n"
        f"orphans: {orphans or 'none'}; files left in the temporary folder: {leaked or 'none'}"
    )


def random_schedules(task: Any, target: Any) -> Iterator[tuple[Any, Any]]:
    """Random schedules of a task without end, each with its arguments."""
    from tvm.s_tir.meta_schedule import TuneContext
    from tvm.s_tir.meta_schedule.cost_model import RandomModel
    from tvm.s_tir.meta_schedule.database import MemoryDatabase
    from tvm.s_tir.meta_schedule.search_strategy import ReplayTrace

    for seed in itertools.count(1):
        context = TuneContext(
            task.mod,
            target=target,
            space_generator=TargetSpace().start(target),
            search_strategy=ReplayTrace(),
            rand_state=seed,
        )
        context.pre_tuning(
            ROUND_TRIALS,
            ROUND_TRIALS,
            context.generate_design_space(),
            MemoryDatabase(),
            RandomModel(),
        )
        for candidate in context.generate_measure_candidates() or ():
            yield candidate.sch.mod, candidate.args_info
        context.post_tuning()


def crashing(mod: Any) -> Any:
    """The module with a call of abort in front."""
    from tvm import IRModule
    from tvm.tirx import Evaluate, SeqStmt, call_extern

    main = mod["main"]
    body = SeqStmt([Evaluate(call_extern("int32", "abort")), main.body])
    return IRModule({"main": main.with_body(body)})


def session(leader: int) -> list[str]:
    """Names of the processes in a session: all that the fork server started, dead or alive."""
    names = []
    for process in psutil.process_iter(["name"]):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(process.pid) == leader:
                names.append(process.info["name"])
    return names


if __name__ == "__main__":
    main()
