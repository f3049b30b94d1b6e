"""Hooks that a user's conftest.py or plugin may implement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_ansorbench.records import CaseResult
    from pytest_ansorbench.strategies import Strategy


@pytest.hookspec
def pytest_ansorbench_strategies(config: pytest.Config) -> Iterable[Strategy]:
    """Offer strategies of your own.

    Args:
        config: pytest's configuration.

    Returns:
        A list of strategies, to be chosen by name with `--ansor-strategy`; empty for none.
    """
    raise NotImplementedError


@pytest.hookspec
def pytest_ansorbench_case_finished(
    config: pytest.Config, item: pytest.Item, result: CaseResult
) -> None:
    """Be told of each case that was run and judged, before its test passes or fails.

    Args:
        config: pytest's configuration.
        item: The test.
        result: All its runs, and its verdicts.
    """
