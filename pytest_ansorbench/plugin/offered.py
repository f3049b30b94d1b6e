"""Strategies that users offer: installed packages by entry point, conftest files by hook."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pytest

from pytest_ansorbench.plugin.blame import usage_errors
from pytest_ansorbench.strategies import BadAnswer, Registry, Strategy, StrategyError

_HOOK: Final = "pytest_ansorbench_strategies"


def register_offered(registry: Registry, config: pytest.Config) -> None:
    """Register all strategies that users offer.

    Raises:
        pytest.UsageError: An entry point or a hook fails, or offers something else.
    """
    doing = "while asking for strategies"
    with usage_errors(config, doing):
        registry.add_entry_points()
    for implementation, offered in _asked(config, doing):
        with usage_errors(config, doing):
            for strategy in _listed(implementation, offered):
                try:
                    registry.add(strategy)
                except StrategyError as error:
                    raise BadAnswer(implementation, str(error)) from None


def _asked(config: pytest.Config, doing: str) -> Iterable[tuple[Any, Any]]:
    """Call the hook's implementations one by one, so that each answer has an author."""
    implementations = [
        implementation
        for implementation in getattr(config.hook, _HOOK).get_hookimpls()
        if not (implementation.wrapper or implementation.hookwrapper)
    ]
    for implementation in reversed(implementations):  # pluggy's own order
        others = [other.plugin for other in implementations if other is not implementation]
        ask = config.pluginmanager.subset_hook_caller(_HOOK, others)
        with usage_errors(config, doing):
            answers = ask(config=config)
        # pluggy leaves out None.
        yield implementation.function, answers[0] if answers else None


def _listed(implementation: Any, offered: Any) -> list[Strategy]:
    if not isinstance(offered, Iterable) or isinstance(offered, str):
        raise BadAnswer(
            implementation,
            f"bad result {offered!r} of {_HOOK}: expected a list of strategies, e.g. "
            "[Strategy('mine', proposer=StockEvolution())], or [] for none",
        )
    return list(offered)
