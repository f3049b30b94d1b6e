"""What the table has no room for: phases, failures, and what the policies decided."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from statistics import median
from typing import Any, Final

from pytest_ansorbench.records import TRIAL_STATUSES, ArmSummary, CaseResult, Run
from pytest_ansorbench.report.gate_sentences import gate_sentence
from pytest_ansorbench.report.mutations import describe_mutations
from pytest_ansorbench.report.network import describe_network
from pytest_ansorbench.report.rows import case_rows
from pytest_ansorbench.report.text import printable
from pytest_ansorbench.report.wording import estimate_text
from pytest_ansorbench.stats.compare import case_race
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.distribution import milestones

_LONGEST_VALUE: Final = 60


def describe_case(result: CaseResult, criteria: Criteria) -> tuple[str, ...]:
    """Describe one case in lines, as `-v` shows them.

    Args:
        result: The case.
        criteria: What its figures were computed by.

    Returns:
        The case's id and target; then, indented, per arm its seconds per phase and trial, what
        its processes took, its failures by status, a network's tasks, what its mutation rules were
        good for, its gates and its way to the target; per run what went wrong and its policies'
        decisions, task by task, rounds of equal decisions together.
    """
    return tuple(printable(line) for line in _lines(result, criteria))


def _lines(result: CaseResult, criteria: Criteria) -> Iterator[str]:
    target = (
        f": target {result.verdicts[0].comparison.target_gflops:.4g} GFLOP/s"
        if result.verdicts
        else ""
    )
    yield f"{result.case}{target}"
    for row in case_rows(result):
        yield f"  {row.strategy}"
        if row.arm is None:
            yield "    no run"
            continue
        runs = result.runs_of(row.strategy)
        yield f"    {_phases(row.arm)}"
        yield from (f"    {line}" for line in _counters(runs))
        yield f"    {_failures(runs, row.arm)}"
        yield from (f"    {line}" for line in describe_network(runs))
        yield from (f"    {line}" for line in describe_mutations(runs))
        for gate in row.verdict.gates if row.verdict else ():
            yield f"    {gate_sentence(gate)}"
        if row.verdict is not None:
            yield from (f"    {line}" for line in _milestones(result, row.strategy, criteria))
        for run in sorted(runs, key=lambda run: run.seed):
            for line in _run_lines(run):
                yield f"    seed {run.seed}, {line}"


def _milestones(result: CaseResult, strategy: str, criteria: Criteria) -> Iterator[str]:
    """The way to the target: who is ahead early, who late."""
    race = case_race(result, strategy, criteria)
    runs = len(race.reference)
    for stone in milestones(race, criteria.confidence):
        challenger = _expected(stone.challenger_s, stone.challenger_reached, runs)
        reference = _expected(stone.reference_s, stone.reference_reached, runs)
        yield (
            f"to {100 * stone.share:g}% of the reference's gain, {stone.target_gflops:.4g} "
            f"GFLOP/s: {challenger} against {reference}, ratio {estimate_text(stone.ratio)}"
        )


def _expected(seconds: float, reached: int, runs: int) -> str:
    if not reached:
        return "never"
    return f"{seconds:.1f} s" if reached == runs else f"{seconds:.1f} s ({reached}/{runs})"


def _phases(arm: ArmSummary) -> str:
    runs = "1 run" if arm.runs == 1 else f"{arm.runs} runs"
    return (
        f"{arm.search_s:.2f} s a run over {runs}: propose {arm.propose_s:.2f}, "
        f"build {arm.build_s:.2f}, run {arm.run_s:.2f}, learn {arm.learn_s:.2f}"
    )


def _counters(runs: Sequence[Run]) -> Iterator[str]:
    trials = [trial for run in runs for trial in run.trials]
    build_s = [trial.build_s for trial in trials if trial.build_s is not None]
    run_s = [trial.run_s for trial in trials if trial.run_s]
    memory_mb = [trial.peak_memory_mb for trial in trials if trial.peak_memory_mb]
    if build_s and run_s:
        restarts = sum(each.restarts for run in runs for each in run.rounds)
        yield (
            f"a trial: {median(build_s):.3f} s to compile, {median(run_s):.3f} s to run, medians; "
            f"peak memory {max(memory_mb, default=0.0):.0f} MB; "
            f"{'1 restart' if restarts == 1 else f'{restarts} restarts'} of the fork server"
        )
    variations = [run.final.variation for run in runs if run.final is not None]
    known = [variation for variation in variations if variation is not None]
    if known:
        yield (
            f"samples of the final kernels vary by {100 * median(known):.1f}%, at most "
            f"{100 * max(known):.1f}% (standard deviation over mean)"
        )


def _failures(runs: Sequence[Run], arm: ArmSummary) -> str:
    if not arm.failed_trials:
        return f"no failures in {arm.trials} trials"
    counts = Counter[str](trial.status for run in runs for trial in run.trials)
    kinds = [f"{counts[s]} {s}" for s in TRIAL_STATUSES if s != "ok" and counts[s]]
    return f"{arm.failed_trials} failures in {arm.trials} trials: {', '.join(kinds)}"


def _run_lines(run: Run) -> Iterator[str]:
    if run.stopped:
        yield f"stopped after {len(run.trials)} of {run.budget_trials} trials: {run.stopped}"
    if run.final is not None and run.final.status != "ok":
        yield f"winner not measured again: {run.final.status} {run.final.error}".rstrip()
    for task in range(len(run.tasks)):
        name = f"task {task}, " if len(run.tasks) > 1 else ""
        rounds = [each for each in run.rounds if each.task == task]
        for decisions, same in groupby(rounds, key=lambda each: _decisions(each.decisions)):
            if decisions:
                yield f"{name}{_numbered([each.index for each in same])}: {decisions}"


def _numbered(rounds: Sequence[int]) -> str:
    """`round 4`, `rounds 1 to 3`, or `rounds 1, 7, 9`: a task of several has turns."""
    if len(rounds) == 1:
        return f"round {rounds[0]}"
    if rounds[-1] - rounds[0] == len(rounds) - 1:
        return f"rounds {rounds[0]} to {rounds[-1]}"
    return f"rounds {', '.join(map(str, rounds))}"


def _decisions(decisions: Mapping[str, Any]) -> str:
    # Mutation rules have lines of their own, for all rounds together.
    told = {key: value for key, value in decisions.items() if not key.endswith("_rules")}
    return ", ".join(f"{key}={_value(value)}" for key, value in told.items())


def _value(value: Any) -> str:
    compact = (",", ":")
    text = value if isinstance(value, str) else json.dumps(_rounded(value), separators=compact)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.3g}")
    if isinstance(value, Mapping):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    return value
