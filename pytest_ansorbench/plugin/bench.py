"""The plugin behind `--ansor-bench`: one session, from the tests it collects to its summary."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_ansorbench.options.declarations import flag_of, option_of
from pytest_ansorbench.options.refusals import in_options
from pytest_ansorbench.options.resolve import is_on_command_line
from pytest_ansorbench.options.settings import Settings
from pytest_ansorbench.plugin import judging, workers
from pytest_ansorbench.plugin.baseline import ANY_MACHINE, Baseline
from pytest_ansorbench.plugin.blame import failures, usage_errors
from pytest_ansorbench.plugin.collected import COMPARE_FAIL, Collected
from pytest_ansorbench.plugin.refusals import LATE, failure
from pytest_ansorbench.plugin.saved_runs import SavedRuns
from pytest_ansorbench.plugin.saving import Saving
from pytest_ansorbench.plugin.searches import RUN, Searches, ran_all
from pytest_ansorbench.plugin.selection import SELECTED, bench_items, deselect, select
from pytest_ansorbench.plugin.shards import this_shard
from pytest_ansorbench.plugin.showing import (
    print_report,
    progress_on,
    short_report,
)
from pytest_ansorbench.plugin.suite import Suite
from pytest_ansorbench.records import CaseResult, Gate, Result, Shard, Shards, SuiteVerdict
from pytest_ansorbench.report.build import changes_report, failure_report
from pytest_ansorbench.report.render.terminal import Terminal
from pytest_ansorbench.report.wording import counted
from pytest_ansorbench.stats.changes import CaseChanges
from pytest_ansorbench.stats.failures import arm_failures
from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.gate import families
from pytest_ansorbench.storage import StorageError, changes_since
from pytest_ansorbench.workloads import Case


class Bench:
    """One session with `--ansor-bench`: a plugin of its own, registered by the option."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        """Read what was saved; nothing is started.

        Raises:
            pytest.UsageError: A result or a journal is not there or not whole.
        """
        self._config, self._settings = config, settings
        self._notes: list[str] = []  # lines at the end of the summary
        self._source: Searches | SavedRuns
        try:
            self._source = (
                SavedRuns(settings, self._notes)
                if settings.replay
                else Searches(config, settings, self._notes)
            )
        except StorageError as error:
            raise pytest.UsageError(in_options(error)) from None
        config.pluginmanager.register(self._source, "ansorbench-source")
        wanted = settings.baseline.compare
        # Read before this session stores a result of its own.
        storage = config.rootpath / settings.files.storage
        self._baseline = None if wanted is None else Baseline(storage, wanted, self._notes)
        self._suite = Suite(settings, self._source.looks, self._baseline)
        self._saving = Saving(config.rootpath, settings, self._notes)
        self._family = 1  # over how many gates on cases false alarms could be shared out
        self._tests: dict[str, Collected] = {}
        self._tuning: dict[str, Collected] = {}  # by case, the first test that tunes it
        # By test, what it came to when it was judged
        self._judged: dict[str, tuple[Collected, CaseResult, CaseChanges | None]] = {}
        self._finished: set[str] = set()
        self._unasked = Counter[str]()  # gates that no test has asked for, in words
        self._shards: Shards | None = None
        # Whether all that processes of pytest-xdist have run is here, and in their journals.
        self._is_whole = True
        self._have_run = True  # whether they have run all of it
        self._over: pytest.Session | None = None  # once it is
        self._began_s = time.monotonic()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Select cases, resolve each test, and refuse bad settings before anything runs."""
        settings = self._settings
        with usage_errors(self._config, "while selecting cases"):
            if settings.cases:
                select(items, settings.cases, self._config)
            for item in bench_items(items):
                try:
                    self._collect(item)
                except pytest.UsageError as error:
                    raise pytest.UsageError(f"{item.nodeid}: {error}") from None
            tests = self._tests.values()
            self._family, self._suite.family = families(
                sum(test.gates for test in tests),
                self._suite.count_gates([test.arms for test in tests]),
            )
            if settings.shard is not None and tests:
                self._keep_shard(settings.shard, items)
            elif tests and self._asks_for_suite():
                items.append(judging.LastTest.of(session, "suite", self._judge_suite))
        session.stash[SELECTED] = True

    def _asks_for_suite(self) -> bool:
        """Whether all cases are judged together; gates of an ini file not where all have one arm.

        Raises:
            pytest.UsageError: The command line sets a gate, and there is nothing to compare.
        """
        settings, tests = self._settings, [*self._tests.values()]
        if not settings.has_suite_gates or any(len(test.arms) > 1 for test in tests):
            return settings.has_suite_gates
        reference = tests[0].arms[0]
        fields = [f"suite_limits.{key}" for key in settings.suite_limits]
        fields += [COMPARE_FAIL] if settings.baseline.suite_allowances else []
        here = [field for field in fields if is_on_command_line(self._config, field)]
        if here:
            raise pytest.UsageError(_nothing_to_compare(reference, here))
        gates = ", ".join(option_of(field).keyword for field in fields)
        self._notes.append(f"not asked for, as {reference} names no challenger: {gates}")
        return False

    def _collect(self, item: pytest.Item) -> None:
        """Resolve a test; a usage error if its runs could not be told from those of another."""
        if item.nodeid in self._tests:
            raise pytest.UsageError(
                "it was collected twice; ask for it once, and without --keep-duplicates"
            )
        test = Collected.of(item, self._source.arms)
        self._check_apart(test)
        self._tests[item.nodeid] = test

    def _check_apart(self, test: Collected) -> None:
        """Refuse a case whose runs would be mixed with those of another test: ids tell them apart.

        Raises:
            pytest.UsageError: They would.
        """
        if test.case is None:
            return
        first, settings = self._tuning.setdefault(test.case, test), self._settings
        if first.name == test.name:
            return
        if settings.shard is not None:
            how = "as well, and shards are put together by the ids of cases"
        elif settings.replay:  # budgets are those that were run
            return
        elif workers.is_worker(self._config):
            how = "as well, and what processes have run is put together by the ids of cases"
        elif first.settings.budget != test.settings.budget:
            how = "under another budget, and results are told apart by the ids of cases"
        else:
            return
        raise pytest.UsageError(
            f"bad case {test.case!r}: {first.name} tunes it {how}; give one of the two another id, "
            "or run them in sessions of their own"
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Go by the tests that other plugins have left, in the order that these gave them."""
        judging.put_last(session.items)
        collected, names = self._tests, [item.nodeid for item in session.items]
        self._tests = {name: collected[name] for name in names if name in collected}
        if any(isinstance(item, judging.LastTest) for item in session.items):
            for name, test in collected.items():
                if name not in self._tests:  # as pytest-split may have it
                    self._suite.lose(test.label)

    def _keep_shard(self, shard: Shard, items: list[pytest.Item]) -> None:
        """Leave the tests of other shards out; the number of gates stays that of all."""
        settings, tests = self._settings, [*self._tests.values()]
        storage = self._config.rootpath / settings.files.storage
        planned = {test.name: self._source.planned(test) for test in tests}
        mine = this_shard(shard, tests, planned, storage, settings.shard_by)
        self._shards = mine.record
        self._notes.append(mine.note)
        self._tests = {
            test.name: replace(test, seeds=mine.seeds[test.name])
            for test in tests
            if test.name in mine.seeds
        }
        others = [test.item for test in tests if test.name not in mine.seeds]
        deselect(items, others, self._config)

    def tune(self, item: pytest.Item, case: Case) -> CaseResult:
        """Run the case of a test and judge it: the test fails if a gate is broken.

        A test that is run again, as by pytest-rerunfailures, comes to what it came to.
        """
        __tracebackhide__ = True
        if item.nodeid in self._judged:
            judging.note_rerun(item, self._notes)
        else:
            test = self._test_of(item, case)
            result = self._run(test, case)
            changes = self._changes(test, result)
            if self._baseline is not None and changes is not None:
                self._baseline.changes.append(changes)
            for verdict in result.verdicts:
                item.user_properties += judging.case_properties(verdict)
            self._judged[item.nodeid] = test, result, changes
        test, result, changes = self._judged[item.nodeid]
        if self._settings.shard is None:  # else there are not all runs that gates are about
            judging.settle(
                (
                    *judging.of_failures(case.id, arm_failures(result), self._source.ran_under),
                    *judging.of_case(result, changes, test.allowances),
                ),
                strict=test.settings.strict,
                tables=lambda: Terminal().render(failure_report(result, changes)),
            )
        return result

    def _test_of(self, item: pytest.Item, case: Case) -> Collected:
        """A test with the case that it tunes; a failure if it cannot be run beside the others."""
        __tracebackhide__ = True
        known, name, settings = self._tests.get(item.nodeid), str(case.id), self._settings
        try:
            test = known or Collected.of(item, self._source.arms)
            if test.case != name:
                parted = settings.shard is not None or workers.is_worker(self._config)
                if parted and test.case is not None:
                    raise failure(
                        f"bad case {name!r}: the test was shared out by its parameter, the case "
                        f"{test.case!r}; expected that one"
                    )
                test = test.with_case(name, self._source.arms)
            is_counted = test.gates or settings.has_suite_gates or settings.shard is not None
            if known is None and is_counted:
                raise failure(LATE)
            self._check_apart(test)
        except pytest.UsageError as error:
            raise failure(str(error)) from None
        return test

    def _run(self, test: Collected, case: Case) -> CaseResult:
        """Run one case and keep its result; files are brought up to date at once."""
        __tracebackhide__ = True
        with failures(self._config, "while running the case"):
            _check_arms(test)
            if test.unasked:
                self._unasked[test.unasked] += 1
            plan = test.plan(
                self._family,
                self._deadline_s(test),
                lambda result: self._gates_on(test, result),
            )
            try:
                result = self._source.run(test, case, plan, progress_on(self._config))
                self._finished.add(test.name)
            finally:
                if not workers.is_worker(self._config):
                    self._saving.write_json(self._result())
        with failures(self._config, "while calling pytest_ansorbench_case_finished"):
            self._config.hook.pytest_ansorbench_case_finished(
                config=self._config, item=test.item, result=result
            )
        return result

    def _changes(self, test: Collected, result: CaseResult) -> CaseChanges | None:
        """Changes of a case since the earlier result; None if there is none to compare."""
        if self._baseline is None:
            return None
        return changes_since(
            self._baseline.result,
            result,
            self._source.result().machines,
            test.allowances,
            criteria=test.settings.criteria,
            family=self._family,
            any_machine=test.settings.baseline.any_machine,
        )

    def _gates_on(self, test: Collected, result: CaseResult) -> Sequence[Gate]:
        """The gates on changes, while it is decided whether there are enough repeats."""
        changes = self._changes(test, result) if test.allowances else None
        return () if changes is None else changes.gates

    def _deadline_s(self, test: Collected) -> float:
        """When a case has to be over: what is left of the time goes to all that are left."""
        names = list(self._tests)
        left = len(names) - names.index(test.name) if test.name in names else 1
        now_s = time.monotonic()
        return now_s + max(0.0, self._end_s - now_s) / workers.in_turn(self._config, left)

    @property
    def _end_s(self) -> float:
        """When the session has to be over."""
        limit_s = self._settings.experiment.time_limit_s
        return math.inf if limit_s is None else self._began_s + limit_s

    def _judge_suite(self, item: pytest.Item) -> None:
        """Judge all cases together; run more of them while that can still decide a gate."""
        __tracebackhide__ = True
        suite = self._suite
        verdicts = suite.judge(self._every_result())
        while any(gate.open for gate in suite.gates):
            here = (one.repeats for one in self._source.result().cases if one.runs)
            repeats = min(here, default=0) + 1  # other processes may have run all cases
            with failures(self._config, "while running more repeats"):
                enough = self._source.more(repeats, self._end_s, progress_on(self._config))
            self._saving.write_json(self._result())
            verdicts = suite.judge(self._every_result())
            if not enough:
                break
        item.user_properties = [
            figure for verdict in verdicts for figure in judging.suite_properties(verdict)
        ]
        if not suite.gates:
            pytest.fail(
                "no case was compared, so there is nothing to judge the suite by; run it with its "
                "cases, without --lf or -k",
                pytrace=False,
            )
        judging.settle(judging.of_suites(verdicts, suite.changes), strict=self._settings.strict)

    def _every_result(self) -> tuple[CaseResult, ...]:
        """The results of all cases, those that other processes of pytest-xdist run included."""
        results = self._source.result().cases
        if not (workers.is_worker(self._config) and isinstance(self._source, SavedRuns)):
            return results
        order = {test.case: place for place, test in enumerate(self._tests.values())}
        every = (*results, *self._judged_elsewhere(self._source))
        return tuple(sorted(every, key=lambda result: order.get(result.case, len(order))))

    def _judged_elsewhere(self, saved: SavedRuns) -> Iterator[CaseResult]:
        for name, test in self._tests.items():
            if name in self._finished:
                continue
            result = None
            if test.case is not None:  # else only the process that runs it knows
                result = saved.judged(test, test.plan(self._family))
            if result is None:
                self._suite.lose(test.label)
            else:
                yield result

    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Remember that a test was run."""
        item.stash[RUN] = True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember the cases that there is no result of."""
        if report.failed and report.nodeid in self._tests.keys() - self._finished:
            self._suite.lose(self._tests[report.nodeid].label)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take over what a process of pytest-xdist measured, or made of a replay.

        One that was interrupted goes down a second time, with an error.
        """
        handed = workers.received(node)
        if handed is not None and error is not None:
            return
        where = "missing" if self._settings.replay else "in its journal alone"
        for why in ["it died"] if handed is None else self._source.take_over(handed):
            self._notes.append(f"what process {node.gateway.id} has run is {where}: {why}")
            self._is_whole = False
        if handed is None:
            return
        self._have_run &= handed.is_whole
        self._is_whole &= handed.is_on_record
        if self._baseline is not None:
            self._baseline.changes += handed.changes
        self._suite.adopt(handed)
        self._shards = handed.shards or self._shards
        self._notes += [note for note in handed.notes if note not in self._notes]
        self._unasked.update(handed.unasked)
        self._saving.write_json(self._result())

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Store the result."""
        if self._shards is not None and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK  # more shards than there is to share out
        has_run = ran_all(session) and self._source.is_whole
        if workers.is_worker(self._config):
            workers.send(self._config, replace(self._handed(), is_whole=has_run))
            return
        self._over = session
        result = self._result()
        nothing = not result.cases and result.shards is None
        if nothing or self._config.getoption("collectonly"):
            return
        for case in result.lost:
            self._suite.lose(case)
        result = replace(result, suites=self._verdicts(result))
        self._saving.write_json(result)
        self._saving.store(result, has_run and self._have_run and self._is_whole)
        self._fail_unless_written()
        if self._saving.unwritten:
            self._source.leave_open()

    def _fail_unless_written(self) -> None:
        """Fail the session if something could not be written, or is not in what was."""
        if self._over is not None and (self._saving.unwritten or not self._is_whole):
            self._over.exitstatus = self._over.exitstatus or pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table of everything that finished, and write the reports."""
        result, reporter = self._result(), terminalreporter
        if result.cases:
            result = replace(result, suites=self._verdicts(result))
            reporter.section("ansor bench")
            verbosity = reporter.verbosity
            print_report(reporter, short_report(result, self._settings, verbosity))
            if not verbosity:
                reporter.write_line("-v explains the columns and tells more of each case")
        if self._baseline is not None and self._baseline.changes:
            reporter.section(f"ansor bench compared with {self._baseline.path.name}")
            changes = (*self._baseline.changes, *self._suite.changes)
            report = changes_report(
                changes,
                ANY_MACHINE,
                noise_before=self._baseline.result.noise,
                noise_after=result.noise,
            )
            print_report(reporter, report)
        if result.cases:
            self._saving.write_reports(result, reporter)
            self._saving.summarize_step(result)
        self._fail_unless_written()
        unasked = (f"{gates} ({counted(n, 'test')})" for gates, n in self._unasked.items())
        for note in (*unasked, *self._notes, *self._saving.unwritten):
            reporter.write_line(note)

    def _result(self) -> Result:
        """Everything so far, with what a session knows of itself."""
        result = self._source.result()
        there = {case.case for case in result.cases}
        waiting = [
            test.label
            for name, test in self._tests.items()
            if not (name in self._finished or RUN in test.item.stash or test.label in there)
        ]
        lost = tuple(dict.fromkeys((*self._suite.lost, *waiting)))
        return replace(result, shards=self._shards or result.shards, lost=lost)

    def _verdicts(self, result: Result) -> tuple[SuiteVerdict, ...]:
        """Those over all cases, as last judged, else of what there is."""
        verdicts = self._suite.verdicts
        return self._suite.judge(result.cases) if verdicts is None else verdicts

    def _handed(self) -> workers.Handed:
        """What the process that reports has to know."""
        return replace(
            self._source.hand_over(),
            changes=() if self._baseline is None else tuple(self._baseline.changes),
            lost=self._suite.lost,
            suites=self._suite.verdicts or (),
            suite_changes=self._suite.changes,
            shards=self._shards,
            notes=tuple(self._notes),
            unasked=self._unasked,
        )


def _check_arms(test: Collected) -> None:
    """Fail before hours are spent on runs that no gate can be told of."""
    if len(test.arms) > 1:
        return
    fields = [f"limits.{key}" for key in test.limits]
    if any(FIGURES[one.metric].subject == "challenger" for one in test.allowances):
        fields.append(COMPARE_FAIL)
    if fields:
        raise failure(_nothing_to_compare(test.arms[0], fields))


def _nothing_to_compare(reference: str, fields: Iterable[str]) -> str:
    off = [
        f"no {flag_of(field)}" if field == COMPARE_FAIL else f"{flag_of(field)} none"
        for field in fields
    ]
    return (
        f"nothing to compare: {reference} names no challenger, but a gate is set; name two "
        f"strategies, e.g. --ansor-strategy default,etc, or take the gates away: {' '.join(off)}"
    )
