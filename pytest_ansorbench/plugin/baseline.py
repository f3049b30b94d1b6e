"""The earlier result that a session is compared with."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from pytest_ansorbench.options.declarations import flag_of
from pytest_ansorbench.options.refusals import in_options
from pytest_ansorbench.plugin.refusals import passed_over
from pytest_ansorbench.stats.changes import CaseChanges
from pytest_ansorbench.stats.paired_runs import PairingError, check_case_pairs
from pytest_ansorbench.storage import StorageError, read_saved

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
            self.path, self.result = read_saved(storage, wanted, passed_over(notes))
        except StorageError as error:
            raise pytest.UsageError("\n".join([f"{refused} {in_options(error)}", *notes])) from None
        try:
            for case in self.result.cases:
                check_case_pairs(case)
        except PairingError as error:
            named = f"bad result file {str(self.path)!r}"
            raise pytest.UsageError(f"{refused} {named}: {error}") from None
        self.changes: list[CaseChanges] = []  # of the cases of this session so far
