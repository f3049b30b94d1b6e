"""How much of a session does a recorded reference save, and does the verdict stay the same?

    python benchmarks/reference.py [--case ID] [--arms NAME,NAME] [--trials N] [--repeats N]
                                   [--into FOLDER] [--only report]

Runs a whole session, then one of the challenger alone that uses the first one's runs of the
reference again (`--ansor-reference`), and compares their seconds and their verdicts. Results are
kept in docs/results/reference/; what is there is not run again.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

from sessions import RESULTS, bench
from tabulate import tabulate

from pytest_ansorbench.records import Gate, Result
from pytest_ansorbench.report.wording import estimate_text
from pytest_ansorbench.stats.judging import judge_result
from pytest_ansorbench.stats.recorded import Pace
from pytest_ansorbench.storage import read_result, result_name


def main() -> None:
    """Run what is missing, then report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--case", default="conv2d-n1-h224-w224-ci3-co64-k7-s2-p3")
    parser.add_argument("--arms", default="default,draft")
    parser.add_argument("--trials", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--into", type=Path, default=RESULTS / "reference")
    parser.add_argument("--only", choices=("report",))
    given = parser.parse_args()
    if not given.only:
        full = given.into / "full.json.gz"
        run(given, full)
        run(given, given.into / "again.json.gz", reference=full)
    print(report(given.into))


def run(given: argparse.Namespace, output: Path, **more: object) -> None:
    """One session; a broken gate is an outcome."""
    if output.exists():
        return
    started_s = time.monotonic()
    bench(
        output,
        case=given.case,
        strategy=given.arms,
        trials=given.trials,
        round=16,
        repeats=given.repeats,
        max_early_search_ratio=0.9,
        min_throughput_ratio=0.8,
        **more,
    )
    output.with_name(f"{result_name(output)}.seconds").write_text(
        f"{time.monotonic() - started_s:.0f}\n"
    )


def report(folder: Path) -> str:
    """Both sessions in a row each; between them the first one, had its reference been recorded.

    The challenger's runs are others in each session, and so is their luck. What the reuse itself
    does to a verdict is told by the same runs, judged with the second session's first rounds.
    """
    full, again = (read_result(folder / f"{name}.json.gz") for name in ("full", "again"))
    seconds = [float((folder / f"{name}.seconds").read_text()) for name in ("full", "again")]
    rows = [
        _row("full", full, seconds[0], seconds[0]),
        _row("the same runs, reference recorded", _as_recorded(full, again), None, seconds[0]),
        _row("challenger alone", again, seconds[1], seconds[0]),
    ]
    ratios = ("S", "S_trials", "throughput ratio")
    headings = ("session", "seconds", "of full", "pace", *ratios, "gates")
    return tabulate(rows, headings, disable_numparse=True)


def _as_recorded(full: Result, again: Result) -> Result:
    """The first session with what the second one saw of its reference's pace."""
    [case], [later] = full.cases, again.cases
    seen = {run.seed: run.recorded for run in later.runs_of(case.strategies[0])}
    runs = tuple(
        replace(run, recorded=seen[run.seed]) if run.strategy == case.strategies[0] else run
        for run in case.runs
    )
    return replace(full, cases=(replace(case, runs=runs),))


def _row(name: str, result: Result, seconds: float | None, of_s: float) -> list[str]:
    [case] = judge_result(result).cases
    [verdict] = case.verdicts
    pace = Pace.of(case.runs_of(case.strategies[0]))
    return [
        name,
        "" if seconds is None else f"{seconds:.0f}",
        "" if seconds is None else f"{seconds / of_s:.2f}",
        f"{pace.ratio:.2f} +- {pace.error:.0%}",
        estimate_text(verdict.comparison.search_ratio),
        estimate_text(verdict.comparison.search_ratio_trials),
        estimate_text(verdict.comparison.throughput_ratio),
        ", ".join(map(_gate, verdict.gates)),
    ]


def _gate(gate: Gate) -> str:
    return f"{gate.metric} {gate.limit}: {gate.outcome}"


if __name__ == "__main__":
    main()
