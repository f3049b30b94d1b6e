"""Does racing change which schedule wins? The same candidates, measured both ways.

    python benchmarks/racing.py [--case ID,ID] [--trials 64] [--passes 4] [--json FILE]

A search with the stock strategy proposes the candidates, in rounds of 16. Then all of them are
measured again in the order of the search, pass by pass, fixed and racing in turn, so that each
pass of each policy crowns a winner. The winners of all passes and the ten fastest are measured once
more, fixed, side by side, 10 samples each: that is taken for the truth. A policy's *regret* is how
much slower the schedule it crowned truly is than the best of them.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tabulate import tabulate

from pytest_ansorbench import workloads
from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.measure.local.engine import LocalEngine
from pytest_ansorbench.measure.local.machine import describe_machine
from pytest_ansorbench.measure.policy import FixedMeasurement, RacingMeasurement
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.search import Search
from pytest_ansorbench.storage import describe_commit
from pytest_ansorbench.strategies import StockEvolution, Strategy

CASES = "conv2d-n1-h14-w14-ci256-co256-k3-s1-p1,matmul-b1-m512-n512-k512"
POLICIES = {"fixed": FixedMeasurement(), "racing": RacingMeasurement()}
ROUND_TRIALS = 16
FASTEST = 10


@dataclass
class Listening:
    """The stock proposer, and a list of all that it proposed."""

    heard: list[Any] = field(default_factory=list)

    def start(self, setup: Any) -> Any:
        """As stock, overheard."""
        return _Listening(StockEvolution().start(setup), self.heard)


@dataclass
class _Listening:
    inner: Any
    heard: list[Any]

    def propose(self, trials: int) -> Sequence[Any] | None:
        candidates = self.inner.propose(trials)
        self.heard += candidates or []
        return candidates

    def learn(self, batch: Sequence[Any]) -> None:
        self.inner.learn(batch)

    def recall(self, candidates: Sequence[Any]) -> None:
        self.inner.recall(candidates)

    def decisions(self) -> Mapping[str, Any]:
        return self.inner.decisions()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--case", default=CASES, help="ids, separated by commas")
    parser.add_argument("--trials", type=int, default=64, help="candidates (default: 64)")
    parser.add_argument("--passes", type=int, default=4, help="passes a policy (default: 4)")
    parser.add_argument("--json", type=Path, help="write everything measured here")
    given = parser.parse_args()
    commit = describe_commit(Path(__file__).parent)  # before anyone edits it
    target = resolve_target(None)
    register_intrinsics(target)
    with LocalEngine(target) as engine:
        cases = {
            case: measure_case(engine, case, given.trials, given.passes)
            for case in given.case.split(",")
        }
    print(report(cases))
    if given.json:
        record = {
            "machine": describe_machine(),
            "commit": commit,
            "cases": cases,
        }
        given.json.write_text(json.dumps(record) + "\n")


def measure_case(engine: LocalEngine, case: str, trials: int, passes: int) -> dict[str, Any]:
    """All passes over one case's candidates, and the truth about the best of them."""
    found = workloads.get(case)
    [task] = found.tasks()
    listening = Listening()
    search = Search(
        found,
        [task],
        Strategy("listening", proposer=listening),
        engine,
        seed=0,
        budget_trials=trials,
        round_trials=ROUND_TRIALS,
    )
    while not search.finished:
        search.step()
    candidates = listening.heard[:trials]
    measured: dict[str, list[dict[str, Any]]] = {name: [] for name in POLICIES}
    for turn in range(passes):
        for name in list(POLICIES)[:: 1 if turn % 2 else -1]:
            measured[name].append(measure_all(engine, task, candidates, POLICIES[name]))
    typical = [
        statistics.median(one["latencies_s"][i] for one in measured["fixed"])
        for i in range(len(candidates))
    ]
    fastest = sorted(range(len(candidates)), key=lambda i: typical[i])[:FASTEST]
    winners = {one["winner"] for name in POLICIES for one in measured[name]}
    finalists = sorted({*fastest, *winners})
    kernels = [kernel(candidates[i]) for i in finalists]
    finals = engine.measure_side_by_side(kernels, task.check, samples=10)
    truth_s = {
        i: statistics.median(final.latencies_s)
        for i, final in zip(finalists, finals, strict=True)
        if final.status == "ok"
    }
    return {"passes": measured, "truth_s": truth_s}


def measure_all(engine: LocalEngine, task: Any, candidates: Sequence[Any], policy: Any) -> Any:
    """One pass: every candidate once, in order, and which would have won."""
    latencies_s: list[float] = []
    run_s = 0.0
    best_s: float | None = None
    winner = -1
    for start in range(0, len(candidates), ROUND_TRIALS):
        batch = candidates[start : start + ROUND_TRIALS]
        built = engine.build([kernel(candidate) for candidate in batch], task.check)
        for offset, program in enumerate(built):
            outcome = engine.run(program, policy, best_s=best_s)
            run_s += outcome.run_s
            latency_s = statistics.median(outcome.latencies_s) if outcome.latencies_s else 1e10
            latencies_s.append(latency_s)
            if best_s is None or latency_s < best_s:
                best_s, winner = latency_s, start + offset
    return {"latencies_s": latencies_s, "run_s": run_s, "winner": winner}


def kernel(candidate: Any) -> Program:
    """A candidate as an engine takes it."""
    return Program.kernel(candidate.mod, candidate.args_info)


def report(cases: Mapping[str, Any]) -> str:
    """A row per case and policy."""
    rows = []
    for case, result in cases.items():
        truth_s = result["truth_s"]
        best_s = min(truth_s.values())
        for name, passes in result["passes"].items():
            regrets = [truth_s[one["winner"]] / best_s - 1 for one in passes]
            trials = len(passes[0]["latencies_s"])
            rows.append(
                [
                    case,
                    name,
                    f"{statistics.fmean(one['run_s'] / trials for one in passes):.3f}",
                    len({one["winner"] for one in passes}),
                    f"{statistics.fmean(regrets):.1%}",
                    f"{max(regrets):.1%}",
                ]
            )
    return tabulate(
        rows,
        ["case", "policy", "run (s/trial)", "different winners", "mean regret", "worst regret"],
        disable_numparse=True,
    )


if __name__ == "__main__":
    main()
