"""Made-up runs and results, in a line or two each."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pytest_ansorbench.records import (
    SCHEMA_VERSION,
    Bandwidth,
    CaseResult,
    Implementation,
    MachineNoise,
    MachinePeak,
    Moment,
    NoiseTrace,
    Peer,
    ReferenceKernel,
    Remeasurement,
    Result,
    Round,
    Run,
    SuiteVerdict,
    TaskRecord,
    Trial,
    TrialStatus,
    Yardsticks,
)
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.judging import JudgedResult, judge_arms
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.storage import fingerprint

FLOPS = 10**9
CRITERIA = Criteria()
LIMITS = Limits({"search_ratio": 0.75, "throughput_ratio": 0.98})
MACHINE = {"cpu": "made up", "physical_cores": None}


def make_run(
    case: str = "conv2d",
    strategy: str = "default",
    seed: int = 0,
    latencies: Sequence[float | None] = (4.0, 3.0, 2.0, 1.0),
    seconds_per_trial: float = 1.0,
    final: float | None = None,
    *,
    round_trials: int = 2,
    decisions: Mapping[str, Any] | None = None,
    stopped: str = "",
) -> Run:
    """Build a run from the latencies of its trials in seconds; None is a failed trial.

    Every trial takes `seconds_per_trial`: half of it propose, a quarter build, an eighth each
    run and learn, so that with powers of two all sums are exact. `final` is the latency of the
    re-measured winner, None for a run without one.
    """
    rounds = []
    for start in range(0, len(latencies), round_trials):
        seconds = len(latencies[start : start + round_trials]) * seconds_per_trial
        rounds.append(
            Round(
                index=len(rounds) + 1,
                propose_s=seconds / 2,
                build_s=seconds / 4,
                run_s=seconds / 8,
                learn_s=seconds / 8,
                decisions=decisions or {},
            )
        )
    trials = tuple(
        Trial(
            round=index // round_trials + 1,
            index=index,
            status="run-error" if latency is None else "ok",
            latencies_s=() if latency is None else (latency,),
            sketch=0,
            search_s=(index + 1) * seconds_per_trial,
            error="boom" if latency is None else "",
        )
        for index, latency in enumerate(latencies)
    )
    valid = [trial for trial in trials if trial.status == "ok"]
    winner = min(valid, key=lambda trial: trial.latencies_s).index if valid else None
    return Run(
        case=case,
        strategy=strategy,
        seed=seed,
        budget_trials=len(latencies),
        round_trials=round_trials,
        flops=FLOPS,
        tasks=(TaskRecord(case, 1, FLOPS, ("tiled",)),),
        rounds=tuple(rounds),
        trials=trials,
        final=None if final is None else Remeasurement(winner, "ok", (final,)),
        stopped=stopped,
        machine=fingerprint(MACHINE),
    )


def make_case_result(
    case: str = "conv2d",
    reference: Sequence[Run] | None = None,
    challengers: Mapping[str, Sequence[Run]] | None = None,
    *,
    limits: Limits | None = None,
    criteria: Criteria = CRITERIA,
    control: str | None = None,
    version: str = "1",
) -> CaseResult:
    """Build a case's result; without arguments a challenger in half the time at four seeds."""
    if reference is challengers is limits is control is None and criteria is CRITERIA:
        return _usual_case_result(case, version)
    if reference is None:
        reference = [make_run(case, seed=seed, final=1.0) for seed in range(4)]
    if challengers is None:
        half = [make_run(case, "fast", s, seconds_per_trial=0.5, final=1.0) for s in range(4)]
        challengers = {"fast": half}
    strategies = (reference[0].strategy, *challengers)
    runs = (*reference, *(run for runs in challengers.values() for run in runs))
    if limits is None:
        limits = LIMITS
    return CaseResult(
        case=case,
        strategies=strategies,
        runs=runs,
        verdicts=judge_arms(strategies, runs, criteria=criteria, limits=limits, control=control),
        version=version,
        control=control,
    )


@functools.cache
def _usual_case_result(case: str, version: str) -> CaseResult:
    """What most tests ask for, judged once."""
    return make_case_result(case, limits=LIMITS, version=version)


