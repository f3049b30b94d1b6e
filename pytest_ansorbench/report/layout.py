"""How the table of cases is laid out: columns, order and groups of cases, units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.report.columns import one_of, usual_columns
from pytest_ansorbench.report.sorting import DEFAULT_SORT
from pytest_ansorbench.report.time_units import WantedUnit

Grouping = Literal["case", "family", "network", "strategy"]

GROUPINGS: Final[tuple[Grouping, ...]] = ("case", "family", "network", "strategy")


@dataclass(frozen=True, slots=True)
class Layout:
    """How the table of cases is laid out.

    Attributes:
        columns: Keys of the columns, as `parse_columns` returns them; None for the usual ones.
        sort: Key to sort the cases by, as `parse_sort` returns it.
        group_by: Which rows stand together: those of a case; those of an operator or a network,
            each with its sums; those of a network, after those of all operators; or those of a
            strategy, with its sums.
        time_unit: What times are told in.
    """

    columns: tuple[str, ...] | None = None
    sort: str = DEFAULT_SORT
    group_by: Grouping = "case"
    time_unit: WantedUnit = "auto"

    def columns_for(self, cases: Sequence[CaseResult]) -> tuple[str, ...]:
        """The columns that were asked for, or else those that suit the cases."""
        return usual_columns(cases) if self.columns is None else self.columns


def parse_grouping(text: str) -> Grouping:
    """Parse what rows are grouped by.

    Raises:
        ColumnError: There is no such grouping.
    """
    return one_of(GROUPINGS, text, "grouping")
