"""How often the newcomer's run ends in a verdict: its repeats, drawn from a longer recording.

    python benchmarks/newcomer.py docs/results/newcomer.json.gz [--draws 200] [--json FILE]

`tox -e bench` runs two operators, 15 trials a run, and judges the suite of them. The recording has
the same searches with more repeats. Each draw takes as many repeats of it as `tox -e bench` has,
without replacement, and judges them by its limits. No TVM, a minute.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from pytest_ansorbench.records import Result
from pytest_ansorbench.stats.judging import judge_result
from pytest_ansorbench.stats.looks import Looks
from pytest_ansorbench.storage import read_result, result_name

LOOKS = Looks(3, 6)
LIMIT = 0.85
"""Of the suite's S, as in tox.ini."""


def main() -> None:
    """Draw, judge and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("result", type=Path, help="the recording")
    parser.add_argument("--draws", type=int, default=200, help="sessions drawn (default: 200)")
    parser.add_argument(
        "--repeats", type=Looks.parse, default=LOOKS, help="as --ansor-repeats (default: auto:6)"
    )
    parser.add_argument("--json", type=Path, help="write the shares here")
    given = parser.parse_args()
    result, rng = read_result(given.result), np.random.default_rng(0)
    suites = [suite_of(result, given.repeats, rng) for _ in range(given.draws)]
    outcomes = Counter(outcome for _, outcome, _ in suites)
    spent = sum(repeats for _, _, repeats in suites) / given.draws
    shares = {outcome: count / given.draws for outcome, count in outcomes.items()}
    gates = Counter(gate for of_suite, _, _ in suites for gate in of_suite)
    found = {
        "repeats": str(given.repeats),
        "draws": given.draws,
        "suite": shares,
        "gates": dict(gates),
        "mean repeats": spent,
    }
    print(
        f"{result_name(given.result)}, {given.repeats} repeats of {len(result.cases)} cases, "
        f"{given.draws} draws"
    )
    for outcome, share in sorted(shares.items()):
        print(f"  the suite {outcome if outcome == 'holds' else f'is {outcome}'}: {share:.1%}")
    print(f"  mean number of repeats: {spent:.1f}")
    for gate, count in sorted(gates.items()):
        print(f"  {gate}: {count / given.draws:.1%}")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def suite_of(result: Result, looks: Looks, rng: np.random.Generator) -> tuple[list[str], str, int]:
    """The suite's gates, its verdict, and the repeats that they take, on some repeats of each."""
    cases = []
    for case in result.cases:
        seeds = sorted({run.seed for run in case.runs})
        kept = set(rng.choice(seeds, size=looks.most, replace=False).tolist())
        cases.append(replace(case, runs=tuple(run for run in case.runs if run.seed in kept)))
    settings = {
        **result.settings,
        "repeats": str(looks),
        "max_suite_search_ratio": LIMIT,
        "min_suite_throughput_ratio": None,
    }
    suite = judge_result(replace(result, cases=tuple(cases), settings=settings)).suites[0]
    gates = [f"{gate.metric} {gate.outcome} ({gate.reason})" for gate in suite.gates]
    return gates, str(suite.outcome), max(gate.repeats for gate in suite.gates)


if __name__ == "__main__":
    main()
