"""Does a network get faster if its tasks are measured as it runs them?

    python benchmarks/network_caches.py [--case ID,ID] [--trials N] [--seeds N] [--json FILE]

Tunes each network twice with the same seed and the strategy `optimized`, N trials a task: with warm
caches, and with caches as in the network. The two builds are then measured side by side, end to
end. With --json, everything measured is written after each seed, and seeds that the file has are
not run again. Some 20 minutes a network and seed.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from tabulate import tabulate

from pytest_ansorbench import workloads
from pytest_ansorbench.bench.finals import winner
from pytest_ansorbench.bench.prepared import PreparedCase, prepare
from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.measure.local.engine import LocalEngine
from pytest_ansorbench.measure.local.machine import describe_machine
from pytest_ansorbench.measure.settings import Caches, EngineSettings
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.records import Remeasurement
from pytest_ansorbench.search import Search
from pytest_ansorbench.stats.paired_ratio import NeighbourRatios
from pytest_ansorbench.storage import describe_commit
from pytest_ansorbench.strategies import Registry

KINDS: Final[tuple[Caches, Caches]] = ("warm", "network")


def main() -> None:
    """Tune, measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--case", default="mobilenetv2-n1-s224,resnet18-n1-s224")
    parser.add_argument("--trials", type=int, default=16, help="trials a task (default: 16)")
    parser.add_argument("--seeds", type=int, default=1, help="searches of each kind (default: 1)")
    parser.add_argument("--json", type=Path, help="write everything measured here")
    given = parser.parse_args()
    commit = describe_commit(Path(__file__).parent)  # before anyone edits it
    record: dict[str, Any] = {"machine": describe_machine(), "commit": commit, "seeds": []}
    if given.json and given.json.exists():
        record = json.loads(given.json.read_text(encoding="utf-8"))
    done = {(row["case"], row["seed"]) for row in record["seeds"]}
    for seed in range(given.seeds):
        for case_id in given.case.split(","):
            if (case_id, seed) in done:
                continue
            record["seeds"].append(tuned_both_ways(case_id, seed, given.trials))
            if given.json:
                given.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(report(record["seeds"]))


def tuned_both_ways(case_id: str, seed: int, trials: int) -> dict[str, Any]:
    """Tune a network with each kind of caches and measure the builds side by side."""
    target = resolve_target(None)
    register_intrinsics(target)
    case = workloads.get(case_id)
    with ExitStack() as stack:
        engines = {
            kind: stack.enter_context(LocalEngine(target, EngineSettings(caches=kind)))
            for kind in KINDS
        }
        prepared = prepare(case, case.tasks(), engines["warm"], note)
        # Neither kind always has the machine as the other one left it.
        order = KINDS if seed % 2 == 0 else KINDS[::-1]
        searches = {kind: tuned(prepared, engines[kind], seed, trials, kind) for kind in order}
        programs = [winner(prepared, searches[kind]) for kind in KINDS]
        assert prepared.network is not None
        warm, network = engines["warm"].measure_side_by_side(
            [program for program in programs if program is not None],
            prepared.network.check,
            SideBySide(),
        )
    measured = {
        kind: {
            "estimated_s": searches[kind].estimated_s,
            "search_s": searches[kind].search_s,
            "end_to_end": asdict(found.remeasured(None)),
        }
        for kind, found in zip(KINDS, (warm, network), strict=True)
    }
    return {"case": case_id, "seed": seed, "trials": trials, **measured}


def tuned(
    prepared: PreparedCase, engine: LocalEngine, seed: int, trials: int, kind: Caches
) -> Search:
    """A finished search."""
    started_s = time.monotonic()
    search = Search(
        prepared.case,
        prepared.tasks,
        Registry().get("optimized"),
        engine,
        seed=seed,
        budget_trials=trials * len(prepared.tasks),
        round_trials=trials,
    )
    with closing(search):
        while not search.finished:
            search.step()
    note(f"{prepared.case.id}: {kind}, seed {seed}, {time.monotonic() - started_s:.0f} s")
    return search


def report(rows: list[dict[str, Any]]) -> str:
    """One line a network and seed."""
    table = []
    for row in rows:
        builds = {kind: Remeasurement(**_tuples(row[kind]["end_to_end"])) for kind in KINDS}
        ratios = NeighbourRatios.of(builds["network"], builds["warm"])
        assert ratios is not None
        table.append(
            [
                row["case"],
                row["seed"],
                *(f"{row[kind]['search_s']:.0f}" for kind in KINDS),
                *(_ms(builds[kind].latency_s) for kind in KINDS),
                f"{math.exp(ratios.log_ratio):.3f}",
                *(_off(row[kind]["estimated_s"], builds[kind].latency_s) for kind in KINDS),
            ]
        )
    headers = ["network", "seed"]
    for figure in ("search (s)", "end to end (ms)"):
        headers += [f"{figure}, {kind}" for kind in KINDS]
    headers += ["network/warm", *(f"estimate off, {kind}" for kind in KINDS)]
    return tabulate(table, headers, disable_numparse=True, colalign=("left", *["right"] * 8))


def _tuples(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()
    }


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e3 * seconds:.2f}"


def _off(estimate_s: float | None, seconds: float | None) -> str:
    return "" if estimate_s is None or seconds is None else f"{estimate_s / seconds - 1.0:+.0%}"


def note(text: str) -> None:
    """Say what goes on."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
