"""The details of a case: phases, failures, gates, the way to the target, decisions, schedules."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING

from pytest_ansorbench.records import TRIAL_STATUSES, ArmSummary, CaseResult, Run
from pytest_ansorbench.report.columns import ArmRow, case_rows
from pytest_ansorbench.report.decisions import (
    decision_sentences,
    draft_sentences,
    mutation_sentences,
)
from pytest_ansorbench.report.gates import gate_sentence
from pytest_ansorbench.report.sections import Block, Code, Lines, Section
from pytest_ansorbench.report.tasks import network_blocks
from pytest_ansorbench.report.wording import (
    counted,
    estimate_text,
    percent_text,
    plain_text,
    throughput_text,
)
from pytest_ansorbench.report.yardsticks import yardstick_lines
from pytest_ansorbench.stats.distribution import Milestone, Ways

if TYPE_CHECKING:
    from pytest_ansorbench.winners import Script

_DEPTH = 2


def case_details(result: CaseResult, ways: Ways) -> Section:
    """Describe one case: its target, what its kernels are compared with, then arm by arm.

    `ways` are its milestones, as `stats.distribution.case_ways` has them.
    """
    targets = (verdict.comparison.target_gflops for verdict in result.verdicts[:1])
    lines = (
        *(f"target {plain_text(gflops)} GFLOP/s" for gflops in targets),
        *yardstick_lines(result),
    )
    arms = (block for row in case_rows(result) for block in _arm(result, row, ways))
    return Section("details", (Lines(lines, _DEPTH - 1), *arms), subject=result.case)


def _arm(result: CaseResult, row: ArmRow, ways: Ways) -> Iterator[Block]:
    yield Lines((row.strategy,), _DEPTH - 1)
    if row.arm is None:
        yield Lines(("no run",), _DEPTH)
        return
    runs = result.runs_of(row.strategy)
    measured = (*_counters(runs), *_last_checks(runs), *_leads(result, runs))
    yield Lines((_phases(row.arm), *measured, _failures(runs, row.arm)), _DEPTH)
    yield from network_blocks(runs, _DEPTH)
    yield Lines((*mutation_sentences(runs), *draft_sentences(runs)), _DEPTH)
    if row.verdict is not None:
        yield Lines.of(map(gate_sentence, row.verdict.gates), _DEPTH)
        way = tuple(_milestone(stone, len(runs)) for stone in ways[row.strategy])
        yield Lines(way, _DEPTH)
    yield Lines.of(
        (
            f"seed {run.seed}, {sentence}"
            for run in sorted(runs, key=lambda run: run.seed)
            for sentence in (*_troubles(run), *decision_sentences(run))
        ),
        _DEPTH,
    )


def _milestone(stone: Milestone, runs: int) -> str:
    """One target on the way to the last: who is ahead early, who late."""
    challenger = _expected(stone.challenger_s, stone.challenger_reached, runs)
    reference = _expected(stone.reference_s, stone.reference_reached, runs)
    return (
        f"to {percent_text(stone.share)} of the reference's gain, "
        f"{plain_text(stone.target_gflops)} GFLOP/s: {challenger} against {reference}, "
        f"S {estimate_text(stone.ratio)}"
    )


def _expected(seconds: float, reached: int, runs: int) -> str:
    if not reached:
        return "never"
    return f"{seconds:.1f} s" if reached == runs else f"{seconds:.1f} s ({reached}/{runs})"


def _phases(arm: ArmSummary) -> str:
    return (
        f"{arm.search_s:.2f} s a run over {counted(arm.runs, 'run')}: propose {arm.propose_s:.2f}, "
        f"build {arm.build_s:.2f}, run {arm.run_s:.2f}, learn {arm.learn_s:.2f}"
    )


def _counters(runs: Sequence[Run]) -> Iterator[str]:
    trials = [trial for run in runs for trial in run.trials]
    build_s = [trial.build_s for trial in trials if trial.build_s is not None]
    run_s = [trial.run_s for trial in trials if trial.run_s]
    memory_mb = max((trial.peak_memory_mb for trial in trials if trial.peak_memory_mb), default=0.0)
    if build_s and run_s:
        restarts = sum(round_.restarts for run in runs for round_ in run.rounds)
        yield (
            f"a trial: {median(build_s):.3f} s to compile, {median(run_s):.3f} s to run, medians; "
            f"peak memory {memory_mb:.0f} MB; {counted(restarts, 'restart')} of the fork server"
        )
    variations = [run.final.variation for run in runs if run.final is not None]
    known = [variation for variation in variations if variation is not None]
    if known:
        yield (
            f"samples of the final kernels vary by {median(known):.1%}, at most {max(known):.1%} "
            "(standard deviation over mean)"
        )


def _leads(result: CaseResult, runs: Sequence[Run]) -> Iterator[str]:
    """What it took to confirm progress."""
    leads = [len(run.leads) for run in runs if run.leads is not None]
    if not leads:
        return
    # All arms of a repeat share the seconds.
    spent_s = math.fsum({run.seed: run.leads_s for run in result.runs}.values())
    search_s = math.fsum(run.search_s for run in result.runs)
    yield (
        f"{counted(sum(leads), 'lead')} measured again; for all arms that took {spent_s:.1f} s, "
        f"{spent_s / search_s if search_s else 0.0:.0%} of the search time"
    )


def _last_checks(runs: Sequence[Run]) -> Iterator[str]:
    """How often a last check crowned another program than the one that the trials showed."""
    checks = [run.last_check for run in runs if run.last_check is not None]
    if not checks:
        return
    ranked = [ranking for check in checks for ranking in check.tasks]
    others = sum(
        ranking.crowned != first.trial for ranking in ranked for first in ranking.compared[:1]
    )
    check_s = math.fsum(check.check_s for check in checks) / len(checks)
    yield (
        f"last check: {check_s:.2f} s a run, which count; another winner than by the trials in "
        f"{others}/{len(ranked)} of its rankings"
    )


def _failures(runs: Sequence[Run], arm: ArmSummary) -> str:
    if not arm.failed_trials:
        return f"no failures in {counted(arm.trials, 'trial')}"
    counts = Counter[str](trial.status for run in runs for trial in run.trials)
    statuses = ", ".join(
        f"{counts[status]} {status}"
        for status in TRIAL_STATUSES
        if status != "ok" and counts[status]
    )
    failures, trials = counted(arm.failed_trials, "failure"), counted(arm.trials, "trial")
    return f"{failures} in {trials}: {statuses}"


def _troubles(run: Run) -> Iterator[str]:
    if run.stopped:
        spent = f"{len(run.trials)} of {run.budget_trials} trials"
        if run.run_time_s is not None:
            spent = f"{plain_text(run.search_s, '.3g')} of {run.run_time_s:g} s"
        yield f"stopped after {spent}: {run.stopped}"
    if run.final is not None and run.final.status != "ok":
        why = f"{run.final.status} {run.final.error}".rstrip()
        yield f"winner not measured again: {why}"


def schedules(case: str, scripts: Sequence[Script]) -> Section:
    """The fastest kernels of a case, to be read and copied: of each its trace and its program."""
    own = [script for script in scripts if script.winner.case == case]
    blocks = (block for script in own for block in _script(script))
    return Section("schedules", tuple(blocks), subject=case)


def _script(script: Script) -> Iterator[Block]:
    winner = script.winner
    task = f", task {winner.task.name}" if winner.tasks > 1 else ""
    yield Lines(
        (
            f"{winner.strategy}{task}: {throughput_text(winner.gflops)} GFLOP/s, "
            f"{plain_text(1e3 * winner.latency_s)} ms, found with seed {winner.seed}",
        )
    )
    yield Code("schedule, as calls of tvm.s_tir.Schedule", script.trace, "python")
    yield Code("scheduled program", script.program, "python")
