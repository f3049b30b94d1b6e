"""The bridge to pytest-benchmark: each case and strategy is a benchmark in its tables and files.

pytest-benchmark times functions; here the runs have been timed already. So its own fixture is
given a clock that stands still, and a function that advances the clock by a run's search time.
All that ends up in its files is made by pytest-benchmark itself.
"""

from __future__ import annotations

import statistics
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from pytest_benchmark.session import BenchmarkSession
from pytest_benchmark.utils import NameWrapper

from pytest_ansorbench.codec import to_json
from pytest_ansorbench.plugin.judging import LastTest
from pytest_ansorbench.plugin.selection import FIXTURE
from pytest_ansorbench.records import CaseResult, Run, Verdict


class Bridge:
    """Hands every finished case on; silent where pytest-benchmark is disabled or blocked."""

    def __init__(self, config: pytest.Config, *, table: bool) -> None:
        self._config = config
        self._table = table  # whether pytest-benchmark shows its table of the same runs
        self._ours = 0

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(
        self, items: list[pytest.Item]
    ) -> Generator[None, object, object]:
        """Have `--benchmark-only` leave tuning cases alone: they are benchmarks as well."""
        # There it is, too, where it was kept from being a plugin.
        session = getattr(self._config, "_benchmarksession", None)
        if not isinstance(session, BenchmarkSession) or not session.only:
            return (yield)
        session.only = False
        try:
            answer = yield
        finally:
            session.only = True
        skip = pytest.mark.skip(reason="no benchmark, and --benchmark-only is given")
        for item in items:
            names = getattr(item, "fixturenames", ())
            if not (FIXTURE in names or "benchmark" in names or isinstance(item, LastTest)):
                item.add_marker(skip)
        return answer

    def pytest_ansorbench_case_finished(self, item: pytest.Item, result: CaseResult) -> None:
        """Make a benchmark of each strategy, in a group named after the case."""
        session = self._config.pluginmanager.getplugin("pytest-benchmark")
        if not isinstance(session, BenchmarkSession) or session.disabled or session.skip:
            return
        verdicts = {v.comparison.challenger.strategy: v for v in result.verdicts}
        for strategy in result.strategies:
            if runs := result.runs_of(strategy):
                self._ours += 1
                info = {"case": result.case, "strategy": strategy, **_figures(runs)}
                info |= _ratios(verdicts.get(strategy))
                _record(session, item, runs, info)

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self) -> None:
        """Keep pytest-benchmark from showing a second table, unless there is more to it.

        That is the case if it was asked for, if pytest-benchmark compares or draws, or if it has
        benchmarks of others.
        """
        session = self._config.pluginmanager.getplugin("pytest-benchmark")
        if not isinstance(session, BenchmarkSession) or self._table or session.verbose:
            return
        more = session.histogram or session.compared_mapping
        if len(session.benchmarks) == self._ours and not more:
            session.quiet = True


def _record(session: Any, item: pytest.Item, runs: Sequence[Run], info: dict[str, Any]) -> None:
    clock = _Clock(run.search_s for run in runs)
    options = {**session.options, "timer": NameWrapper(clock.search_time), "cprofile": False}
    fixture = BenchmarkFixture(
        item,
        add_stats=session.benchmarks.append,
        logger=session.logger,
        warner=item.warn,
        disabled=session.disabled,
        **options,
    )
    callspec = getattr(item, "callspec", None)
    stem = callspec.id if callspec is not None else info["case"]
    fixture.param = f"{stem}-{info['strategy']}"
    fixture.params = {"case": info["case"], "strategy": info["strategy"]}
    fixture.name = f"{item.name.partition('[')[0]}[{fixture.param}]"
    fixture.fullname = f"{item.nodeid.partition('[')[0]}[{fixture.param}]"
    fixture.group = info["case"]
    fixture.extra_info = info
    fixture.pedantic(clock.advance, rounds=len(runs))


class _Clock:
    """Shows the seconds that searches took, one after the other."""

    def __init__(self, seconds: Iterator[float]) -> None:
        self._seconds = seconds
        self._now_s = 0.0

    def search_time(self) -> float:
        return self._now_s

    def advance(self) -> None:
        """Move on by the next search's seconds."""
        self._now_s += next(self._seconds)


def _figures(runs: Sequence[Run]) -> dict[str, Any]:
    finals = [run.final.latency_s for run in runs if run.final is not None]
    latencies = [latency_s for latency_s in finals if latency_s is not None]
    latency_s = statistics.geometric_mean(latencies) if latencies else None
    return {
        "trials": sum(len(run.trials) for run in runs),
        "failed_trials": sum(run.failed_trials for run in runs),
        "kernel_latency_s": latency_s,
        "gflops": runs[0].flops / latency_s / 1e9 if latency_s else None,
    }


def _ratios(verdict: Verdict | None) -> dict[str, Any]:
    """Figures that only a challenger has, as result files have them."""
    if verdict is None:
        return {}
    return {
        "search_ratio": to_json(verdict.comparison.search_ratio),
        "throughput_ratio": to_json(verdict.comparison.throughput_ratio),
        "verdict": verdict.outcome or "no gate",
    }
