"""Does a network get faster if its tasks are measured as it runs them?

    python benchmarks/network_caches.py [--case ID,ID] [--trials N] [--seeds N] [--json FILE]

Tunes each network twice with the same seed and the strategy `optimized`, N trials a task: with warm
caches, and with caches as in the network. The two builds are then measured side by side, end to
end. With --json, seeds that the file has with as many trials are not run again. Some 20 minutes a
network and seed.
"""

from __future__ import annotations

import argparse
import math
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

from notebook import Notebook
from searched import searched
from tabulate import tabulate

from pytest_ansorbench import workloads
from pytest_ansorbench.bench.finals import winner
from pytest_ansorbench.bench.prepared import prepare
from pytest_ansorbench.codec import from_json, to_json
from pytest_ansorbench.measure.local.engine import local_engine
from pytest_ansorbench.measure.settings import Caches, EngineSettings
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.records import Remeasurement
from pytest_ansorbench.stats.paired_ratio import NeighbourRatios

KINDS: Final[tuple[Caches, Caches]] = ("warm", "network")


def main() -> None:
    """Tune, measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--case", default="mobilenetv2-n1-s224,resnet18-n1-s224")
    parser.add_argument("--trials", type=int, default=16, help="trials a task (default: 16)")
    parser.add_argument("--seeds", type=int, default=1, help="searches of each kind (default: 1)")
    parser.add_argument("--json", type=Path, help="keep what is measured here, and go on there")
    given = parser.parse_args()
    notebook = Notebook(given.json)
    rows = []
    for seed in range(given.seeds):
        for case_id in given.case.split(","):
            measure = partial(tuned_both_ways, case_id, seed, given.trials)
            rows.append(notebook.fill(measure, case=case_id, seed=seed, trials=given.trials))
    print(report(rows))


def tuned_both_ways(case_id: str, seed: int, trials: int) -> dict[str, Any]:
    """Tune a network with each kind of caches and measure the builds side by side."""
    case = workloads.get(case_id)
    with ExitStack() as stack:
        engines = {
            kind: stack.enter_context(local_engine(None, EngineSettings(caches=kind)))
            for kind in KINDS
        }
        prepared = prepare(case, case.tasks(), engines["warm"], print)
        assert prepared.network is not None
        searches = {}
        # Neither kind always has the machine as the other one left it.
        for kind in KINDS if seed % 2 == 0 else KINDS[::-1]:
            of_run = trials * len(prepared.tasks)
            searches[kind] = searched(
                case, prepared.tasks, "optimized", engines[kind], of_run, trials, seed
            )
        programs = [winner(prepared, searches[kind]) for kind in KINDS]
        found = engines["warm"].measure_side_by_side(
            [program for program in programs if program is not None],
            prepared.network.check,
            SideBySide(),
        )
    return {
        kind: {
            "estimated_s": searches[kind].estimated_s,
            "search_s": searches[kind].search_s,
            "end_to_end": to_json(build),
        }
        for kind, build in zip(KINDS, found, strict=True)
    }


def report(rows: list[dict[str, Any]]) -> str:
    """One line a network and seed."""
    table = []
    for row in rows:
        of_kinds = [row[kind] for kind in KINDS]
        builds = [from_json(Remeasurement, one["end_to_end"]) for one in of_kinds]
        ratios = NeighbourRatios.of(builds[1], builds[0])
        assert ratios is not None
        table.append(
            [
                row["case"],
                row["seed"],
                *(f"{one['search_s']:.0f}" for one in of_kinds),
                *(_ms(build.latency_s) for build in builds),
                f"{math.exp(ratios.log_ratio):.3f}",
                *(
                    _off(one["estimated_s"], build.latency_s)
                    for one, build in zip(of_kinds, builds, strict=True)
                ),
            ]
        )
    headers = ["network", "seed"]
    for figure in ("search (s)", "end to end (ms)"):
        headers += [f"{figure}, {kind}" for kind in KINDS]
    headers += ["network/warm", *(f"estimate off, {kind}" for kind in KINDS)]
    return tabulate(table, headers, disable_numparse=True, colalign=("left", *["right"] * 8))


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e3 * seconds:.2f}"


def _off(estimate_s: float | None, seconds: float | None) -> str:
    return "" if estimate_s is None or seconds is None else f"{estimate_s / seconds - 1.0:+.0%}"


if __name__ == "__main__":
    main()
