"""What confirming changes: progress as searches saw it, and as it was measured again.

    python benchmarks/progress.py docs/results/control-*.json.gz

Each file holds a search against itself, so every run is one of the same arm. Printed are the
scatter between seeds of what the runs came to, as the searches saw it and as it was measured again,
and `optimism`, how many times slower the winners were when they were measured again. No TVM.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tabulate import tabulate

from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.storage import read_result

ENDS: Final = (
    *("control", "runs x trials", "scatter of ends, believed", "measured again"),
    *("optimism (range)", "leads a run", "confirming, of search time"),
)


def main() -> None:
    """Compute and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("results", type=Path, nargs="+", help="results with leads, of controls")
    given = parser.parse_args()
    cases = [case for path in given.results for case in read_result(path).cases]
    print(tabulate([*map(ends, cases)], ENDS, disable_numparse=True))


def ends(case: CaseResult) -> list[str]:
    """What the runs of a control came to.

    Raises:
        SystemExit: Their leads were not measured again.
    """
    runs = case.runs
    if any(run.leads is None for run in runs):
        raise SystemExit(f"error: {case.case}: its leads were not measured again")
    believed_s = [run.estimated_s or math.nan for run in runs]
    finals_s = [(run.final.latency_s if run.final else None) or math.nan for run in runs]
    optimism = [final_s / seen_s for final_s, seen_s in zip(finals_s, believed_s, strict=True)]
    leads_s = math.fsum({run.seed: run.leads_s for run in runs}.values())
    return [
        case.case,
        f"{len(runs)} x {runs[0].budget_trials}",
        f"{_scatter(believed_s):.1%}",
        f"{_scatter(finals_s):.1%}",
        f"{statistics.geometric_mean(optimism):.2f} ({min(optimism):.2f} to {max(optimism):.2f})",
        f"{sum(len(run.leads or ()) for run in runs) / len(runs):.1f}",
        f"{leads_s / math.fsum(run.search_s for run in runs):.0%}",
    ]


def _scatter(values: Sequence[float]) -> float:
    return statistics.stdev(map(math.log, values))


if __name__ == "__main__":
    main()
