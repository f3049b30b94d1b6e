"""What the rule model costs: to load it, and to ask it about a generation.

    python benchmarks/rule_model.py [--programs 128] [--json FILE]

Loading is timed in this process, after XGBoost was imported, which the cost model needs anyway.
Bar: 50 ms. Asking is held against the extraction of the same programs' features, which the cost
model pays for in any case; both are medians. Bar: ratio 0.05.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_ansorbench import workloads
from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.measure.local.machine import describe_machine
from pytest_ansorbench.storage import describe_commit
from pytest_ansorbench.strategies import (
    ProgramMaker,
    extract,
    load_rule_model,
    pool,
    undecided,
)
from pytest_ansorbench.strategies.rule_model import SHIPPED

CASE = "conv2d-n1-h14-w14-ci256-co256-k3-s1-p1"
REPEATS = 9


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=int, default=128)
    parser.add_argument("--json", type=Path, help="write the raw seconds here")
    given = parser.parse_args()
    import xgboost  # noqa: F401

    seconds: dict[str, list[float]] = {"load": timed(load_rule_model)}
    from tvm.s_tir.meta_schedule import TuneContext
    from tvm.s_tir.meta_schedule.feature_extractor import PerStoreFeature

    target = resolve_target(None)
    register_intrinsics(target)
    [task] = workloads.get(CASE).tasks()
    context = TuneContext(
        task.mod, target=target, space_generator="post-order-apply", task_name=CASE, rand_state=1
    )
    sketches = undecided(context.generate_design_space())
    drawn = [sketches[i % len(sketches)] for i in range(given.programs)]
    programs = ProgramMaker(context).sample(drawn, range(1, given.programs + 1))
    candidates = [program.candidate().measure_candidate for program in programs]
    extractor = PerStoreFeature()
    seconds["extract"] = timed(lambda: extractor.extract_from(context, candidates))
    features = extract(extractor, context, candidates)
    model = load_rule_model()
    seconds["ask"] = timed(lambda: model.predict(pool(features)))
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    size_mb = SHIPPED.stat().st_size / 1e6
    print(f"load     {1e3 * medians['load']:.1f} ms for {size_mb:.2f} MB (bar: 50 ms)")
    print(f"extract  {1e3 * medians['extract']:.1f} ms for {len(programs)} programs of {CASE}")
    print(f"ask      {1e3 * medians['ask']:.1f} ms for the same")
    print(f"ratio    {medians['ask'] / medians['extract']:.3f} (bar: 0.05)")
    if given.json:
        record = {"machine": describe_machine(), "commit": describe_commit(Path.cwd())}
        given.json.write_text(json.dumps({**record, "seconds": seconds}, indent=1) + "\n")


def timed(work: Callable[[], Any]) -> list[float]:
    """Seconds of each of some calls."""
    seconds = []
    for _ in range(REPEATS):
        started_s = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started_s)
    return seconds


if __name__ == "__main__":
    main()
