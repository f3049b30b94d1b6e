"""pytest's hooks, thin: settings in, cases run, tables and files out.

Everything that tunes, computes or renders is imported when a case is to be run, so that a
session without `--ansor-bench` pays for little more than this file.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import pytest

from pytest_ansorbench import hookspecs
from pytest_ansorbench.options import Settings, add_options, resolve

if TYPE_CHECKING:
    from pytest_ansorbench.bench import Progress
    from pytest_ansorbench.records import CaseResult, Result, Verdict
    from pytest_ansorbench.strategies import Strategy
    from pytest_ansorbench.workloads import Case

FIXTURE: Final = "ansor_bench"
MARKER: Final = "ansor_bench"

T = TypeVar("T")


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


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the `--ansor-*` options and their ini twins."""
    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let conftest files implement our hooks."""
    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker and, with `--ansor-bench`, the part that does the work."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(trials=..., repeats=..., max_search_ratio=..., min_throughput_ratio=..., ...): "
        "budget and gates of a tuning case; any --ansor option that makes sense for one test",
    )
    if not config.getoption("ansor_bench"):
        config.pluginmanager.register(_Skipper(), "ansorbench-skipper")
        return
    if config.getoption("numprocesses", default=None):
        raise pytest.UsageError(
            "bad option -n: live searches cannot share a machine with other test processes; "
            "run pytest --ansor-bench without -n, or with -n 0"
        )
    config.pluginmanager.register(_Bench(config), "ansorbench-session")


@pytest.fixture
def ansor_bench(request: pytest.FixtureRequest) -> AnsorBench:
    """Tune a case with every strategy, compare them, and fail if a gate is broken.

    Call it once with a case: `ansor_bench(workloads.CONV2D[0])`. Budget and gates come from
    the `ansor_bench` marker, the ini file or the command line.
    """
    bench: _Bench = request.config.pluginmanager.getplugin("ansorbench-session")
    return _OneTest(bench, request.node)


class _Skipper:
    """Without `--ansor-bench`, tuning cases are skipped and cost nothing."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        skip = pytest.mark.skip(reason="tuning case; run it with --ansor-bench")
        for item in _bench_items(items):
            item.add_marker(skip)


class _Bench:
    """One session with `--ansor-bench`."""

    def __init__(self, config: pytest.Config) -> None:
        from pytest_ansorbench.bench import Session
        from pytest_ansorbench.strategies import Registry

        self.config = config
        self.settings = _usage(resolve, config)
        self.registry = Registry()
        self.session = Session(
            target=self.settings.target,
            build_workers=self.settings.build_workers,
            build_timeout_s=self.settings.build_timeout_s,
            run_timeout_s=self.settings.run_timeout_s,
            root=config.rootpath,
        )
        if self.settings.json is not None:
            _check_writable(self.settings.json)
        self._saved: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Gather strategies, now that all conftest files of the command line are loaded."""
        from pytest_ansorbench.strategies import StrategyError

        try:
            self.registry.add_entry_points()
            for offered in self.config.hook.pytest_ansorbench_strategies(config=self.config):
                for strategy in offered:
                    self.registry.add(strategy)
        except StrategyError as error:
            raise pytest.UsageError(str(error)) from None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Select cases, and refuse bad settings before anything runs."""
        if self.settings.cases:
            self._select(items, self.settings.cases)
        for item in _bench_items(items):
            try:
                self._arms(self.settings_of(item))
            except pytest.UsageError as error:
                raise pytest.UsageError(f"{item.nodeid}: {error}") from None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Check the toolchain once, before the first case, if there is one to be run."""
        from pytest_ansorbench.environment import ToolchainError

        if self.config.getoption("collectonly") or not any(_bench_items(session.items)):
            return
        try:
            self.session.prepare()
        except ToolchainError as error:
            raise pytest.UsageError(str(error)) from None

    def pytest_sessionfinish(self) -> None:
        """End all worker processes, and store the result."""
        from pytest_ansorbench.storage import StorageError, save_numbered

        self.session.close()
        if self.settings.save is None or not self.session.results:
            return
        storage = self.config.rootpath / self.settings.storage
        try:
            path = save_numbered(self._result(), storage, self.settings.save)
        except StorageError as error:
            self._saved.append(f"not saved: {error}")
        else:
            self._saved.append(f"saved: {path}")

    def pytest_unconfigure(self) -> None:
        """End all worker processes, however the session ended."""
        self.session.close()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table of everything that finished."""
        from pytest_ansorbench.report import (
            DEFAULT_COLUMNS,
            DEFAULT_SORT,
            describe_case,
            legend,
            render_table,
        )

        results = self.session.results
        for text in self._saved:
            terminalreporter.write_line(text)
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
        if terminalreporter.verbosity > 0:
            for result in results:
                terminalreporter.write_line("")
                for text in describe_case(result):
                    terminalreporter.write_line(text)

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
        return _usage(resolve, self.config, keywords)

    def run(self, item: pytest.Item, case: Case) -> CaseResult:
        """Run one case and keep its result; files are brought up to date at once."""
        from pytest_ansorbench.bench import Plan
        from pytest_ansorbench.stats import Limits

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

    def _arms(self, settings: Settings) -> list[Strategy]:
        return [_usage(self.registry.get, name) for name in settings.strategies]

    def _select(self, items: list[pytest.Item], wanted: Sequence[str]) -> None:
        by_id = {_case_id(item): item for item in _bench_items(items)}
        known = [case_id for case_id in by_id if case_id]
        for case_id in wanted:
            if case_id not in known:
                import difflib

                close = difflib.get_close_matches(case_id, known, n=1) or known[:1]
                hint = f", e.g. {close[0]!r}" if close else "; no case was collected"
                raise pytest.UsageError(
                    f"bad --ansor-case {case_id!r}: expected the id of a collected case{hint}"
                )
        selected = [item for item in items if _case_id(item) in wanted]
        deselected = [item for item in items if _case_id(item) not in wanted]
        self.config.hook.pytest_deselected(items=deselected)
        items[:] = selected

    def _result(self) -> Result:
        return self.session.result(self.settings.to_json())

    def _write_json(self) -> None:
        if self.settings.json is not None and self.session.results:
            from pytest_ansorbench.storage import write_result

            write_result(self._result(), self.settings.json)

    def _progress(self) -> Progress:
        from pytest_ansorbench.bench import Silent

        reporter = self.config.pluginmanager.getplugin("terminalreporter")
        if reporter is None or not reporter.isatty or reporter.verbosity < 0:
            return Silent()
        from pytest_ansorbench.report import LiveLine

        capture = self.config.pluginmanager.getplugin("capturemanager")

        def write(text: str) -> None:
            with capture.global_and_fixture_disabled():
                reporter.write(text, flush=True)

        reporter.ensure_newline()
        return LiveLine(write)


