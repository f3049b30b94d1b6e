"""The table of cases by its rows and columns: what an arm's row knows, and a column shows of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import geometric_mean
from types import MappingProxyType
from typing import Final, TypeVar

from pytest_ansorbench.records import (
    IMPLEMENTATIONS,
    ArmSummary,
    CaseResult,
    Implementation,
    SuiteVerdict,
    Verdict,
)
from pytest_ansorbench.report.cells import (
    REFERENCE,
    Cell,
    Count,
    Gap,
    Part,
    Ratio,
    Seconds,
    SuiteRatio,
    Text,
    TimeToTarget,
    known,
    mark,
    percentage,
    plain_ratio,
    throughput,
)
from pytest_ansorbench.report.sections import Column
from pytest_ansorbench.stats.compare import summarize_arm
from pytest_ansorbench.stats.roofline import over_implementation, share_of_roof
from pytest_ansorbench.stats.trajectory import Trajectory


class ColumnError(ValueError):
    """A word for the layout of a table that does not exist, such as a column or a sort key."""


_Word = TypeVar("_Word", bound=str)


def one_of(words: Sequence[_Word], text: str, what: str) -> _Word:
    """The one of some words that a user gave; `what` they are is told in the error."""
    for word in words:
        if word == text.strip():
            return word
    raise ColumnError(f"bad {what} {text!r}: expected one of {', '.join(words)}")


@dataclass(frozen=True, slots=True)
class ArmRow:
    """One arm of one case."""

    case: str
    strategy: str
    arm: ArmSummary | None = None  # its figures; None if it has no run
    is_reference: bool = False  # whether the other arms were compared with this one
    verdict: Verdict | None = None  # None for the reference and for an arm that was not compared
    # Share of what its machine can do that its kernels reach; None if not known.
    of_peak: float | None = None
    # How many times faster its kernels are than each implementation that was timed.
    over: Mapping[Implementation, float] = field(default_factory=dict)
    baseline_gflops: float | None = None  # of a kernel that no search made, which is all it has


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
        is_reference=is_reference,
        verdict=verdict,
        of_peak=share_of_roof(result, strategy),
        over={
            implementation: ratio
            for implementation in IMPLEMENTATIONS
            if (ratio := over_implementation(result, strategy, implementation)) is not None
        },
    )


def baseline_rows(result: CaseResult) -> Iterator[ArmRow]:
    """The rows of kernels that no search made; over several machines the geometric mean."""
    for implementation in IMPLEMENTATIONS:
        latencies_s = [
            kernel.latency_s
            for found in result.yardsticks
            for kernel in found.kernels
            if kernel.implementation == implementation and kernel.latency_s is not None
        ]
        if latencies_s and result.runs:
            gflops = result.runs[0].flops / geometric_mean(latencies_s) / 1e9
            yield ArmRow(result.case, implementation, baseline_gflops=gflops)


@dataclass(frozen=True, slots=True)
class CaseColumn:
    """One column of the table of cases, called by its key on the command line."""

    column: Column
    cell: Callable[[ArmRow], Cell]
    # Its cell in a row over several cases.
    suite: Callable[[SuiteVerdict], Cell] = lambda verdict: Gap.EMPTY

    def of(self, row: ArmRow) -> Cell:
        """The cell of a row; a kernel that no search made has a throughput and no trials."""
        if row.baseline_gflops is None or self.column.key in ("case", "strategy"):
            return self.cell(row)
        if self.column.key == "throughput":
            return throughput(row.baseline_gflops)
        return Gap.IRRELEVANT


def parse_columns(text: str) -> tuple[str, ...]:
    """Parse column keys separated by commas, e.g. `case,strategy,search_ratio`."""
    keys = tuple(key.strip() for key in text.split(","))
    for index, key in enumerate(keys):
        if key not in COLUMNS:
            raise ColumnError(
                f"bad column {key!r}: expected some of {', '.join(COLUMNS)}, "
                "e.g. 'case,strategy,search_ratio'"
            )
        if key in keys[:index]:
            raise ColumnError(f"bad column {key!r}: expected each column once")
    return keys


def _of_arm(cell: Callable[[ArmSummary], Cell]) -> Callable[[ArmRow], Cell]:
    return lambda row: Gap.UNKNOWN if row.arm is None else cell(row.arm)


def _of_target(cell: Callable[[ArmSummary], Cell]) -> Callable[[ArmRow], Cell]:
    """Of an arm that was compared, as there is no target else."""
    of_arm = _of_arm(cell)
    return lambda row: of_arm(row) if row.verdict or row.is_reference else Gap.IRRELEVANT


def _seconds(key: str, heading: str, of: Callable[[ArmSummary], float]) -> CaseColumn:
    return CaseColumn(Column(key, heading, "s", spare=1), _of_arm(lambda arm: Seconds(of(arm))))


def _ratio(key: str, heading: str) -> CaseColumn:
    def cell(row: ArmRow) -> Cell:
        if row.verdict is not None:
            return Ratio(getattr(row.verdict.comparison, key))
        return REFERENCE if row.is_reference else Gap.IRRELEVANT

    return CaseColumn(Column(key, heading), cell, lambda suite: SuiteRatio.of(suite, key))


def over_key(implementation: Implementation) -> str:
    """The column of another implementation."""
    return f"over_{implementation.replace('-', '_')}"


def _over(implementation: Implementation) -> CaseColumn:
    return CaseColumn(
        Column(over_key(implementation), f"over {implementation}", spare=2),
        lambda row: known(row.over.get(implementation), plain_ratio),
    )


COLUMNS: Final[Mapping[str, CaseColumn]] = MappingProxyType(
    {
        entry.column.key: entry
        for entry in (
            CaseColumn(Column("case", "case", kind="words"), lambda row: Text(row.case)),
            CaseColumn(
                Column("strategy", "strategy", kind="words"), lambda row: Text(row.strategy)
            ),
            CaseColumn(Column("trials", "trials", spare=5), _of_arm(lambda arm: Count(arm.trials))),
            _seconds("search_time", "search time", lambda arm: arm.search_s),
            CaseColumn(
                Column("time_to_target", "time to target", "s", spare=3),
                _of_target(lambda arm: TimeToTarget(arm.time_to_target_s, arm.reached, arm.runs)),
            ),
            _ratio("search_ratio", "S"),
            _ratio("search_ratio_early", "S_early"),
            _ratio("search_ratio_paper", "S_paper"),
            _ratio("search_ratio_trials", "S_trials"),
            _ratio("running_time_ratio", "S to target"),
            CaseColumn(
                Column("throughput", "GFLOP/s", "GFLOP/s", spare=2),
                _of_arm(lambda arm: throughput(arm.throughput_gflops)),
            ),
            _ratio("throughput_ratio", "throughput ratio"),
            CaseColumn(
                Column("of_peak", "of peak", spare=2), lambda row: known(row.of_peak, percentage)
            ),
            *map(_over, IMPLEMENTATIONS),
            CaseColumn(
                Column("optimism", "optimism"),
                _of_arm(lambda arm: known(arm.optimism, plain_ratio)),
            ),
            CaseColumn(
                Column("failed", "failed", spare=4),
                _of_arm(lambda arm: Part(arm.failed_trials, arm.trials)),
            ),
            CaseColumn(
                Column("reached", "reached"), _of_target(lambda arm: Part(arm.reached, arm.runs))
            ),
            CaseColumn(
                Column("verdict", "verdict", kind="words"),
                lambda row: mark(row.verdict.outcome if row.verdict else None),
                lambda suite: mark(suite.outcome),
            ),
            _seconds("propose", "propose", lambda arm: arm.propose_s),
            _seconds("build", "build", lambda arm: arm.build_s),
            _seconds("run", "run", lambda arm: arm.run_s),
            _seconds("learn", "learn", lambda arm: arm.learn_s),
        )
    }
)
"""Every column by its key, in the order that error messages list them."""

DEFAULT_COLUMNS: Final = (
    "case",
    "strategy",
    "trials",
    "search_time",
    "time_to_target",
    "search_ratio",
    "throughput",
    "throughput_ratio",
    "failed",
    "verdict",
)


def usual_columns(cases: Sequence[CaseResult]) -> tuple[str, ...]:
    """The columns that are shown if nothing else is asked for.

    What kernels are compared with besides each other has a column if it was measured.
    """
    after = DEFAULT_COLUMNS.index("throughput") + 1
    return (*DEFAULT_COLUMNS[:after], *_yardsticks(cases), *DEFAULT_COLUMNS[after:])


def _yardsticks(cases: Sequence[CaseResult]) -> Iterator[str]:
    found = [yardsticks for case in cases for yardsticks in case.yardsticks]
    if any(one.peak is not None for one in found):
        yield "of_peak"
    timed = {kernel.implementation for one in found for kernel in one.kernels}
    timed |= {peer.implementation for case in cases for run in case.runs for peer in run.peers}
    for implementation in IMPLEMENTATIONS:
        if implementation in timed:
            yield over_key(implementation)
