"""What the README's first command says when it is run again and again.

    python benchmarks/first_command.py [--runs 10] [--only report]

Runs the command of `tox -e bench` N times in this environment and keeps each result in
docs/results/first-command; a result that is there is not made again. Eight minutes a run on 2
cores, which have to be idle.
"""

from __future__ import annotations

import argparse
import re
import shlex
import time
from configparser import ConfigParser
from pathlib import Path
from typing import Final

from sessions import RESULTS, ROOT, bench
from tabulate import tabulate

from pytest_ansorbench.records import Verdict
from pytest_ansorbench.report import Terminal, result_report
from pytest_ansorbench.report.wording import estimate_text
from pytest_ansorbench.stats.judging import judge_result
from pytest_ansorbench.storage import read_result

INTO: Final = RESULTS / "first-command"
HEADS: Final = (
    *("run", "minutes", "strategy", "arrive"),
    *("S", "S_early", "throughput ratio", "verdict"),
)


def main() -> None:
    """Run what is missing, then print what all of it comes to."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=10, help="how many there are to be")
    parser.add_argument("--only", choices=("report",), help="report on what there is")
    given = parser.parse_args()
    for number in range(1, given.runs + 1):
        output = INTO / f"{number:02}.json.gz"
        if not given.only and not output.exists():
            run(output)
    print(report())


def run(output: Path) -> None:
    """One session, and beside its result the minutes that it took and its exit code."""
    tox = ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    line = tox["testenv:bench"]["commands"].replace("\\\n", " ").replace("{posargs}", "")
    _, _, tests, *words = shlex.split(line)
    started_s = time.monotonic()
    storage = ROOT / ".ansor_bench" / "first-command"
    code = bench(output, *words, tests=tests, storage=storage)
    minutes = (time.monotonic() - started_s) / 60.0
    with (INTO / "minutes.txt").open("a", encoding="utf-8") as notes:
        notes.write(f"{output.name} {minutes:.1f} minutes, exit code {code}\n")


def report() -> str:
    """A row for each challenger of each run, and the sentence on it."""
    notes = dict(re.findall(r"^(\S+) (.*)$", (INTO / "minutes.txt").read_text(), re.M))
    rows, sentences = [], []
    for path in sorted(INTO.glob("*.json.gz")):
        judged = judge_result(read_result(path))
        [case] = judged.cases
        for verdict in case.verdicts:
            arm = verdict.comparison.challenger
            minutes = notes[path.name].split()[0]
            arrived = f"{arm.reached} of {arm.runs}"
            rows.append([path.name[:2], minutes, arm.strategy, arrived, *_told(verdict)])
        text = Terminal().render(result_report(judged))
        sentences += [f"{path.name[:2]}: {line}" for line in text.split("\n\n")[0].split("\n")]
    return "\n".join([tabulate(rows, HEADS, disable_numparse=True), "", *sentences])


def _told(verdict: Verdict) -> list[str]:
    found = verdict.comparison
    ratios = (found.search_ratio, found.search_ratio_early, found.throughput_ratio)
    return [*map(estimate_text, ratios), verdict.outcome or "-"]


if __name__ == "__main__":
    main()
