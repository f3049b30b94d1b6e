"""The details of a case: phases, failures, gates, the way to the target, decisions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from pytest_ansorbench.records import TRIAL_STATUSES, ArmSummary, CaseResult, Run
from pytest_ansorbench.report.cells import (
    Cell,
    Count,
    Counted,
    Decimals,
    Index,
    Memory,
    Part,
    Percentage,
    Ratio,
    Seconds,
    Significant,
    Text,
    Throughput,
)
from pytest_ansorbench.report.decisions import decision_sentences
from pytest_ansorbench.report.drafts import draft_sentences
from pytest_ansorbench.report.gates import gate_sentence
from pytest_ansorbench.report.mutations import mutation_sentences
from pytest_ansorbench.report.network import network_blocks
from pytest_ansorbench.report.rows import ArmRow, case_rows
from pytest_ansorbench.report.sections import Block, Lines, Section, Sentence
from pytest_ansorbench.report.yardsticks import yardstick_lines
from pytest_ansorbench.stats.distribution import Milestone, Ways

_DEPTH = 2


def case_details(result: CaseResult, ways: Ways) -> Section:
    """Describe one case.

    Args:
        result: The case.
        ways: Its milestones, as `stats.distribution.case_ways` has them.

    Returns:
        The case's id and target, and what its kernels are held against; then for each arm its
        seconds a phase and a trial, the memory of its processes, its failures by status, a
        network's tasks, its mutation rules or drafts, its gates and its way to the target; and for
        each run what went wrong and the decisions of its policies.
    """
    blocks = [Lines((_heading(result),)), Lines(yardstick_lines(result), _DEPTH - 1)]
    arms = (block for row in case_rows(result) for block in _arm(result, row, ways))
    return Section("details", (*blocks, *arms), subject=result.case)


def _heading(result: CaseResult) -> Sentence:
    if not result.verdicts:
        return (Text(result.case),)
    target = Throughput(result.verdicts[0].comparison.target_gflops, Significant(4))
    return (Text(result.case), ": target ", target, " GFLOP/s")


def _arm(result: CaseResult, row: ArmRow, ways: Ways) -> Iterator[Block]:
    yield Lines(((Text(row.strategy),),), _DEPTH - 1)
    if row.arm is None:
        yield Lines((("no run",),), _DEPTH)
        return
    runs = result.runs_of(row.strategy)
    measured = (*_counters(runs), *_last_checks(runs), *_leads(result, runs))
    yield Lines((_phases(row.arm), *measured, _failures(runs, row.arm)), _DEPTH)
    yield from network_blocks(runs, _DEPTH)
    yield Lines((*mutation_sentences(runs), *draft_sentences(runs)), _DEPTH)
    if row.verdict is not None:
        yield Lines(tuple(map(gate_sentence, row.verdict.gates)), _DEPTH)
        yield Lines(tuple(_milestones(ways[row.strategy], len(runs))), _DEPTH)
    yield Lines(
        tuple(
            ("seed ", Index(run.seed), ", ", *sentence)
            for run in sorted(runs, key=lambda run: run.seed)
            for sentence in (*_troubles(run), *decision_sentences(run))
        ),
        _DEPTH,
    )


def _milestones(way: Sequence[Milestone], runs: int) -> Iterator[Sentence]:
    """The way to the target: who is ahead early, who late."""
    for stone in way:
        yield (
            "to ",
            Percentage(stone.share),
            " of the reference's gain, ",
            Throughput(stone.target_gflops, Significant(4)),
            " GFLOP/s: ",
            *_expected(stone.challenger_s, stone.challenger_reached, runs),
            " against ",
            *_expected(stone.reference_s, stone.reference_reached, runs),
            ", ratio ",
            Ratio(stone.ratio),
        )


def _expected(seconds: float, reached: int, runs: int) -> Sentence:
    if not reached:
        return (Seconds(math.inf),)
    time = (Seconds(seconds, Decimals(1)), " s")
    return time if reached == runs else (*time, " (", Part(reached, runs), ")")


def _phases(arm: ArmSummary) -> Sentence:
    return (
        Seconds(arm.search_s, Decimals(2)),
        " s a run over ",
        Counted(arm.runs, "run"),
        ": propose ",
        Seconds(arm.propose_s, Decimals(2)),
        ", build ",
        Seconds(arm.build_s, Decimals(2)),
        ", run ",
        Seconds(arm.run_s, Decimals(2)),
        ", learn ",
        Seconds(arm.learn_s, Decimals(2)),
    )


def _counters(runs: Sequence[Run]) -> Iterator[Sentence]:
    trials = [trial for run in runs for trial in run.trials]
    build_s = [trial.build_s for trial in trials if trial.build_s is not None]
    run_s = [trial.run_s for trial in trials if trial.run_s]
    memory_mb = [trial.peak_memory_mb for trial in trials if trial.peak_memory_mb]
    if build_s and run_s:
        yield (
            "a trial: ",
            Seconds(median(build_s), Decimals(3)),
            " s to compile, ",
            Seconds(median(run_s), Decimals(3)),
            " s to run, medians; peak memory ",
            Memory(max(memory_mb, default=0.0)),
            " MB; ",
            Counted(sum(round_.restarts for run in runs for round_ in run.rounds), "restart"),
            " of the fork server",
        )
    variations = [run.final.variation for run in runs if run.final is not None]
    known = [variation for variation in variations if variation is not None]
    if known:
        yield (
            "samples of the final kernels vary by ",
            Percentage(median(known), Decimals(1)),
            ", at most ",
            Percentage(max(known), Decimals(1)),
            " (standard deviation over mean)",
        )


def _leads(result: CaseResult, runs: Sequence[Run]) -> Iterator[Sentence]:
    """What it took to confirm progress."""
    leads = [len(run.leads) for run in runs if run.leads is not None]
    if not leads:
        return
    # All arms of a repeat share the seconds.
    spent_s = {run.seed: run.leads_s for run in result.runs}
    search_s = math.fsum(run.search_s for run in result.runs)
    yield (
        Counted(sum(leads), "lead"),
        " measured again; for all arms that took ",
        Seconds(math.fsum(spent_s.values()), Decimals(1)),
        " s, ",
        Percentage(math.fsum(spent_s.values()) / search_s, Decimals(0)),
        " of the search time",
    )


def _last_checks(runs: Sequence[Run]) -> Iterator[Sentence]:
    """How often a last check crowned another program than the one that the trials showed."""
    checks = [run.last_check for run in runs if run.last_check is not None]
    if not checks:
        return
    ranked = [ranking for check in checks for ranking in check.tasks]
    others = sum(ranking.crowned != ranking.compared[0].trial for ranking in ranked)
    yield (
        "last check: ",
        Seconds(math.fsum(check.check_s for check in checks) / len(checks), Decimals(2)),
        " s a run, which count; another winner than by the trials in ",
        Part(others, len(ranked)),
        " of its rankings",
    )


def _failures(runs: Sequence[Run], arm: ArmSummary) -> Sentence:
    if not arm.failed_trials:
        return ("no failures in ", Count(arm.trials), " trials")
    counts = Counter[str](trial.status for run in runs for trial in run.trials)
    parts: list[str | Cell] = [
        Count(arm.failed_trials),
        " failures in ",
        Count(arm.trials),
        " trials",
    ]
    separator = ": "
    for status in TRIAL_STATUSES:
        if status != "ok" and counts[status]:
            parts += [separator, Count(counts[status]), " ", Text(status)]
            separator = ", "
    return tuple(parts)


def _troubles(run: Run) -> Iterator[Sentence]:
    if run.stopped:
        yield (
            "stopped after ",
            Count(len(run.trials)),
            " of ",
            Count(run.budget_trials),
            " trials: ",
            Text(run.stopped),
        )
    if run.final is not None and run.final.status != "ok":
        error = run.final.error.rstrip()
        why = (" ", Text(error)) if error else ()
        yield ("winner not measured again: ", Text(run.final.status), *why)
