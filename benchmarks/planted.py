"""Planted faults have to be caught and planted twins must not be: real searches, real gates.

    python benchmarks/planted.py [--only PART] [--resume]

Two benches of a small convolution, 48 trials a run, with the repeats that sessions have by
default: five, and up to ten more while a gate may yet be broken; 19 minutes on 2 cores. The
first holds three challengers against `default`: one that sleeps 5 s before each round, one whose
design space has no parallel loops, and `default` itself under another name. The second holds
`optimized` with the same sleep against `optimized`. Limits: S_early 1.0, throughput ratio 0.95.

Raw results go to docs/results/planted-{default,optimized}.json.gz, what was printed to
docs/results/planted.txt.
"""

from __future__ import annotations

import argparse
import sys
from typing import Final

from sessions import RESULTS, ROOT, bench

from pytest_ansorbench.report.build import result_report
from pytest_ansorbench.report.render.terminal import Terminal
from pytest_ansorbench.report.table import Layout
from pytest_ansorbench.stats.judging import judge_result
from pytest_ansorbench.storage import read_result

CASE: Final = "conv1d-n1-l128-ci128-co256-k1-s2-p0"
COLUMNS: Final = (
    "strategy",
    "search_time",
    "search_ratio",
    "search_ratio_early",
    "throughput_ratio",
    "verdict",
)
PARTS: Final = {
    "default": ("default,sleeping,serial,twin", {"sleeping": "broken", "serial": "broken"}),
    "optimized": ("optimized,optimized-sleeping", {"optimized-sleeping": "broken"}),
}
"""Strategies, and the verdicts that have to be reached; of all others it must not be broken."""


def main() -> int:
    """Run what is asked for, and print what all of it comes to.

    Returns:
        0 if every fault was caught and no twin was.
    """
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=PARTS, help="run one of the two benches")
    parser.add_argument("--resume", action="store_true", help="go on where it was interrupted")
    given = parser.parse_args()
    for part in [given.only] if given.only else PARTS:
        run(part, resume=given.resume)
    text, right = told()
    print(text)
    (RESULTS / "planted.txt").write_text(text + "\n", encoding="utf-8")
    return 0 if right else 1


def run(part: str, *, resume: bool) -> None:
    """One bench, in a process of its own."""
    strategies, _ = PARTS[part]
    bench(
        RESULTS / f"planted-{part}.json.gz",
        *(("--ansor-resume",) if resume else ()),
        plugin="planted_strategies",
        case=CASE,
        strategy=strategies,
        trials=48,
        round=12,
        max_early_search_ratio=1.0,
        min_throughput_ratio=0.95,
        storage=ROOT / ".ansor_bench" / f"planted-{part}",
    )


def told() -> tuple[str, bool]:
    """What the results say, and whether it is right."""
    parts, right = [], True
    for part, (_, wanted) in PARTS.items():
        path = RESULTS / f"planted-{part}.json.gz"
        judged = judge_result(read_result(path))
        report = result_report(judged, Layout(COLUMNS))
        parts += [f"$ ansor-bench show {path.name} --columns {','.join(COLUMNS)}", ""]
        parts += [Terminal().render(report), ""]
        for verdict in judged.cases[0].verdicts:
            name = verdict.comparison.challenger.strategy
            as_wanted = (verdict.outcome == "broken") == (name in wanted)
            right &= as_wanted
            word = "planted" if name in wanted else "a twin"
            told_right = "as it should be" if as_wanted else "WRONG"
            parts.append(f"{name}, {word}: {verdict.outcome}, {told_right}")
        parts.append("")
    return "\n".join(parts).rstrip(), right


if __name__ == "__main__":
    sys.exit(main())
