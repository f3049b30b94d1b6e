"""pytest's hooks, thin: settings in, cases run, tables and files out.

Everything that tunes, computes or renders is imported with `--ansor-bench`, so that a session
without it pays for little more than this file and the declarations of options.
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
    from pytest_ansorbench.plugin.kernel_items import KernelBench

__all__ = ["AnsorBench", "UndecidedWarning"]

BENCH: Final = "ansorbench-bench"
"""Name of the plugin that does the work."""

_SKIPPED: Final = "tuning case; run it with --ansor-bench"


def pytest_addoption(parser: pytest.Parser) -> None:
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
    from pytest_ansorbench.options.resolve import resolve
    from pytest_ansorbench.plugin.conflicts import check_session
    from pytest_ansorbench.plugin.pytest_benchmark import Bridge
    from pytest_ansorbench.plugin.refusals import usage

    settings = usage(resolve, config)
    check_session(config, settings)
    bridge = Bridge(config, table=settings.table.benchmark)
    config.pluginmanager.register(bridge, f"{BENCH}-pytest-benchmark")
    if settings.kernels.result is not None:
        from pytest_ansorbench.plugin.kernel_items import KernelBench

        config.pluginmanager.register(KernelBench(config, settings), BENCH)
        return
    from pytest_ansorbench.plugin.bench import Bench

    config.pluginmanager.register(Bench(config, settings), BENCH)


@pytest.fixture
def ansor_bench(request: pytest.FixtureRequest) -> AnsorBench:
    """Tune a case with every strategy, compare them, and fail if a gate is broken.

    Call it once with a case: `ansor_bench(workloads.CONV2D[0])`. Budget and gates come from
    the `ansor_bench` marker, the ini file or the command line.
    """
    from pytest_ansorbench.plugin.judging import OneCase

    bench: Bench | KernelBench | None = request.config.pluginmanager.getplugin(BENCH)
    if bench is None:  # asked for late, by a test that nothing showed to be a tuning case
        pytest.skip(_SKIPPED)
    return OneCase(request.node, bench.tune)


class _Skipper:
    """Without `--ansor-bench`, tuning cases are skipped and cost nothing."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        skip = pytest.mark.skip(reason=_SKIPPED)
        for item in bench_items(items):
            item.add_marker(skip)
