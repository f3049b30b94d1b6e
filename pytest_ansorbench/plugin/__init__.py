"""pytest's hooks, thin: settings in, cases run, tables and files out.

Everything that tunes, computes or renders is imported when a case is to be run, so that a
session without `--ansor-bench` pays for little more than this file and the options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from pytest_ansorbench import hookspecs
from pytest_ansorbench.options.declarations import LIMIT_OPTIONS, add_options
from pytest_ansorbench.plugin.fixture import AnsorBench, UndecidedWarning
from pytest_ansorbench.plugin.selection import MARKER, bench_items

if TYPE_CHECKING:
    from pytest_ansorbench.plugin.bench import Bench
    from pytest_ansorbench.plugin.kernels import KernelBench

__all__ = ["AnsorBench", "UndecidedWarning"]

BENCH: Final = "ansorbench-bench"
"""Name of the plugin that does the work."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the `--ansor-*` options and their ini twins."""
    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let conftest files implement our hooks."""
    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker and, with `--ansor-bench`, the part that does the work."""
    limits = ", ".join(f"{option.keyword}=..." for option in LIMIT_OPTIONS)
    config.addinivalue_line(
        "markers",
        f"{MARKER}(trials=..., repeats=..., {limits}, ...): budget and gates of a tuning case; any "
        "--ansor option that makes sense for one test",
    )
    if not config.getoption("ansor_bench"):
        config.pluginmanager.register(_Skipper(), "ansorbench-skipper")
        return
    _check_processes(config)
    if _asks_for_kernels(config):
        from pytest_ansorbench.plugin.kernels import KernelBench

        config.pluginmanager.register(KernelBench(config), BENCH)
        return
    from pytest_ansorbench.plugin.bench import Bench
    from pytest_ansorbench.plugin.pytest_benchmark import Bridge

    bench = Bench(config)
    bridge = Bridge(config, table=bench.settings.table.benchmark)
    config.pluginmanager.register(bench, BENCH)
    config.pluginmanager.register(bridge, f"{BENCH}-pytest-benchmark")


@pytest.fixture
def ansor_bench(request: pytest.FixtureRequest) -> AnsorBench:
    """Tune a case with every strategy, compare them, and fail if a gate is broken.

    Call it once with a case: `ansor_bench(workloads.CONV2D[0])`. Budget and gates come from
    the `ansor_bench` marker, the ini file or the command line.
    """
    bench: Bench | KernelBench = request.config.pluginmanager.getplugin(BENCH)
    return bench.test(request.node)


def _check_processes(config: pytest.Config) -> None:
    """Refuse test processes beside each other, unless each measures somewhere else.

    Raises:
        pytest.UsageError: They would measure each other.
    """
    if not config.getoption("numprocesses", default=None) or config.getoption("ansor_replay"):
        return
    cluster = config.getoption("ansor_cluster") or config.getini("ansor_cluster")
    if str(cluster or "").startswith("local:"):
        raise pytest.UsageError(
            "bad option -n: each process would start workers of its own on this machine; start a "
            "scheduler and workers once, and give --ansor-cluster their address"
        )
    if not (cluster or config.getoption("ansor_rpc") or config.getini("ansor_rpc")):
        raise pytest.UsageError(
            "bad option -n: live searches cannot share a machine with other test processes; "
            "run pytest --ansor-bench without -n, or with -n 0 (--ansor-replay takes any -n, and "
            "so does --ansor-cluster; --ansor-rpc takes as many as the tracker has devices; "
            "--ansor-shard runs a part of the session on each of several machines)"
        )
    if config.getoption("ansor_resume") is not None:
        raise pytest.UsageError(
            "bad option -n: each process has a journal of its own; resume them one by one, "
            "without -n"
        )


def _asks_for_kernels(config: pytest.Config) -> bool:
    return bool(config.getoption("ansor_kernels") or config.getini("ansor_kernels"))


class _Skipper:
    """Without `--ansor-bench`, tuning cases are skipped and cost nothing."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        skip = pytest.mark.skip(reason="tuning case; run it with --ansor-bench")
        for item in bench_items(items):
            item.add_marker(skip)
