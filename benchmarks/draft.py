"""Is `draft` faster than `default`, over the operators, and which of its parts make it so?

    python benchmarks/draft.py [--case ID,ID] [--arms NAME,NAME] [--repeats N] [--trials N]
                               [--round N] [--caches warm|network] [--into FOLDER]
                               [--reference FOLDER] [--tests PATH]
                               [--reference-kernels untuned,...] [--across-commits]

One bench for each repeat of each case, with a journal and a result of its own in
docs/results/draft/, so that the experiment can be run in pieces: a result that is there is not run
again. Then all results in the folder are merged and judged over the suite. Arms are those of the
package and those of `draft_ablations.py`. With --reference, the reference's runs of earlier results
stand in for new ones, where there are some. Without --case, the first shape of each family of
operators but capsule; with 256 trials and 3 repeats that takes some hours on 2 cores. `--only
report` runs nothing, and reports on the seeds that --seed and --repeats name. Results of commits
between which code that searches or measures has changed are refused, without --across-commits.
Networks:
`--case mobilenetv2-n1-s224 --trials 16/task --round 8 --into docs/results/draft-networks`.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean
from typing import Final

from commits import merged, merged_across_commits
from sessions import RESULTS, ROOT, bench, to_resume
from tabulate import tabulate

from pytest_ansorbench.records import Result
from pytest_ansorbench.report.build import result_report
from pytest_ansorbench.report.render.terminal import Terminal
from pytest_ansorbench.report.table import Layout
from pytest_ansorbench.stats.judging import judge_result
from pytest_ansorbench.stats.trajectory import Trajectory
from pytest_ansorbench.workloads import CAPSULE_CONV2D, OPERATORS

COLUMNS: Final = (
    "case",
    "strategy",
    "search_time",
    "propose",
    "search_ratio",
    "search_ratio_trials",
    "throughput_ratio",
    "verdict",
)
OF_EACH_FAMILY: Final = {
    type(case): case.id for case in reversed(OPERATORS) if case not in CAPSULE_CONV2D
}
"""The first shape of each family of operators but capsule."""
AFTER: Final = (1, 8, 16, 32, 64, 128, 256)
"""Trials after which searches are compared."""


def main() -> None:
    """Run what is missing, then report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--case", default=",".join(reversed(OF_EACH_FAMILY.values())))
    parser.add_argument("--arms", default="default,draft,draft+transfer")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0, help="of the first repeat (default: 0)")
    parser.add_argument("--trials", default="256", help="of a run, or e.g. 16/task of a network")
    parser.add_argument("--round", type=int, default=32)
    parser.add_argument(
        "--caches", choices=("warm", "network"), default="warm", help="how trials find them"
    )
    parser.add_argument("--into", type=Path, default=RESULTS / "draft")
    parser.add_argument(
        "--reference", type=Path, help="folder of results whose runs of the reference are used"
    )
    parser.add_argument("--tests", default="bench_cases", help="where cases are collected")
    parser.add_argument("--reference-kernels", help="baselines of kernels")
    parser.add_argument("--only", choices=("report",), help="report on what there is")
    parser.add_argument(
        "--across-commits", action="store_true", help="merge results of searches that differ"
    )
    given = parser.parse_args()
    if not given.only:
        for seed in range(given.seed, given.seed + given.repeats):
            for case in given.case.split(","):
                run(case, seed, given)
    seeds = range(given.seed, given.seed + given.repeats) if given.only else None
    print(report(given.into, seeds, merged_across_commits if given.across_commits else merged))


def run(case: str, seed: int, given: argparse.Namespace) -> None:
    """One bench, or the rest of one. Gates may break: the report says so."""
    output = given.into / f"{case}-{seed}.json.gz"
    if output.exists():
        return
    storage = ROOT / ".ansor_bench" / given.into.name / f"{case}-{seed}"
    options: dict[str, object] = {}
    if given.reference_kernels:
        options["reference_kernels"] = given.reference_kernels
    if given.reference is not None and (given.reference / output.name).exists():
        options["reference"] = given.reference / output.name
    bench(
        output,
        *to_resume(storage),
        tests=given.tests,
        plugin="draft_ablations",
        case=case,
        strategy=given.arms,
        trials=given.trials,
        round=given.round,
        caches=given.caches,
        repeats=1,
        seed=seed,
        max_early_search_ratio="none",
        min_throughput_ratio=0.97,
        storage=storage,
        **options,
    )


def report(
    folder: Path, seeds: Sequence[int] | None, merge: Callable[[Iterable[Path]], Result]
) -> str:
    """The results of a folder, or those of some seeds, held to the limits of this experiment."""
    names = ["*.json.gz"] if seeds is None else [f"*-{seed}.json.gz" for seed in seeds]
    found = merge(path for name in names for path in folder.glob(name))
    limits = {"max_suite_search_ratio": 0.2, "min_suite_throughput_ratio": 1.0}
    judged = judge_result(replace(found, settings={**found.settings, **limits}))
    shown = result_report(judged, Layout(COLUMNS), explained="fully")
    return f"{Terminal().render(shown)}\n{_way(found)}\n\n{_costs(found)}"


def _way(result: Result) -> str:
    """How far searches are after some trials, and how many seconds these took.

    The best program's throughput, by leads measured again, over that of the fastest winner of its
    repeat: repeats may come from different machines, or from another hour of one. Geometric means
    over the runs with a valid program.
    """
    ways: dict[str, dict[int, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for case in result.cases:
        known = [Trajectory.of(run) for run in case.runs]
        fastest_s = {
            seed: min(one.best_s for one in known if one.run.seed == seed)
            for seed in {one.run.seed for one in known}
        }
        for one in known:
            for count in (n for n in AFTER if n <= len(one.run.trials)):
                if math.isfinite(best_s := one.best_after(count)):
                    share = fastest_s[one.run.seed] / best_s
                    took_s = one.run.trials[count - 1].search_s
                    ways[one.run.strategy][count].append((share, took_s))
    counts = sorted({count for after in ways.values() for count in after})
    rows = [[arm, *(_cell(one.get(count, ())) for count in counts)] for arm, one in ways.items()]
    return tabulate(rows, ["after trials", *map(str, counts)], disable_numparse=True)


def _cell(reached: Sequence[tuple[float, float]]) -> str:
    if not reached:
        return ""
    share, took_s = map(geometric_mean, zip(*reached, strict=True))
    return f"{share:.2f} ({took_s:.3g} s)"


def _costs(result: Result) -> str:
    """What a trial takes, in milliseconds: seconds of all runs over their trials."""
    spent: dict[str, Counter[str]] = defaultdict(Counter)
    trials: Counter[str] = Counter()
    for run in (run for case in result.cases for run in case.runs):
        trials[run.strategy] += len(run.trials)
        phases = {
            "propose": sum(one.propose_s + one.learn_s for one in run.rounds),
            "compile": sum(one.build_s for one in run.rounds),
            "run": sum(one.run_s for one in run.rounds),
            "last check": run.last_check.check_s if run.last_check else 0.0,
            "all": run.search_s,
        }
        spent[run.strategy].update(phases)  # adds, as counts do
    rows = [
        [name, *(f"{1e3 * seconds / trials[name]:.0f}" for seconds in phases.values())]
        for name, phases in spent.items()
    ]
    return tabulate(rows, ["ms a trial", *next(iter(spent.values()))], disable_numparse=True)


if __name__ == "__main__":
    main()
