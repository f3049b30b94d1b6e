"""The earlier result that a session is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_ansorbench.options.declarations import flag_of
from pytest_ansorbench.options.refusals import in_options
from pytest_ansorbench.options.settings import Settings
from pytest_ansorbench.plugin.refusals import passed_over
from pytest_ansorbench.records import CaseResult, MachineNoise
from pytest_ansorbench.stats.changes import CaseChanges
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.limits import Allowance
from pytest_ansorbench.stats.paired_runs import PairingError, check_case_pairs
from pytest_ansorbench.storage import (
    StorageError,
    changes_since,
    read_saved,
    suite_changes_since,
)

ANY_MACHINE: Final = flag_of("baseline.any_machine")
"""The option that compares figures of other machines all the same."""


class Baseline:
    """An earlier result, read before anything of this session is stored."""

    def __init__(self, storage: Path, wanted: str, notes: list[str]) -> None:
        """Read it; `notes` are the lines at the session's end.

        Raises:
            pytest.UsageError: There is no such result, or none that can be read, or its arms do
                not pair up.
        """
        refused = f"bad {flag_of('baseline.compare')}:"
        try:
            self.path, self._result = read_saved(storage, wanted, passed_over(notes))
        except StorageError as error:
            raise pytest.UsageError("\n".join([f"{refused} {in_options(error)}", *notes])) from None
        try:
            for case in self._result.cases:
                check_case_pairs(case)
        except PairingError as error:
            named = f"bad result file {str(self.path)!r}"
            raise pytest.UsageError(f"{refused} {named}: {error}") from None
        self.changes: list[CaseChanges] = []  # of the cases of this session so far

    @property
    def noise(self) -> tuple[MachineNoise, ...]:
        """How steady its machines were."""
        return self._result.noise

    def changes_of(
        self,
        after: CaseResult,
        machines: Mapping[str, Any],
        settings: Settings,
        allowances: Sequence[Allowance],
        family: int,
    ) -> CaseChanges:
        """Compare a case with the earlier result; its machines now are given by fingerprint."""
        return changes_since(
            self._result,
            after,
            machines,
            allowances,
            criteria=settings.criteria,
            family=family,
            any_machine=settings.baseline.any_machine,
        )

    def suite_changes(
        self,
        cases: Sequence[CaseResult],
        settings: Settings,
        criteria: Criteria,
        family: int,
        gone: Sequence[str],
    ) -> tuple[CaseChanges, ...]:
        """Compare all cases together with the earlier result."""
        allowances = settings.baseline.suite_allowances
        return suite_changes_since(
            self._result, cases, allowances, criteria=criteria, family=family, gone=gone
        )
