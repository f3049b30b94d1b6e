"""The plugin behind `--ansor-kernels`: saved kernels are made again, case by case, and judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from pytest_ansorbench.environment import ToolchainError
from pytest_ansorbench.kernels import NoReferenceError, Rebuilding, TargetsError, fastest
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.toolchain import toolchains
from pytest_ansorbench.options.declarations import flag_of
from pytest_ansorbench.options.refusals import in_options
from pytest_ansorbench.options.resolve import resolve
from pytest_ansorbench.options.settings import Settings
from pytest_ansorbench.plugin import judging
from pytest_ansorbench.plugin.blame import failures, usage_errors
from pytest_ansorbench.plugin.refusals import LATE, failure, passed_over, usage
from pytest_ansorbench.plugin.selection import (
    SELECTED,
    bench_items,
    case_id,
    keywords_of,
    select,
    will_run,
)
from pytest_ansorbench.plugin.showing import print_report
from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.records.rebuilt_kernels import KernelsVerdict, RebuiltKernel
from pytest_ansorbench.report.rebuilt_tables import (
    kernel_gate_sentence,
    kernels_report,
    suite_gate_sentence,
)
from pytest_ansorbench.report.render.terminal import Terminal
from pytest_ansorbench.stats.failures import toolchain_failures
from pytest_ansorbench.stats.rebuilt_ratios import (
    NOTHING_TO_HOLD_TO,
    KernelLimits,
    judge_rebuilt,
)
from pytest_ansorbench.storage import StorageError, read_saved, write_rebuilt
from pytest_ansorbench.winners import NO_SCHEDULES, Winner, winners_of
from pytest_ansorbench.workloads import Case


class KernelBench:
    """One session with `--ansor-kernels`, in place of one that searches."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        """Read the result.

        Raises:
            pytest.UsageError: There is none, or it keeps no schedules.
        """
        self._config, self._settings = config, settings
        self._notes: list[str] = []  # lines at the end of the summary
        flag, wanted = flag_of("kernels.result"), settings.kernels.result
        assert wanted is not None
        try:
            storage = config.rootpath / settings.files.storage
            _, self._result = read_saved(storage, wanted, passed_over(self._notes))
        except StorageError as error:
            raise pytest.UsageError(f"bad {flag}: {in_options(error)}") from None
        self._winners = fastest(winners_of(self._result))
        if not self._winners:
            raise pytest.UsageError(f"bad {flag} {wanted!r}: {NO_SCHEDULES}")
        self._toolchains = toolchains(settings.kernels.against, settings.kernels.variants)
        self._rebuilding: Rebuilding | None = None
        self._tests: dict[str, Settings] = {}  # by test, as its marker has them
        self._judgements: dict[str, tuple[judging.Judgement, ...]] = {}  # by test, of those made
        self._gates = (0, 0)  # on kernels and on suites, which false alarms are shared out among

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Select cases, and count their gates."""
        with usage_errors(self._config, "while selecting cases"):
            if self._settings.cases:
                select(items, self._settings.cases, self._config)
            tests = [*bench_items(items)]
            for test in tests:
                try:
                    self._tests[test.nodeid] = usage(resolve, self._config, keywords_of(test))
                except pytest.UsageError as error:
                    raise pytest.UsageError(f"{test.nodeid}: {error}") from None
            gated = [one for one in tests if _limits_of(self._tests[one.nodeid]).kernel is not None]
            kernels = sum(len(self._winners_of(case_id(test))) for test in gated)
        challengers = max(1, len(self._toolchains) - 1)
        suite = self._settings.suite_limits.get("throughput_ratio") is not None
        self._gates = (challengers * kernels, challengers if suite else 0)
        if tests and suite:
            items.append(judging.LastTest.of(session, "kernels", self._judge_suite))
        session.stash[SELECTED] = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Start the toolchains once, before the first case, if there is one to be run."""
        judging.put_last(session.items)
        if not will_run(session):
            return
        settings = self._settings
        try:
            self._rebuilding = Rebuilding(
                [self._result],
                self._winners,
                self._toolchains,
                target=settings.target,
                settings=settings.engine,
                noise_check_s=settings.experiment.noise_check_s,
                root=self._config.rootpath,
            )
            self._rebuilding.start()
        except NoReferenceError as error:
            raise pytest.UsageError(
                f"bad {flag_of('kernels.result')}: its latencies {error}; give "
                f"{flag_of('kernels.against')} PYTHON, whose kernels are measured here"
            ) from None
        except TargetsError as error:
            raise pytest.UsageError(
                f"bad {flag_of('kernels.result')}: {error}; give {flag_of('target')}"
            ) from None
        except (EngineError, ToolchainError) as error:
            raise pytest.UsageError(in_options(error)) from None

    def tune(self, item: pytest.Item, case: Case) -> CaseResult:
        """Make the kernels of a case again and judge them; gives the saved result of the case.

        A test that is run again, as by pytest-rerunfailures, comes to what it came to.
        """
        __tracebackhide__ = True
        if item.nodeid in self._judgements:
            judging.note_rerun(item, self._notes)
        else:
            with failures(self._config, "while making the case's kernels again"):
                self._judgements[item.nodeid] = self._made_again(item, case)
        strict = self._tests[item.nodeid].strict
        judging.settle(self._judgements[item.nodeid], strict=strict)
        return next(one for one in self._result.cases if one.case == case.id)

    def _made_again(self, item: pytest.Item, case: Case) -> tuple[judging.Judgement, ...]:
        """Make the kernels of a case again, and hold them against its limits."""
        __tracebackhide__ = True
        if item.nodeid not in self._tests:
            raise failure(LATE)
        winners = self._winners_of(case.id)
        if not winners:
            pytest.skip(f"{self._settings.kernels.result} keeps no schedule of {case.id}")
        assert self._rebuilding is not None
        rows = [(winner,) * len(self._toolchains) for winner in winners]
        effort = self._settings.kernels.sets.effort
        try:
            kernels = self._rebuilding.make(rows, effort, lambda winner: case)
        except EngineError as error:
            raise failure(f"the measurement engine gave up: {error}") from None
        limits = _limits_of(self._tests[item.nodeid])
        verdicts = self._judged(kernels, limits)
        for verdict in verdicts:
            prefix = f"ansor_kernels_{verdict.toolchain}"
            for one in verdict.kernels:
                name = Terminal().line(f"{prefix}_{one.kernel}_throughput_ratio")
                item.user_properties.append((name, judging.property_of(one.ratio)))
        broken = judging.of_failures(case.id, toolchain_failures(kernels), self._settings.to_json())
        told = [*broken, *_of_kernels(verdicts)]
        if limits.kernel is not None and not told:
            told = [("undecided", f"{case.id}: {NOTHING_TO_HOLD_TO}")]
        return tuple(told)

    def _judge_suite(self, item: pytest.Item) -> None:
        """Judge all kernels together, after the last case."""
        __tracebackhide__ = True
        if self._rebuilding is not None:
            self._rebuilding.finish()
        verdicts = self._every_verdict()
        if not verdicts:
            pytest.fail("no kernel was made, so there is nothing to judge", pytrace=False)
        told = [*_of_all_kernels(verdicts)] or [("undecided", NOTHING_TO_HOLD_TO)]
        judging.settle(told, strict=self._settings.strict)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write what there is, and end all processes; a failure to write fails the session."""
        path, rebuilding = self._settings.files.json, self._rebuilding
        if rebuilding is None:
            return
        if rebuilding.rebuilt.kernels:
            if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
                rebuilding.finish()
            if path is not None:
                try:
                    write_rebuilt(rebuilding.rebuilt, path)
                except StorageError as error:
                    flag = flag_of("files.json")
                    self._notes.append(f"not written: {flag}: {in_options(error)}")
                    session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
        rebuilding.close()

    def pytest_unconfigure(self) -> None:
        """End all processes, however the session ended."""
        if self._rebuilding is not None:
            self._rebuilding.close()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table of all kernels."""
        if self._rebuilding is not None and (rebuilt := self._rebuilding.rebuilt).kernels:
            terminalreporter.section("ansor kernels")
            print_report(terminalreporter, kernels_report(rebuilt, self._every_verdict()))
        for note in self._notes:
            terminalreporter.write_line(note)

    def _every_verdict(self) -> tuple[KernelsVerdict, ...]:
        """On all kernels made so far, by the limits of the session."""
        limits = KernelLimits(
            self._settings.limits.get("throughput_ratio"),
            self._settings.suite_limits.get("throughput_ratio"),
        )
        made = () if self._rebuilding is None else self._rebuilding.rebuilt.kernels
        return self._judged(made, limits)

    def _judged(
        self, kernels: Sequence[RebuiltKernel], limits: KernelLimits
    ) -> tuple[KernelsVerdict, ...]:
        if self._rebuilding is None:
            return ()
        some = replace(self._rebuilding.rebuilt, kernels=tuple(kernels))
        return judge_rebuilt(some, self._settings.criteria, limits, self._gates)

    def _winners_of(self, case: str | None) -> list[Winner]:
        """Those of a case; all, if that shows only when its test runs."""
        return [winner for winner in self._winners if case in (None, winner.case)]


def _limits_of(settings: Settings) -> KernelLimits:
    """The gate of a test."""
    return KernelLimits(settings.limits.get("throughput_ratio"))


def _of_kernels(verdicts: Sequence[KernelsVerdict]) -> Iterator[judging.Judgement]:
    for verdict in verdicts:
        for one in verdict.kernels:
            if one.gate is not None:
                sentence = kernel_gate_sentence(one, one.gate, verdict.reference)
                yield one.gate.outcome, Terminal().line(sentence)


def _of_all_kernels(verdicts: Sequence[KernelsVerdict]) -> Iterator[judging.Judgement]:
    for verdict in verdicts:
        if verdict.gate is not None:
            yield verdict.gate.outcome, Terminal().line(suite_gate_sentence(verdict, verdict.gate))
