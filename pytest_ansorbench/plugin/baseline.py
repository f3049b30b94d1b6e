"""The earlier result that a session is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_ansorbench.options import Settings
from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.stats.changes import CaseChanges
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.limits import Allowance
from pytest_ansorbench.storage import StorageError, changes_since, find_saved, read_result


class Baseline:
    """An earlier result, read before anything of this session is stored."""

    def __init__(self, storage: Path, wanted: str) -> None:
        """Read it.

        Raises:
            pytest.UsageError: There is no such result, or it cannot be read.
        """
        try:
            self.path = find_saved(storage, wanted)
            self._result = read_result(self.path)
        except StorageError as error:
            raise pytest.UsageError(f"bad --ansor-compare: {error}") from None

    def changes(
        self, after: CaseResult, machines: Mapping[str, Any], settings: Settings, family: int
    ) -> CaseChanges:
        """Hold a case against the earlier result.

        Args:
            after: The case now.
            machines: By fingerprint, the machines that it was measured on.
            settings: Of its test.
            family: How many gates the session has.
        """
        return changes_since(
            self._result,
            after,
            machines,
            allowances(settings),
            criteria=Criteria.from_settings(settings.to_json()),
            family=family,
            any_machine=settings.any_machine,
        )


def allowances(settings: Settings) -> Sequence[Allowance]:
    """What may get worse by how much; of two words on the same figure, the last counts."""
    return tuple(
        {each.metric: each for each in map(Allowance.parse, settings.compare_fail)}.values()
    )
