"""The arms of a session by name: shipped strategies, users' own, and other interpreters'."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_ansorbench.bench import Arm
from pytest_ansorbench.hosted import HostedStrategy, HostProcess
from pytest_ansorbench.measure.toolchain import Toolchain
from pytest_ansorbench.options.declarations import flag_of
from pytest_ansorbench.options.settings import Settings
from pytest_ansorbench.plugin.blame import usage_errors
from pytest_ansorbench.strategies import BadAnswer, Registry, Strategy, StrategyError

_HOOK: Final = "pytest_ansorbench_strategies"


class Arms:
    """What `--ansor-strategy` may name; hosts of other toolchains start when they are needed."""

    def __init__(self, settings: Settings, root: Path, target: Callable[[], str]) -> None:
        """Prepare; `target` gives the session's TVM target as JSON, once there is an engine.

        `root` is the folder of the project, whose modules other interpreters import as well.
        """
        self._registry = Registry()
        self._settings, self._root, self._target = settings, root, target
        self._hosts = {one.name: self._host(one) for one in settings.toolchains}

    def gather(self, config: pytest.Config) -> None:
        """Register all strategies that users offer, by entry point or by hook.

        Raises:
            pytest.UsageError: An entry point or a hook fails, or offers something else.
        """
        doing = "while asking for strategies"
        with usage_errors(config, doing):
            self._registry.add_entry_points()
        for implementation, offered in _asked(config, doing):
            with usage_errors(config, doing):
                for strategy in _listed(implementation, offered):
                    try:
                        self._registry.add(strategy)
                    except StrategyError as error:
                        raise BadAnswer(implementation, str(error)) from None

    def get(self, name: str) -> Arm:
        """A strategy, or e.g. `default@old` for one that another interpreter runs.

        Raises:
            StrategyError: There is no such strategy, or no such toolchain.
            UnhostableError: No other interpreter can have the strategy.
        """
        strategy, at, toolchain = name.rpartition("@")
        if not at or any(name == one.name for one in self._registry):
            return self._registry.get(name)
        if toolchain not in self._hosts:
            raise StrategyError(
                f"bad strategy {name!r}: expected behind the @ the name of a toolchain, given by "
                f"{flag_of('toolchains')} {toolchain or 'old'}=PYTHON; there is "
                f"{', '.join(self._hosts) or 'none'}"
            )
        hosted = HostedStrategy(name, self._registry.get(strategy), self._hosts[toolchain])
        hosted.check()
        return hosted

    def close(self) -> None:
        """End all hosts."""
        for host in self._hosts.values():
            host.close()

    def _host(self, toolchain: Toolchain) -> HostProcess:
        assert toolchain.python is not None

        def opening() -> dict[str, Any]:
            return {"target": self._target(), "settings": asdict(self._settings.engine)}

        return HostProcess(toolchain.name, toolchain.python, self._root, opening)


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
