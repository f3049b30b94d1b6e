"""Do measurement policies change which schedule wins? The same candidates, measured every way.

    python benchmarks/racing.py [--case ID,ID] [--trials 64] [--passes 3] [--json FILE]

A search with the stock strategy proposes the candidates, in rounds of 16. Then all of them are
measured again in the order of the search, pass by pass, by all policies in turn: fixed, racing and
paired. Each pass of each policy crowns a winner, once by its latencies alone and once by a last
check of its fastest few. All winners and the ten fastest are then measured side by side in slices,
from several sets of processes: that is taken for the truth. A policy's *regret* is how much slower
the schedule it crowned truly is than the best of them. How far its latency of the winner is off the
winner's true latency, over that of the first candidate, is its *exaggeration*.

With --json, cases that the file has with as many trials and passes are not measured again.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from notebook import Notebook
from searched import searched
from tabulate import tabulate

from pytest_ansorbench import workloads
from pytest_ansorbench.measure.local.engine import LocalEngine, local_engine
from pytest_ansorbench.measure.outcomes import Built
from pytest_ansorbench.measure.policy import (
    FixedMeasurement,
    Measurement,
    PairedMeasurement,
    RacingMeasurement,
)
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.records import Remeasurement
from pytest_ansorbench.search.last_check import crowned
from pytest_ansorbench.stats.paired_ratio import NeighbourRatios
from pytest_ansorbench.strategies import LastCheck, StockEvolution, Strategy

CASES = (
    "conv2d-n1-h14-w14-ci256-co256-k3-s1-p1,matmul-b1-m512-n512-k512,"
    "depthwise-conv2d-n1-h14-w14-c512-k3-s1-p1,conv1d-n1-l64-ci256-co256-k5-s1-p2"
)
POLICIES: Mapping[str, Measurement] = {
    "fixed": FixedMeasurement(),
    "racing": RacingMeasurement(),
    "paired": PairedMeasurement(),
}
CHECK = LastCheck()
TRUTH = SideBySide(precision=0.004, turns=Span(10, 30), sets=Span(3, 5), most_s=45.0)
ROUND_TRIALS = 16
FASTEST = 10


@dataclass
class Listening:
    """The stock proposer, and the kernels of all that it proposed."""

    heard: list[Program] = field(default_factory=list)

    def start(self, setup: Any) -> Any:
        """As stock, overheard."""
        proposer: Any = StockEvolution().start(setup)
        propose = proposer.propose

        def overheard(trials: int) -> Any:
            candidates = propose(trials)
            self.heard += [Program.kernel(one.mod, one.args_info) for one in candidates or ()]
            return candidates

        proposer.propose = overheard
        return proposer


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--case", default=CASES, help="ids, separated by commas")
    parser.add_argument("--trials", type=int, default=64, help="candidates (default: 64)")
    parser.add_argument("--passes", type=int, default=3, help="passes a policy (default: 3)")
    parser.add_argument("--json", type=Path, help="keep what is measured here, and go on there")
    given = parser.parse_args()
    notebook = Notebook(given.json)
    pieces = []
    for case in given.case.split(","):
        measure = partial(measure_case, case, given.trials, given.passes)
        key = {"case": case, "trials": given.trials, "turns": given.passes}
        pieces.append(notebook.fill(measure, **key))
    print(report(pieces))


def measure_case(case_id: str, trials: int, passes: int) -> dict[str, Any]:
    """All passes over one case's candidates, and the truth about the best of them.

    Returns:
        JSON values: passes by policy, and slices of the finalists by index of the candidate.
    """
    case, listening = workloads.get(case_id), Listening()
    [task] = case.tasks()
    stock = Strategy("listening", proposer=listening, measurement=RacingMeasurement())
    with local_engine(None, EngineSettings()) as engine:
        searched(case, [task], stock, engine, trials, min(trials, ROUND_TRIALS))
        kernels = listening.heard[:trials]
        measured: dict[str, list[dict[str, Any]]] = {name: [] for name in POLICIES}
        for turn in range(passes):
            for name in list(POLICIES)[:: 1 if turn % 2 else -1]:
                one = measure_all(engine, task, kernels, POLICIES[name])
                measured[name].append({**one, **check(engine, task, kernels, one)})
        every_pass = [one for of_policy in measured.values() for one in of_policy]
        finalists = sorted(
            {
                *fastest([one["latencies_s"] for one in measured["fixed"]]),
                *(one[key] for one in every_pass for key in ("winner", "checked_winner", "first")),
            }
            - {-1}
        )
        finals = engine.measure_side_by_side([kernels[i] for i in finalists], task.check, TRUTH)
    truth = {
        str(i): {"latencies_s": final.latencies_s, "sets": final.sets}
        for i, final in zip(finalists, finals, strict=True)
        if final.status == "ok"
    }
    return {"passes": measured, "truth": truth}


def fastest(passes: Sequence[Sequence[float]]) -> list[int]:
    """Places of the ten least latencies, by their medians over the passes."""
    typical = [statistics.median(latencies_s) for latencies_s in zip(*passes, strict=True)]
    return sorted(range(len(typical)), key=typical.__getitem__)[:FASTEST]


def measure_all(
    engine: LocalEngine, task: Any, kernels: Sequence[Program], policy: Measurement
) -> dict[str, Any]:
    """One pass: every candidate once, in order, and which would have won; `first` is valid."""
    latencies_s: list[float] = []
    run_s = 0.0
    best_s: float | None = None
    incumbent: Built | None = None
    winner = first = -1
    for start in range(0, len(kernels), ROUND_TRIALS):
        built = engine.build(kernels[start : start + ROUND_TRIALS], task.check)
        for offset, program in enumerate(built):
            outcome = engine.run(program, policy, best_s=best_s, incumbent=incumbent)
            run_s += outcome.run_s
            latency_s = statistics.median(outcome.latencies_s) if outcome.latencies_s else 1e10
            latencies_s.append(latency_s)
            if outcome.status == "ok" and (best_s is None or latency_s < best_s):
                best_s, winner = latency_s, start + offset
                first = winner if first < 0 else first
                if incumbent is not None:
                    engine.discard(incumbent)
                incumbent = outcome.kept
    if incumbent is not None:
        engine.discard(incumbent)
    return {"latencies_s": latencies_s, "run_s": run_s, "winner": winner, "first": first}


def check(
    engine: LocalEngine, task: Any, kernels: Sequence[Program], one: Mapping[str, Any]
) -> dict[str, Any]:
    """The last check of a pass: who wins then, and the seconds it took, builds included."""
    latencies_s = one["latencies_s"]
    ranked = sorted(range(len(kernels)), key=latencies_s.__getitem__)
    limit_s = (1.0 + CHECK.within) * latencies_s[ranked[0]]
    rivals = [i for i in ranked[: CHECK.top] if latencies_s[i] <= limit_s]
    if len(rivals) < 2:
        return {"checked_winner": one["winner"], "check_s": 0.0}
    started_s = time.perf_counter()
    outcomes = engine.measure_side_by_side([kernels[i] for i in rivals], task.check, CHECK.effort)
    winner = crowned([replace(one, trial=i) for i, one in zip(rivals, outcomes, strict=True)])
    return {"checked_winner": winner, "check_s": time.perf_counter() - started_s}


def report(pieces: Sequence[Mapping[str, Any]]) -> str:
    """A row per case, policy, and with or without a last check."""
    rows = []
    for piece in pieces:
        truth = {
            int(i): Remeasurement(int(i), "ok", tuple(one["latencies_s"]), sets=tuple(one["sets"]))
            for i, one in piece["truth"].items()
        }
        for name, passes in piece["passes"].items():
            for key, extra in (("winner", ""), ("checked_winner", " + last check")):
                valid = [one for one in passes if one[key] in truth]
                if valid:
                    rows.append([piece["case"], name + extra, *_row(valid, key, truth)])
    headings = ("case", "policy", "run (s/trial)", "different winners", "mean regret")
    headings += ("worst regret", "exaggeration")
    table: str = tabulate(rows, headings, disable_numparse=True)
    return table


def _row(
    passes: Sequence[Mapping[str, Any]], key: str, truth: Mapping[int, Remeasurement]
) -> list[str]:
    reference = next(iter(truth.values()))
    logs = {i: _log_ratio(one, reference) for i, one in truth.items()}
    best = min(logs.values())
    regrets = [math.exp(logs[one[key]] - best) - 1 for one in passes]
    checked = key == "checked_winner"
    trials = len(passes[0]["latencies_s"])
    seconds = [(one["run_s"] + checked * one["check_s"]) / trials for one in passes]
    exaggerated = [
        logs[one[key]]
        - logs[one["first"]]
        - math.log(one["latencies_s"][one[key]] / one["latencies_s"][one["first"]])
        for one in passes
        if one["first"] in logs
    ]
    return [
        f"{statistics.fmean(seconds):.3f}",
        str(len({one[key] for one in passes})),
        f"{statistics.fmean(regrets):.1%}",
        f"{max(regrets):.1%}",
        f"{math.expm1(statistics.fmean(exaggerated)):+.1%}" if exaggerated else "",
    ]


def _log_ratio(one: Remeasurement, reference: Remeasurement) -> float:
    ratios = NeighbourRatios.of(one, reference)
    assert ratios is not None
    return ratios.log_ratio


if __name__ == "__main__":
    main()
