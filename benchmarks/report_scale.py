"""What a large report costs: 1,000 runs of 1,000 trials, read and tabulated.

    python benchmarks/report_scale.py [--runs 1000] [--trials 1000] [--json FILE]

Writes such a result, then has a fresh process read it, judge every case anew and print its table,
as `ansor-bench show` does. The alternative is `json.loads` of the same file: no tool that reads
JSON does less. Bars: 6 s and 1 GB. Beside it, one case of 4 arms and 20 repeats is judged; bar:
0.3 s.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pytest_ansorbench.records import (
    SCHEMA_VERSION,
    CaseResult,
    Remeasurement,
    Result,
    Round,
    Run,
    TaskRecord,
    Trial,
)
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.judging import judge_arms
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.storage import fingerprint, write_result

MACHINE = {"cpu": "made up"}
SEEDS = 10
ROUND = 64

MEASURED = """
import resource, sys, time
started = time.perf_counter()
{work}
print(time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
SHOW = (
    "from pytest_ansorbench.cli import main\n"
    "import contextlib, io\n"
    "with contextlib.redirect_stdout(io.StringIO()) as table:\n"
    "    assert main(['show', sys.argv[1]]) == 0\n"
    "assert 'all cases' in table.getvalue()\n"
)
PARSE = "import json, pathlib\njson.loads(pathlib.Path(sys.argv[1]).read_text())\n"


def main() -> None:
    """Write, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=1000, help="runs in all (default: 1000)")
    parser.add_argument("--trials", type=int, default=1000, help="of each run (default: 1000)")
    parser.add_argument("--json", type=Path, help="write the figures here")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.json"
        started = time.perf_counter()
        write_result(large_result(given.runs, given.trials), path)
        found = {
            "runs": given.runs,
            "trials": given.trials,
            "file_mb": path.stat().st_size / 1e6,
            "write_s": time.perf_counter() - started,
        }
        for name, work in (("show", SHOW), ("json.loads", PARSE)):
            seconds, memory = measured(work, path)
            found |= {f"{name}_s": seconds, f"{name}_mb": memory}
    found["large_case_s"] = judging_s()
    print(f"{given.runs} runs of {given.trials} trials: {found['file_mb']:.0f} MB")
    print(
        f"read, judged, tabulated: {found['show_s']:.2f} s, {found['show_mb']:.0f} MB; "
        f"json.loads alone: {found['json.loads_s']:.2f} s, {found['json.loads_mb']:.0f} MB; "
        f"ratio {found['show_s'] / found['json.loads_s']:.2f} in time, "
        f"{found['show_mb'] / found['json.loads_mb']:.2f} in memory"
    )
    print(f"one case of 4 arms and 20 repeats judged: {found['large_case_s']:.2f} s")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def judging_s() -> float:
    """Seconds to judge one case of 4 arms and 20 repeats against two limits, the best of three."""
    arms = ("default", "one", "two", "three")
    case = large_case("case", 256, np.random.default_rng(0), arms, seeds=20)
    limits = Limits({"search_ratio": 0.9, "throughput_ratio": 0.98})
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        judge_arms(case.strategies, case.runs, criteria=Criteria(), limits=limits)
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def measured(work: str, path: Path) -> tuple[float, float]:
    """Seconds and peak megabytes of a fresh process, its start included in the memory only."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED.format(work=work), str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, memory = done.stdout.split()
    return float(seconds), float(memory)


def large_result(runs: int, trials: int) -> Result:
    """Cases of two strategies and ten seeds each, with figures as long as real ones."""
    rng = np.random.default_rng(0)
    cases = tuple(
        large_case(f"case-{number}", trials, rng) for number in range(runs // (2 * SEEDS))
    )
    return Result(
        schema_version=SCHEMA_VERSION,
        created="2024-01-02T03:04:05+00:00",
        machines={fingerprint(MACHINE): MACHINE},
        commit={"id": "unversioned"},
        settings={},
        cases=cases,
    )


def large_case(
    name: str,
    trials: int,
    rng: np.random.Generator,
    strategies: tuple[str, ...] = ("default", "fast"),
    seeds: int = SEEDS,
) -> CaseResult:
    """One case."""
    runs = tuple(
        large_run(name, strategy, seed, trials, rng)
        for strategy in strategies
        for seed in range(seeds)
    )
    return CaseResult(name, strategies, runs, ())


def large_run(case: str, strategy: str, seed: int, trials: int, rng: np.random.Generator) -> Run:
    """One run, slow at first, with a failure now and then."""
    latencies = 1e-3 * (1.0 + rng.pareto(2.0, trials))
    seconds = np.cumsum(rng.uniform(0.2, 0.6, trials))
    made = tuple(large_trials(latencies, seconds, rng))
    rounds = tuple(
        Round(index + 1, 4.2, 9.1, 7.3, 0.4, {"phase": "exploit"})
        for index in range(-(-trials // ROUND))
    )
    final = Remeasurement(int(latencies.argmin()), "ok", tuple(rng.normal(1e-3, 1e-5, 10)))
    task = TaskRecord(case, 1, 10**9, ("a" * 12,) * 3)
    return Run(
        case,
        strategy,
        seed,
        trials,
        ROUND,
        10**9,
        (task,),
        rounds,
        made,
        final,
        machine=fingerprint(MACHINE),
    )


def large_trials(
    latencies: np.ndarray, seconds: np.ndarray, rng: np.random.Generator
) -> Iterator[Trial]:
    """Trials with every field filled in."""
    for index, (latency, at) in enumerate(zip(latencies, seconds, strict=True)):
        ok = bool(rng.random() > 0.02) or latency == latencies.min()
        yield Trial(
            round=index // ROUND + 1,
            index=index,
            status="ok" if ok else "run-timeout",
            latencies_s=(float(latency),) if ok else (),
            sketch=index % 3,
            search_s=float(at),
            error="" if ok else "no result after 30 s",
            build_s=float(rng.uniform(0.1, 0.5)),
            run_s=float(rng.uniform(0.1, 0.2)),
            peak_memory_mb=float(rng.uniform(240.0, 260.0)),
        )


if __name__ == "__main__":
    main()
