"""Rows of the table of cases: the arms of each case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_ansorbench.records import (
    IMPLEMENTATIONS,
    ArmSummary,
    CaseResult,
    Implementation,
    Verdict,
)
from pytest_ansorbench.stats.compare import summarize_arm
from pytest_ansorbench.stats.roofline import over_implementation, share_of_roof
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
        of_peak: Share of what its machine can do that its kernels reach; None if not known.
        over: How many times faster its kernels are than each implementation that was timed.
    """

    case: str
    strategy: str
    arm: ArmSummary | None
    has_target: bool
    is_reference: bool
    verdict: Verdict | None
    of_peak: float | None = None
    over: Mapping[Implementation, float] = field(default_factory=dict)


def case_rows(result: CaseResult) -> tuple[ArmRow, ...]:
    """The rows of one case, in order of its strategies, so the reference comes first."""
    verdicts = {v.comparison.challenger.strategy: v for v in result.verdicts}
    return tuple(
        _arm_row(result, strategy, verdicts, is_first=index == 0)
        for index, strategy in enumerate(result.strategies)
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
        of_peak=share_of_roof(result, strategy),
        over={
            implementation: ratio
            for implementation in IMPLEMENTATIONS
            if (ratio := over_implementation(result, strategy, implementation)) is not None
        },
    )
