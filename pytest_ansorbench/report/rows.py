"""Rows of the table of cases: an arm of a case, or a challenger over all cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_ansorbench.records import ArmSummary, CaseResult, Comparison, Verdict
from pytest_ansorbench.stats.arms import summarize_arm
from pytest_ansorbench.stats.summary import MeanRatio, geometric_mean
from pytest_ansorbench.stats.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class ArmRow:
    """One arm of one case.

    Attributes:
        case: The case's id.
        strategy: The strategy's name.
        arm: The arm's figures; None if it has no run.
        has_target: Whether time to target means anything: false without a comparison.
        is_reference: Whether the other arms were compared against this one.
        verdict: The verdict over this arm; None for the reference and for an arm that was not
            compared.
    """

    case: str
    strategy: str
    arm: ArmSummary | None
    has_target: bool
    is_reference: bool
    verdict: Verdict | None


@dataclass(frozen=True, slots=True)
class MeanRow:
    """One challenger over all cases that it was compared on.

    Attributes:
        strategy: The challenger's name.
        search_ratio: Geometric mean of S.
        search_ratio_paper: Of S_paper.
        search_ratio_trials: Of S_trials.
        throughput_ratio: Of the throughput ratio.
    """

    strategy: str
    search_ratio: MeanRatio
    search_ratio_paper: MeanRatio
    search_ratio_trials: MeanRatio
    running_time_ratio: MeanRatio
    throughput_ratio: MeanRatio


def case_rows(result: CaseResult) -> tuple[ArmRow, ...]:
    """The rows of one case, in order of its strategies, so the reference comes first."""
    verdicts = {v.comparison.challenger.strategy: v for v in result.verdicts}
    return tuple(
        _arm_row(result, strategy, verdicts, is_first=index == 0)
        for index, strategy in enumerate(result.strategies)
    )


def mean_rows(cases: Sequence[CaseResult]) -> tuple[MeanRow, ...]:
    """One row per challenger, in order of appearance."""
    compared: dict[str, list[Comparison]] = {}
    for case in cases:
        for verdict in case.verdicts:
            comparison = verdict.comparison
            compared.setdefault(comparison.challenger.strategy, []).append(comparison)
    return tuple(
        MeanRow(
            strategy=strategy,
            search_ratio=geometric_mean([c.search_ratio for c in comparisons]),
            search_ratio_paper=geometric_mean([c.search_ratio_paper for c in comparisons]),
            search_ratio_trials=geometric_mean([c.search_ratio_trials for c in comparisons]),
            running_time_ratio=geometric_mean([c.running_time_ratio for c in comparisons]),
            throughput_ratio=geometric_mean([c.throughput_ratio for c in comparisons]),
        )
        for strategy, comparisons in compared.items()
    )


def _arm_row(
    result: CaseResult, strategy: str, verdicts: dict[str, Verdict], *, is_first: bool
) -> ArmRow:
    verdict = verdicts.get(strategy)
    is_reference = is_first and bool(verdicts)
    arm: ArmSummary | None
    if verdict is not None:
        arm = verdict.comparison.challenger
    elif is_reference:
        arm = result.verdicts[0].comparison.reference
    else:
        runs = [Trajectory.of(run) for run in result.runs_of(strategy)]
        arm = summarize_arm(runs, None) if runs else None
    return ArmRow(
        case=result.case,
        strategy=strategy,
        arm=arm,
        has_target=verdict is not None or is_reference,
        is_reference=is_reference,
        verdict=verdict,
    )
