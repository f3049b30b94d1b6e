"""The columns a table can have: one entry each, and the words to choose them by."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from pytest_ansorbench.records import ArmSummary, Comparison, Estimate
from pytest_ansorbench.report.rows import ArmRow, MeanRow
from pytest_ansorbench.report.wording import estimate_text, ratio_text
from pytest_ansorbench.stats.summary import MeanRatio

NOTHING: Final = "n/a"
"""Shown where a figure could be expected and there is none."""

BLANK: Final = "-"
"""Shown where no figure belongs."""


class ColumnError(ValueError):
    """A column or sort key that does not exist."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the table.

    Attributes:
        key: How the command line calls it.
        heading: What the table calls it, with the unit.
        cell: Text of an arm's row.
        mean: Text of the row over all cases.
        is_text: Whether it holds words, which go left; figures go right.
    """

    key: str
    heading: str
    cell: Callable[[ArmRow], str]
    mean: Callable[[MeanRow], str] = lambda row: ""
    is_text: bool = False


def parse_columns(text: str) -> tuple[str, ...]:
    """Parse a choice of columns.

    Args:
        text: Column keys separated by commas, e.g. `case,strategy,search_ratio`.

    Returns:
        The keys in the order given.

    Raises:
        ColumnError: A key is unknown, missing, or given twice.
    """
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


def _of_arm(text: Callable[[ArmSummary], str]) -> Callable[[ArmRow], str]:
    return lambda row: NOTHING if row.arm is None else text(row.arm)


def _of_target(text: Callable[[ArmSummary], str]) -> Callable[[ArmRow], str]:
    def cell(row: ArmRow) -> str:
        if not row.has_target:
            return BLANK
        return NOTHING if row.arm is None else text(row.arm)

    return cell


def _ratio(
    key: str,
    heading: str,
    of: Callable[[Comparison], Estimate],
    mean: Callable[[MeanRow], MeanRatio],
) -> Column:
    def cell(row: ArmRow) -> str:
        if row.verdict is not None:
            return estimate_text(of(row.verdict.comparison))
        return "1 (ref)" if row.is_reference else BLANK

    return Column(key, heading, cell, lambda row: _mean_text(mean(row)))


def _mean_text(ratio: MeanRatio) -> str:
    if ratio.value is None:
        return NOTHING
    counts = "" if ratio.included == ratio.total else f" ({ratio.included} of {ratio.total})"
    return ratio_text(ratio.value) + counts


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _gflops(arm: ArmSummary) -> str:
    value = arm.throughput_gflops
    if value == 0.0:
        return NOTHING
    if value < 0.1:
        return f"{value:.2g}"
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}"


def _time_to_target(arm: ArmSummary) -> str:
    seconds = "never" if math.isinf(arm.time_to_target_s) else _seconds(arm.time_to_target_s)
    return seconds if arm.reached == arm.runs else f"{seconds} ({_reached(arm)})"


def _reached(arm: ArmSummary) -> str:
    return f"{arm.reached}/{arm.runs}"


def _verdict(row: ArmRow) -> str:
    return (row.verdict.outcome if row.verdict else None) or BLANK


COLUMNS: Final[Mapping[str, Column]] = MappingProxyType(
    {
        column.key: column
        for column in (
            Column("case", "case", lambda row: row.case, is_text=True),
            Column("strategy", "strategy", lambda row: row.strategy, is_text=True),
            Column("trials", "trials", _of_arm(lambda arm: str(arm.trials))),
            Column("search_time", "search time (s)", _of_arm(lambda arm: _seconds(arm.search_s))),
            Column("time_to_target", "time to target (s)", _of_target(_time_to_target)),
            _ratio("search_ratio", "S", lambda c: c.search_ratio, lambda m: m.search_ratio),
            _ratio(
                "search_ratio_paper",
                "S_paper",
                lambda c: c.search_ratio_paper,
                lambda m: m.search_ratio_paper,
            ),
            _ratio(
                "search_ratio_trials",
                "S_trials",
                lambda c: c.search_ratio_trials,
                lambda m: m.search_ratio_trials,
            ),
            Column("throughput", "GFLOP/s", _of_arm(_gflops)),
            _ratio(
                "throughput_ratio",
                "throughput ratio",
                lambda c: c.throughput_ratio,
                lambda m: m.throughput_ratio,
            ),
            Column("failed", "failed", _of_arm(lambda arm: f"{arm.failed_trials}/{arm.trials}")),
            Column("reached", "reached", _of_target(_reached)),
            Column("verdict", "verdict", _verdict, is_text=True),
            Column("propose", "propose (s)", _of_arm(lambda arm: _seconds(arm.propose_s))),
            Column("build", "build (s)", _of_arm(lambda arm: _seconds(arm.build_s))),
            Column("run", "run (s)", _of_arm(lambda arm: _seconds(arm.run_s))),
            Column("learn", "learn (s)", _of_arm(lambda arm: _seconds(arm.learn_s))),
        )
    }
)
"""Every column by its key, in the order that error messages list them."""

RATIO_COLUMNS: Final = (
    "search_ratio",
    "search_ratio_paper",
    "search_ratio_trials",
    "throughput_ratio",
)

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
