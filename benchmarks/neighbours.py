"""Does a kernel take longer the more others it is measured beside?

    python benchmarks/neighbours.py [--case ID,ID] [--programs N,N] [--rounds N]

Finds a good kernel of each case in a short search, then measures copies of it side by side, as many
as given, with the effort of leads: as the engine does, where a program is suspended while it is not
its turn, and as if it were not. Prints the median latency of a copy over the rounds, how much it
scatters, and the ratio of the two. Two minutes.
"""

from __future__ import annotations

import argparse
import math
import statistics
from typing import Any

from searched import bests, searched
from tabulate import tabulate

from pytest_ansorbench import workloads
from pytest_ansorbench.bench.finals import EFFORT
from pytest_ansorbench.bench.prepared import prepare
from pytest_ansorbench.measure.local.engine import LocalEngine, local_engine
from pytest_ansorbench.measure.local.fork_server import Child
from pytest_ansorbench.measure.settings import EngineSettings

CASES = "conv1d-n1-l256-ci64-co128-k3-s2-p1,matmul-b1-m512-n512-k512"
SUSPEND = Child.suspend
KINDS = {"left running": lambda child: None, "suspended": SUSPEND}


def main() -> None:
    """Search, measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--case", default=CASES)
    parser.add_argument("--programs", default="1,2,8,16")
    parser.add_argument("--rounds", type=int, default=6)
    given = parser.parse_args()
    counts = [int(count) for count in given.programs.split(",")]
    rows = []
    with local_engine(None, EngineSettings()) as engine:
        for case in given.case.split(","):
            rows += measured(case, counts, given.rounds, engine)
    print(report(rows))


def measured(
    case_id: str, counts: list[int], rounds: int, engine: LocalEngine
) -> list[dict[str, Any]]:
    """A row for each number of copies, with the latency of a copy by round, either way in turn."""
    case = workloads.get(case_id)
    prepared = prepare(case, case.tasks(), engine, lambda text: None)
    [best] = bests(searched(case, prepared.tasks, "draft", engine, 32, 32))
    program = best.program()
    rows = [{"case": case_id, "programs": n, **{kind: [] for kind in KINDS}} for n in counts]
    for _ in range(rounds):
        for row in rows:
            for kind, suspend in KINDS.items():
                Child.suspend = suspend  # type: ignore[method-assign]
                outcomes = engine.measure_side_by_side(
                    [program] * row["programs"], prepared.tasks[0].check, EFFORT
                )
                medians = [statistics.median(outcome.latencies_s) for outcome in outcomes]
                row[kind].append(1e3 * statistics.median(medians))
    Child.suspend = SUSPEND  # type: ignore[method-assign]
    return rows


def report(rows: list[dict[str, Any]]) -> str:
    """One line a number of copies."""
    table = []
    for row in rows:
        of_kinds = [row[kind] for kind in KINDS]
        running, suspended = map(statistics.median, of_kinds)
        scatter = [statistics.stdev(map(math.log, of_kind)) for of_kind in of_kinds]
        figures = [f"{running:.4f}", f"{suspended:.4f}", *(f"{share:.0%}" for share in scatter)]
        table.append([row["case"], row["programs"] - 1, *figures, f"{suspended / running:.2f}"])
    headers = ["case", "neighbours", *(f"{kind} (ms)" for kind in KINDS)]
    headers += [*(f"scatter, {kind}" for kind in KINDS), "ratio"]
    return tabulate(table, headers, disable_numparse=True, colalign=("left", *["right"] * 6))


if __name__ == "__main__":
    main()
