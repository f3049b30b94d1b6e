"""How often the newcomer's run ends in a verdict: its repeats, drawn from a longer recording.

    python benchmarks/newcomer.py docs/results/newcomer.json [--draws 200] [--json FILE]

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
from pytest_ansorbench.stats.judge_result import judge_result
from pytest_ansorbench.storage import read_result


def main() -> None:
    """Draw, judge and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("result", type=Path, help="the recording")
    parser.add_argument("--draws", type=int, default=200, help="sessions drawn (default: 200)")
    parser.add_argument("--repeats", type=int, default=4, help="repeats of each (default: 4)")
    parser.add_argument("--json", type=Path, help="write the shares here")
    given = parser.parse_args()
    result, rng = read_result(given.result), np.random.default_rng(0)
    suites = [suite_of(result, given.repeats, rng) for _ in range(given.draws)]
    outcomes = Counter(outcome for _, outcome in suites)
    shares = {outcome: count / given.draws for outcome, count in outcomes.items()}
    gates = Counter(gate for of_suite, _ in suites for gate in of_suite)
    found = {"repeats": given.repeats, "draws": given.draws, "suite": shares, "gates": dict(gates)}
    print(
        f"{given.result.stem}, {given.repeats} repeats of {len(result.cases)} cases, "
        f"{given.draws} draws"
    )
    for outcome, share in sorted(shares.items()):
        print(f"  the suite {outcome if outcome == 'holds' else f'is {outcome}'}: {share:.1%}")
    for gate, count in sorted(gates.items()):
        print(f"  {gate}: {count / given.draws:.1%}")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def suite_of(result: Result, repeats: int, rng: np.random.Generator) -> tuple[list[str], str]:
    """The suite's gates and verdict on some repeats of each case."""
    cases = []
    for case in result.cases:
        seeds = sorted({run.seed for run in case.runs})
        kept = set(rng.choice(seeds, size=repeats, replace=False).tolist())
        cases.append(replace(case, runs=tuple(run for run in case.runs if run.seed in kept)))
    judged = judge_result(replace(result, cases=tuple(cases)))
    suite = judged.suites[0]
    return [f"{g.metric} {g.outcome} ({g.reason})" for g in suite.gates], str(suite.outcome)


if __name__ == "__main__":
    main()