def named(result: CaseResult, case: str) -> CaseResult:
    """A judged result as that of another case: judging hundreds takes long."""
    verdicts = (replace(v, comparison=replace(v.comparison, case=case)) for v in result.verdicts)
    runs = tuple(replace(run, case=case) for run in result.runs)
    return replace(result, case=case, runs=runs, verdicts=tuple(verdicts))


def with_runs(result: CaseResult, **fields: Any) -> CaseResult:
    """The same case, its runs with other fields."""
    return replace(result, runs=tuple(replace(run, **fields) for run in result.runs))


def make_slices(trial: int, *sets: Sequence[float]) -> Remeasurement:
    """Build a program measured again slice by slice, given the latencies of each set."""
    latencies_s = tuple(latency_s for of_set in sets for latency_s in of_set)
    numbers = tuple(number for number, of_set in enumerate(sets) for _ in of_set)
    return Remeasurement(trial, "ok", latencies_s, "", numbers, tuple(range(len(numbers))))


PEAK = MachinePeak(
    "2026-01-01T00:00:00+00:00",
    100.0,
    (Bandwidth("L1", 10_000, 50.0), Bandwidth("memory", 1_000_000, 10.0)),
)


def make_peer(implementation: Implementation, final: float | None = None, error: str = "") -> Peer:
    """Build another library beside a run, given the latency of its only slice or why not."""
    latencies_s = () if final is None else (final,)
    status: TrialStatus = "build-error" if final is None else "ok"
    return Peer(implementation, "1.2", Remeasurement(None, status, latencies_s, error))


def make_yardsticks() -> Yardsticks:
    """Build what kernels are held against on the synthetic machine: its peak, and PyTorch."""
    kernel = ReferenceKernel("torch", "2.9", (1.9, 2.0, 2.4))
    return Yardsticks(fingerprint(MACHINE), 1_000, PEAK, (kernel,))


def held_against(**fields: Any) -> CaseResult:
    """Build the usual case's result with those yardsticks, given their fields that differ."""
    return replace(make_case_result(), yardsticks=(replace(make_yardsticks(), **fields),))


def make_trace(
    slices: int = 600,
    *,
    level_s: float = 1e-4,
    scatter: float = 0.0,
    memory_s: float = 0.0,
    noise: float = 0.0,
    seed: int = 0,
) -> NoiseTrace:
    """Build a trace of slices of 3 ms, as a first-order autoregressive process has them.

    `scatter` is the standard deviation of the logarithms that lasts `memory_s`, as far as its
    autocorrelation of 1/e; `noise` is that of every slice for itself.
    """
    rng = np.random.default_rng(seed)
    keeps = math.exp(-3e-3 / memory_s) if memory_s else 0.0
    state = rng.normal()
    logs = []
    for fresh, own in rng.normal(size=(slices, 2)):
        logs.append(scatter * state + noise * own)
        state = keeps * state + math.sqrt(1.0 - keeps**2) * fresh
    return NoiseTrace(
        slice_s=3e-3,
        elapsed_s=3e-3 * slices,
        latencies_s=tuple(level_s * math.exp(log) for log in logs),
        processes=tuple((0, 1, 1, 0)[place % 4] for place in range(slices)),
    )


def make_noise(moment: Moment = "start", *, machine: str = "", **trace: Any) -> MachineNoise:
    """Build what was seen of the noise of the made-up machine; `trace` is as for `make_trace`."""
    return MachineNoise(
        machine or fingerprint(MACHINE), moment, "2024-01-02T03:04:05+00:00", make_trace(**trace)
    )


def make_judged(
    *cases: CaseResult,
    suites: tuple[SuiteVerdict, ...] = (),
    noise: tuple[MachineNoise, ...] = (),
) -> JudgedResult:
    """Build a judged result."""
    return JudgedResult(cases, suites, CRITERIA, noise, {})


def make_result(*cases: CaseResult) -> Result:
    """Build a session's result."""
    return Result(
        schema_version=SCHEMA_VERSION,
        created="2024-01-02T03:04:05+00:00",
        machines={fingerprint(MACHINE): MACHINE},
        commit={"id": "unversioned", "dirty": False},
        settings={
            "trials": 4,
            "strategies": ["default", "fast"],
            "tolerance": 0.01,
            "confidence": 0.95,
        },
        cases=cases or (make_case_result(),),
    )