class _OneTest:
    """The fixture's value: runs one case for one test."""

    def __init__(self, bench: _Bench, item: pytest.Item) -> None:
        self._bench = bench
        self._item = item
        self._used = False

    def __call__(self, case: Case | str) -> CaseResult:
        from pytest_ansorbench.workloads import Case, UnknownCase, get

        __tracebackhide__ = True
        if self._used:
            pytest.fail("ansor_bench was called twice; a test tunes one case", pytrace=False)
        self._used = True
        if isinstance(case, str):
            try:
                case = get(case)
            except UnknownCase as error:
                pytest.fail(str(error), pytrace=False)
        if not isinstance(case, Case):
            pytest.fail(
                f"bad case {case!r}: expected a case or the id of one, e.g. workloads.CONV2D[0]",
                pytrace=False,
            )
        result = self._bench.run(self._item, case)
        self._judge(result)
        return result

    def _judge(self, result: CaseResult) -> None:
        __tracebackhide__ = True
        settings = self._bench.settings_of(self._item)
        for verdict in result.verdicts:
            self._item.user_properties += _properties(verdict)
        gated = settings.max_search_ratio is not None or settings.min_throughput_ratio is not None
        if gated and not result.verdicts:
            pytest.fail(
                f"nothing to compare: --ansor-strategy {','.join(settings.strategies)} names "
                "no candidate, but a gate is set; name two, e.g. default,etc",
                pytrace=False,
            )
        complaints = {outcome: _complaints(result, outcome) for outcome in ("broken", "undecided")}
        if settings.strict:
            complaints["broken"] += complaints.pop("undecided")
        if complaints["broken"]:
            from pytest_ansorbench.report import render_table

            message = "\n".join([*complaints["broken"], "", render_table([result])])
            pytest.fail(message, pytrace=False)
        for complaint in complaints.get("undecided", ()):
            warnings.warn(UndecidedWarning(complaint), stacklevel=3)


def _bench_items(items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
    return (item for item in items if FIXTURE in getattr(item, "fixturenames", ()))


def _case_id(item: pytest.Item) -> str | None:
    """Id of the case that a test is parametrized with, whatever the parameter is called."""
    from pytest_ansorbench.workloads import Case

    callspec = getattr(item, "callspec", None)
    for value in callspec.params.values() if callspec is not None else ():
        if isinstance(value, Case):
            return value.id
    return None


def _usage(call: Callable[..., T], *args: Any) -> T:
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


def _complaints(result: CaseResult, outcome: str) -> list[str]:
    """A sentence for each gate of this outcome."""
    return [
        f"{result.case}, {verdict.comparison.candidate.strategy} against "
        f"{verdict.comparison.reference.strategy}: {gate.message}"
        for verdict in result.verdicts
        for gate in verdict.gates
        if gate.outcome == outcome
    ]


def _repeats(result: CaseResult) -> int:
    return sum(run.strategy == result.strategies[0] for run in result.runs)


def _properties(verdict: Verdict) -> list[tuple[str, object]]:
    """Figures for JUnit XML and whoever else reads a test report's properties."""
    comparison = verdict.comparison
    prefix = f"ansor_{comparison.candidate.strategy}"
    return [
        (f"{prefix}_search_ratio", comparison.search_ratio.value),
        (f"{prefix}_throughput_ratio", comparison.throughput_ratio.value),
        (f"{prefix}_verdict", verdict.outcome or "no gate"),
    ]
