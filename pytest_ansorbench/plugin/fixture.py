"""What tests see: the type of the `ansor_bench` fixture, and its warning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from pytest_ansorbench.records import CaseResult
    from pytest_ansorbench.workloads import Case


class UndecidedWarning(pytest.PytestWarning):
    """A gate could not be decided with the repeats that were run."""


class AnsorBench(Protocol):
    """The `ansor_bench` fixture: call it with a case."""

    def __call__(self, case: Case | str) -> CaseResult:
        """Tune a case with every strategy, compare, and fail the test if a gate is broken.

        Args:
            case: A case, or the id of a shipped one.

        Returns:
            All runs of the case, and the verdicts on them.
        """
        ...
