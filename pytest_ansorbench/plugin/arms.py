"""The arms of a session by name: strategies, and strategies that other interpreters run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from pytest_ansorbench.bench import Arm
from pytest_ansorbench.hosted import HostedStrategy, HostProcess
from pytest_ansorbench.measure.toolchain import Toolchain
from pytest_ansorbench.options.declarations import flag_of
from pytest_ansorbench.options.settings import Settings
from pytest_ansorbench.plugin.offered import register_offered
from pytest_ansorbench.strategies import BUILTIN, Registry, StrategyError


class Arms:
    """What `--ansor-strategy` may name."""

    def __init__(self, settings: Settings, target: Callable[[], str]) -> None:
        """Prepare; no host is started.

        Args:
            settings: The session's settings.
            target: Gives the session's TVM target as JSON, once there is an engine.
        """
        self._registry = Registry()
        self._settings = settings
        self._target = target
        self._hosts = {one.name: self._host(one) for one in settings.toolchains}

    def gather(self, config: pytest.Config) -> None:
        """Register all strategies that users offer.

        Raises:
            pytest.UsageError: One of them cannot be registered.
        """
        register_offered(self._registry, config)

    def get(self, name: str) -> Arm:
        """A strategy, or e.g. `default@old` for one that another interpreter runs.

        Raises:
            StrategyError: There is no such strategy, or no such toolchain.
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
        if strategy not in [one.name for one in BUILTIN]:
            raise StrategyError(
                f"bad strategy {name!r}: expected before the @ one that ships with the package, "
                "e.g. default; the other interpreter has no others"
            )
        host = self._hosts[toolchain]
        about = f"{strategy}, searched by the toolchain {toolchain}"
        return HostedStrategy(name, self._registry.get(strategy), host, about)

    def close(self) -> None:
        """End all hosts."""
        for host in self._hosts.values():
            host.close()

    def _host(self, toolchain: Toolchain) -> HostProcess:
        assert toolchain.python is not None

        def opening() -> dict[str, Any]:
            settings = asdict(self._settings.engine)
            return {"op": "open", "target": self._target(), "settings": settings}

        return HostProcess(toolchain.name, toolchain.python, opening)
