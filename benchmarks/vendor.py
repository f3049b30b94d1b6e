"""How far are the kernels of `draft` from those of PyTorch and from the machine's peak?

    pip install torch --index-url https://download.pytorch.org/whl/cpu
    python benchmarks/vendor.py [--case ID,ID] [--trials N] [--strategy NAME] [--into FOLDER]

Tunes each case with one run, `--ansor-reference-kernels torch,untuned` and `--ansor-roofline`, and
writes its result to the folder; a result that is there is not run again. Then one table of all of
them. Two to five minutes a case.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from commits import merged
from sessions import RESULTS, bench

from pytest_ansorbench.report import Layout, Terminal, result_report
from pytest_ansorbench.stats.judging import judge_result

CASES: Final = (
    "matmul-b1-m512-n512-k512",
    "matmul-b1-m128-n3072-k768",
    "conv2d-n1-h56-w56-ci64-co64-k3-s1-p1",
    "conv2d-n1-h14-w14-ci256-co256-k3-s1-p1",
    "conv1d-n1-l256-ci64-co128-k3-s2-p1",
    "conv1d-n1-l64-ci256-co256-k5-s1-p2",
)
COLUMNS: Final = (
    "case",
    "trials",
    "search_time",
    "throughput",
    "of_peak",
    "over_torch",
    "over_untuned",
)


def main() -> None:
    """Tune what has no result yet, then print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--case", default=",".join(CASES))
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--strategy", default="draft")
    parser.add_argument("--into", type=Path, default=RESULTS / "vendor")
    given = parser.parse_args()
    for case_id in given.case.split(","):
        path = given.into / f"{case_id}.json.gz"
        if not path.exists():
            bench(
                path,
                "--ansor-roofline",
                reference_kernels="torch,untuned",
                case=case_id,
                strategy=given.strategy,
                trials=given.trials,
                repeats=1,
                max_early_search_ratio="none",
                min_throughput_ratio="none",
            )
    print(table(given.into))


def table(folder: Path) -> str:
    """All results of a folder, with what each machine can do."""
    judged = judge_result(merged(folder.glob("*.json.gz")))
    shown = result_report(judged.cases, judged.criteria, Layout(COLUMNS), detailed=False)
    return Terminal().render(shown)


if __name__ == "__main__":
    main()
