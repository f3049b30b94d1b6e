"""What `--ansor-bench` adds to a session: cases are run, their results shown and stored."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from pytest_ansorbench.bench import Plan, Progress, Session, Silent
from pytest_ansorbench.environment import ToolchainError
from pytest_ansorbench.measure import EngineSettings
from pytest_ansorbench.options import Settings, resolve
from pytest_ansorbench.plugin.selection import MARKER, bench_items, select
from pytest_ansorbench.report import (
    DEFAULT_COLUMNS,
    DEFAULT_SORT,
    LiveLine,
    describe_case,
    legend,
    machine_warnings,
    render_table,
)
from pytest_ansorbench.stats import Limits
from pytest_ansorbench.storage import StorageError, save_numbered, slugify, write_result
from pytest_ansorbench.strategies import Registry, Strategy, StrategyError, control_of

if TYPE_CHECKING:
    from pytest_ansorbench.records import CaseResult, Result
    from pytest_ansorbench.workloads import Case

T = TypeVar("T")


class LiveBench:
    """One session with `--ansor-bench`: a plugin of its own, registered by the option."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.settings = usage(resolve, config)
        self.registry = Registry()
        self.session = Session(
            target=self.settings.target,
            engine=EngineSettings(
                build_workers=self.settings.build_workers,
                build_timeout_s=self.settings.build_timeout_s,
                run_timeout_s=self.settings.run_timeout_s,
                memory_limit_mb=self.settings.memory_limit_mb,
                check=self.settings.check,
                flush_cache_mb=self.settings.flush_cache_mb,
                cores=self.settings.cores,
            ),
            root=config.rootpath,
        )
        if self.settings.json is not None:
            _check_writable(self.settings.json)
        if self.settings.save is not None:
            _check_name(self.settings.save)
        self._stored = ""  # what became of --ansor-save, for the summary

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Gather strategies, select cases, and refuse bad settings before anything runs."""
        self._gather_strategies()
        if self.settings.cases:
            selected = select(items, self.settings.cases)
            self.config.hook.pytest_deselected(items=[i for i in items if i not in selected])
            items[:] = selected
        for item in bench_items(items):
            try:
                self._arms(self.settings_of(item))
            except pytest.UsageError as error:
                raise pytest.UsageError(f"{item.nodeid}: {error}") from None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Check the toolchain once, before the first case, if there is one to be run."""
        if self.config.getoption("collectonly") or not any(bench_items(session.items)):
            return
        try:
            self.session.prepare()
        except ToolchainError as error:
            raise pytest.UsageError(str(error)) from None

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """End all worker processes, and store the result; a failure to do so fails the session."""
        self.session.close()
        if self.settings.save is None or not self.session.results:
            return
        storage = self.config.rootpath / self.settings.storage
        try:
            path = save_numbered(self._result(), storage, self.settings.save)
        except StorageError as error:
            self._stored = f"not saved: {error}"
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
        else:
            self._stored = f"saved: {path}"

    def pytest_unconfigure(self) -> None:
        """End all worker processes, however the session ended."""
        self.session.close()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table of everything that finished."""
        results = self.session.results
        if not results:
            return
        settings = self.settings
        columns = settings.columns or DEFAULT_COLUMNS
        terminalreporter.section("ansor bench")
        terminalreporter.write_line(
            render_table(results, columns=columns, sort=settings.sort or DEFAULT_SORT)
        )
        terminalreporter.write_line("")
        for text in legend(
            columns,
            tolerance=settings.tolerance,
            confidence=settings.confidence,
            repeats=min(_repeats(result) for result in results),
        ):
            terminalreporter.write_line(text)
        for text in machine_warnings(results):
            terminalreporter.write_line(text, yellow=True)
        if terminalreporter.verbosity > 0:
            for result in results:
                terminalreporter.write_line("")
                for text in describe_case(result):
                    terminalreporter.write_line(text)
        if self._stored:
            terminalreporter.write_line(self._stored)

    def settings_of(self, item: pytest.Item) -> Settings:
        """The settings of one test.

        Raises:
            pytest.UsageError: Its marker does not fit.
        """
        marker = item.get_closest_marker(MARKER)
        if marker is not None and marker.args:
            raise pytest.UsageError(
                f"bad marker argument {marker.args[0]!r}: expected keywords, "
                "e.g. ansor_bench(trials=1000)"
            )
        # Markers add up from module to class to function, the closest one winning.
        keywords: dict[str, Any] = {}
        for each in reversed(list(item.iter_markers(MARKER))):
            keywords.update(each.kwargs)
        return usage(resolve, self.config, keywords)

    def run(self, item: pytest.Item, case: Case) -> CaseResult:
        """Run one case and keep its result; files are brought up to date at once."""
        settings = self.settings_of(item)
        plan = Plan(
            trials=settings.trials,
            round_trials=settings.trials_per_round,
            repeats=settings.repeats,
            seed=settings.seed,
            order=settings.order,
            final_samples=settings.final_samples,
            tolerance=settings.tolerance,
            confidence=settings.confidence,
            limits=Limits(settings.max_search_ratio, settings.min_throughput_ratio),
        )
        try:
            result = self.session.run(case, self._arms(settings), plan, self._progress())
        finally:
            self._write_json()
        self.config.hook.pytest_ansorbench_case_finished(config=self.config, result=result)
        return result

    def _gather_strategies(self) -> None:
        """Ask for strategies, now that collection has loaded every conftest."""
        try:
            self.registry.add_entry_points()
            for offered in self.config.hook.pytest_ansorbench_strategies(config=self.config):
                for strategy in offered:
                    self.registry.add(strategy)
        except StrategyError as error:
            raise pytest.UsageError(str(error)) from None

    def _arms(self, settings: Settings) -> list[Strategy]:
        arms = [usage(self.registry.get, name) for name in settings.strategies]
        return [*arms, control_of(arms[0])] if settings.control else arms

    def _result(self) -> Result:
        return self.session.result(self.settings.to_json())

    def _write_json(self) -> None:
        if self.settings.json is not None and self.session.results:
            write_result(self._result(), self.settings.json)

    def _progress(self) -> Progress:
        reporter = self.config.pluginmanager.getplugin("terminalreporter")
        if reporter is None or not reporter.isatty or reporter.verbosity < 0:
            return Silent()
        capture = self.config.pluginmanager.getplugin("capturemanager")

        def write(text: str) -> None:
            with capture.global_and_fixture_disabled() if capture else nullcontext():
                reporter.write(text, flush=True)

        reporter.ensure_newline()
        return LiveLine(write)


def usage(call: Callable[..., T], *args: Any) -> T:
    """Call a function, with a bad setting or strategy turned into pytest's usage error."""
    try:
        return call(*args)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


def _check_writable(path: Path) -> None:
    """Find out before an hour of search, not after it, that the result cannot be written."""
    folder = path.resolve().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise pytest.UsageError(f"bad --ansor-json {str(path)!r}: {error}") from None
    if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise pytest.UsageError(
            f"bad --ansor-json {str(path)!r}: expected a file that can be written, e.g. result.json"
        )


def _check_name(name: str) -> None:
    try:
        slugify(name)
    except StorageError as error:
        raise pytest.UsageError(f"bad --ansor-save: {error}") from None


def _repeats(result: CaseResult) -> int:
    return sum(run.strategy == result.strategies[0] for run in result.runs)
