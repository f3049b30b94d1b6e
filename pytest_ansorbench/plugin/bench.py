"""The plugin behind `--ansor-bench`: cases are run, judged, shown and stored."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ansorbench.bench import Progress, Silent
from pytest_ansorbench.options.declarations import flag_of
from pytest_ansorbench.options.resolve import is_given, resolve
from pytest_ansorbench.options.settings import Settings, command_line
from pytest_ansorbench.plugin import workers
from pytest_ansorbench.plugin.baseline import ANY_MACHINE, Baseline
from pytest_ansorbench.plugin.blame import failures, usage_errors
from pytest_ansorbench.plugin.fixture import OneTest
from pytest_ansorbench.plugin.keywords import keywords_of
from pytest_ansorbench.plugin.refusals import in_options
from pytest_ansorbench.plugin.selection import bench_items, case_id, select
from pytest_ansorbench.plugin.shards import Collected, ThisShard, this_shard
from pytest_ansorbench.plugin.sources import Asked, source_of
from pytest_ansorbench.plugin.suite import suite_item
from pytest_ansorbench.plugin.terminal import print_report
from pytest_ansorbench.plugin.together import Together
from pytest_ansorbench.plugin.usage import failure, usage
from pytest_ansorbench.report import (
    LiveLine,
    LiveTable,
    Markdown,
    RepeatLog,
    Report,
    Section,
    changes_notes,
    changes_table,
    full_report,
    noise_changes,
    provenance,
    result_report,
    write_report,
)
from pytest_ansorbench.stats.changes import CaseChanges
from pytest_ansorbench.stats.figures import FIGURES, gates_per_case
from pytest_ansorbench.stats.gate import families
from pytest_ansorbench.storage import StorageError, save_numbered, slugify, write_result

if TYPE_CHECKING:
    from pytest_ansorbench.records import CaseResult, Gate, Result, Shard, Shards
    from pytest_ansorbench.winners import Script
    from pytest_ansorbench.workloads import Case


class Bench:
    """One session with `--ansor-bench`: a plugin of its own, registered by the option."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.settings = usage(resolve, config)
        settings = self.settings
        storage, baseline = config.rootpath / settings.files.storage, settings.baseline.compare
        _check_options(settings)
        if _searches_in_processes(config, settings) and settings.has_suite_gates:
            raise pytest.UsageError(
                "bad option -n: a gate of the suite is about the runs of all processes; hold the "
                "result against it with ansor-bench show, or run without -n"
            )
        self.source = source_of(config, settings)
        # Read before this session stores a result of its own.
        self.baseline = Baseline(storage, baseline) if baseline else None
        self.changes: list[CaseChanges] = []
        self._began_s = time.monotonic()
        self.family = 1
        self.together = Together(settings, self.source, self.baseline)
        self._items: dict[str, pytest.Item] = {}
        self._finished: set[str] = set()
        self._shard: ThisShard | None = None
        self._shards: Shards | None = None
        self._notes: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Gather strategies, select cases, and refuse bad settings before anything runs."""
        self.source.gather(self.config)
        with usage_errors(self.config, "while selecting cases"):
            self._select(items)
        if self._items and self.settings.has_suite_gates and self._shard is None:
            items.append(suite_item(session, self))

    def _select(self, items: list[pytest.Item]) -> None:
        if self.settings.cases:
            selected = select(items, self.settings.cases)
            self.config.hook.pytest_deselected(items=[i for i in items if i not in selected])
            items[:] = selected
        gates, arms = 0, []
        for item in bench_items(items):
            try:
                gates += self._gates(item)
                arms.append(self._arms(item, self.settings_of(item), case_id(item)))
            except pytest.UsageError as error:
                raise pytest.UsageError(f"{item.nodeid}: {error}") from None
            self._items[item.nodeid] = item
        self.family, self.together.family = families(gates, self.together.count_gates(arms))
        shard = self.settings.shard
        if shard is not None and self._items:
            self._keep_shard(shard, items)

    def _keep_shard(self, shard: Shard, items: list[pytest.Item]) -> None:
        """Leave the tests of other shards out; the number of gates stays that of all."""
        collected = []
        for item in self._items.values():
            settings = self.settings_of(item)
            seeds, divisible = self.source.planned(settings, case_id(item))
            arms = len(self._arms(item, settings, case_id(item)))
            collected.append(Collected(item, settings, arms, tuple(seeds), divisible))
        storage = self.config.rootpath / self.settings.files.storage
        self._shard = this_shard(shard, collected, storage, self.settings.shard_by)
        self._shards, mine = self._shard.record, self._shard.seeds
        others = [item for name, item in self._items.items() if name not in mine]
        self.config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]
        self._items = {name: item for name, item in self._items.items() if name in mine}
        self._note(self._shard.note)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Check the toolchain once, before the first case, if there is one to be run."""
        if self.config.getoption("collectonly") or not any(bench_items(session.items)):
            return
        self._tell_who_is_asked()
        self.source.prepare([case_id(item) or name for name, item in self._items.items()])

    def _tell_who_is_asked(self) -> None:
        """Say whom it is waited for, should nobody answer."""
        remote, cluster = self.settings.remote, self.settings.cluster
        asked = {
            "measuring on a device": (remote.address, remote.patience_s),
            "measuring on a cluster": (cluster.address, cluster.patience_s),
        }
        reporter = self.config.pluginmanager.getplugin("terminalreporter")
        for what, (address, patience_s) in asked.items():
            if address is not None and reporter is not None and reporter.verbosity >= 0:
                reporter.write_line(f"{what}: asking {address}, for {patience_s:g} s at most")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember the cases that there is no result of."""
        if report.failed and report.nodeid in self._items.keys() - self._finished:
            self.together.lose(case_id(self._items[report.nodeid]) or report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a process of pytest-xdist measured, or made of a replay."""
        handed = workers.received(node)
        if handed.whole is not None:
            self.source.take(handed.whole)
        else:
            self.source.adopt(handed.results, handed.seeds)
        self.changes += handed.changes
        self.together.adopt(handed)
        self._shards = handed.shards or self._shards
        self._write_json(self._result())

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """End all worker processes, and store the result; a failure to do so fails the session."""
        if workers.is_worker(self.config):
            handed = workers.Handed(
                results=self.source.results,
                changes=tuple(self.changes),
                lost=self.together.lost,
                suites=self.together.judged(),
                suite_changes=self.together.changes,
                shards=self._shards,
                whole=self.source.measured(),
            )
            workers.send(self.config, handed)
            return
        if self._shard is not None and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK  # more shards than there is to share out
        ran_all = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        stopped = bool(session.shouldstop or session.shouldfail)
        self._note(self.source.close(finished=ran_all and not stopped))
        if not self.source.results and self._shards is None:
            return
        suites = self.together.verdicts
        result = replace(self._result(), lost=self.together.lost, suites=suites)
        self._write_json(result)
        files = self.settings.files
        name = files.save or (self._autosave_name() if files.autosave else None)
        if name is None:
            return
        storage = self.config.rootpath / files.storage
        try:
            path = save_numbered(result, storage, name)
        except StorageError as error:
            self._note(f"not saved: {in_options(error)}")
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
        else:
            self._note(f"saved: {path}")

    def pytest_unconfigure(self) -> None:
        """End all worker processes, however the session ended."""
        self.source.close(finished=False)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table of everything that finished."""
        results = self.source.results
        if results:
            terminalreporter.section("ansor bench")
            print_report(terminalreporter, self._report(results, terminalreporter.verbosity))
            if not terminalreporter.verbosity:
                terminalreporter.write_line("-v explains the columns and tells more of each case")
        if self.baseline is not None and self.changes:
            terminalreporter.section(f"ansor bench compared with {self.baseline.path.name}")
            changes = (*self.changes, *self.together.changes)
            blocks = (
                changes_table(changes),
                changes_notes(changes, ANY_MACHINE),
                noise_changes(self.baseline.noise, self.source.noise),
            )
            print_report(terminalreporter, Report.of(Section("changes", blocks)))
        if results:
            self._write_reports(terminalreporter)
            self._summarize_step()
        for note in self._notes:
            terminalreporter.write_line(note)

    def test(self, item: pytest.Item) -> OneTest:
        """The fixture's value for a test."""
        return OneTest(self, item)

    def settings_of(self, item: pytest.Item) -> Settings:
        """The settings of one test.

        Raises:
            pytest.UsageError: Its marker does not fit.
        """
        return usage(resolve, self.config, keywords_of(item))

    def run(self, item: pytest.Item, case: Case) -> CaseResult:
        """Run one case and keep its result; files are brought up to date at once."""
        __tracebackhide__ = True
        settings = self.settings_of(item)
        with failures(self.config, "while running the case"):
            arms = self._arms(item, settings, case.id)
            if settings.limits and len(arms) == 1:
                # Before hours are spent on runs that no gate can be told of.
                off = " ".join(f"{flag_of(f'limits.{key}')} none" for key in settings.limits)
                raise failure(
                    f"nothing to compare: {arms[0]} names no challenger, but a gate is set; "
                    "name two strategies, e.g. --ansor-strategy default,etc, or take the gates "
                    f"away: {off}"
                )
            try:
                asked = Asked(
                    self.family,
                    self._deadline_s(item),
                    lambda result: self._gates_on_changes(item, result),
                    self._seeds_of(item),
                )
                result = self.source.run(settings, arms, case, asked, self._progress())
                self._finished.add(item.nodeid)
            finally:
                if not workers.is_worker(self.config):
                    self._write_json(self._result())
        with failures(self.config, "while calling pytest_ansorbench_case_finished"):
            self.config.hook.pytest_ansorbench_case_finished(
                config=self.config, item=item, result=result
            )
        return result

    @property
    def judges(self) -> bool:
        """Whether this session has all runs that its gates are about."""
        return self._shard is None

    def _seeds_of(self, item: pytest.Item) -> tuple[int, ...] | None:
        return None if self._shard is None else self._shard.seeds[item.nodeid]

    def _result(self) -> Result:
        """Everything so far, with what a session knows of itself."""
        return replace(self.source.result(), shards=self._shards)

    def changes_of(self, item: pytest.Item, result: CaseResult) -> CaseChanges | None:
        """Changes of a case since the earlier result; None if there is none to compare."""
        if self.baseline is None:
            return None
        changes = self._changes(self.baseline, item, result)
        self.changes.append(changes)
        return changes

    def _changes(self, baseline: Baseline, item: pytest.Item, result: CaseResult) -> CaseChanges:
        settings = self.settings_of(item)
        return baseline.changes(result, self.source.machines, settings, self.family)

    def _gates_on_changes(self, item: pytest.Item, result: CaseResult) -> Sequence[Gate]:
        if self.baseline is None or not self.settings_of(item).baseline.allowances:
            return ()
        return self._changes(self.baseline, item, result).gates

    def _deadline_s(self, item: pytest.Item) -> float:
        """When a case has to be over: what is left of the time goes to all that are left."""
        limit_s = self.settings.experiment.time_limit_s
        if limit_s is None:
            return math.inf
        names = list(self._items)
        left = len(names) - names.index(item.nodeid) if item.nodeid in names else 1
        now_s = time.monotonic()
        return now_s + max(0.0, self._began_s + limit_s - now_s) / left

    def settle_suite(self) -> None:
        """Judge all cases together; run more of them while that can still decide a gate."""
        __tracebackhide__ = True
        limit_s = self.settings.experiment.time_limit_s
        deadline_s = math.inf if limit_s is None else self._began_s + limit_s
        self.together.judge(self._every_result())
        while any(gate.open for gate in self.together.gates):
            seeds = (result.repeats for result in self.source.results if result.runs)
            with failures(self.config, "while running more repeats"):
                enough = self.source.more(min(seeds) + 1, deadline_s, self._progress())
            self._write_json(self._result())
            self.together.judge(self._every_result())
            if not enough:
                break

    def _every_result(self) -> tuple[CaseResult, ...]:
        """The results of all cases, those that other processes of pytest-xdist run included."""
        if not workers.is_worker(self.config):
            return self.source.results
        order = list(map(case_id, self._items.values()))
        every = (*self.source.results, *self._of_other_workers())
        return tuple(sorted(every, key=lambda result: order.index(result.case)))

    def _of_other_workers(self) -> Iterator[CaseResult]:
        """Judge what other processes of pytest-xdist were given, from the same saved results."""
        for name, item in self._items.items():
            case = case_id(item)
            if case is None or name in self._finished:
                continue
            settings = self.settings_of(item)
            arms = self._arms(item, settings, case)
            asked = Asked(self.family, seeds=self._seeds_of(item))
            result = self.source.saved(settings, arms, case, asked)
            if result is None:
                self.together.lose(case)
            else:
                yield result

    def _gates(self, item: pytest.Item) -> int:
        """How many gates a test has."""
        settings = self.settings_of(item)
        arms = len(self._arms(item, settings, case_id(item)))
        allowances = settings.baseline.allowances
        if settings.baseline.compare_fail and self.baseline is None:
            flag, needed = flag_of("baseline.compare_fail"), flag_of("baseline.compare")
            first = str(settings.baseline.compare_fail[0])
            raise pytest.UsageError(
                f"bad {flag} {first!r}: expected {needed} with it, to say with what"
            )
        gated = [*settings.limits, *(allowance.metric for allowance in allowances)]
        return gates_per_case(gated, arms)

    def _arms(self, item: pytest.Item, settings: Settings, case: str | None) -> tuple[str, ...]:
        given = is_given(self.config, keywords_of(item), "strategies")
        return self.source.arms(settings, case, given=given)

    def _report(self, results: tuple[CaseResult, ...], verbosity: int) -> Report:
        if verbosity > 1:
            return self._full_report(self._result())
        return result_report(
            results,
            self.settings.criteria,
            self.settings.table.layout,
            suites=self.together.verdicts,
            noise=self.source.noise,
            explained="fully" if verbosity else "briefly",
            detailed=verbosity > 0,
        )

    def _write_reports(self, reporter: pytest.TerminalReporter) -> None:
        """The reports that were asked for; a file that cannot be written costs itself alone."""
        from pytest_ansorbench.winners import scripts_of

        outputs = self.settings.files.report
        if not outputs:
            return
        result = self._result()
        for output in outputs:
            report = self._full_report(result, scripts_of(result) if output.has_room else ())
            try:
                write_report(report, [output], reporter.write_line)
            except OSError as error:
                self._note(f"not written: {flag_of('files.report')} {output}: {error}")
            else:
                self._note("" if output.path is None else f"written: {output.path}")

    def _full_report(self, result: Result, scripts: Sequence[Script] = ()) -> Report:
        return full_report(
            result.cases,
            self.settings.criteria,
            self.settings.table.layout,
            suites=self.together.verdicts,
            noise=result.noise,
            scripts=scripts,
            rests_on=provenance(result, command_line(result.settings)),
        )

    def _summarize_step(self) -> None:
        """Add the result to the summary of a step of GitHub Actions.

        https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
        """
        path = os.environ.get("GITHUB_STEP_SUMMARY")
        if not path or self.settings.files.github == "off":
            return
        text = Markdown().render(self._report(self.source.results, verbosity=0))
        try:
            with Path(path).open("a", encoding="utf-8") as summary:
                summary.write(f"{text}\n\n")
        except OSError as error:
            self._note(f"no step summary: {error}; {flag_of('files.github')} off leaves it out")

    def _note(self, text: str) -> None:
        if text:
            self._notes += text.splitlines()

    def _write_json(self, result: Result) -> None:
        path = self.settings.files.json
        if path is not None and (result.cases or result.shards is not None):
            write_result(result, path)

    def _autosave_name(self) -> str:
        """As pytest-benchmark calls its own: commit, time, and whether files were changed."""
        commit = self.source.result().commit
        changed = "_uncommitted-changes" if commit.get("dirty") else ""
        return f"{str(commit['id'])[:12]}_{datetime.now(timezone.utc):%Y%m%d_%H%M%S}{changed}"

    def _progress(self) -> Progress:
        reporter = self.config.pluginmanager.getplugin("terminalreporter")
        if reporter is None or reporter.verbosity < 0:
            return Silent()
        capture = self.config.pluginmanager.getplugin("capturemanager")

        def write(text: str) -> None:
            with capture.global_and_fixture_disabled() if capture else nullcontext():
                reporter.write(text, flush=True)

        reporter.ensure_newline()
        if reporter.isatty:
            try:
                return LiveTable(write, coloured=reporter.hasmarkup)
            except ImportError:
                return LiveLine(write)
        return RepeatLog(lambda line: write(f"{line}\n"))


def _check_options(settings: Settings) -> None:
    """Find out before an hour of search, not after it, what cannot work."""
    for field in ("against", "variants"):
        if getattr(settings.kernels, field):
            raise pytest.UsageError(
                f"bad {flag_of(f'kernels.{field}')}: expected {flag_of('kernels.result')} with it, "
                "to say which kernels to make"
            )
    if settings.shard_by is not None and settings.shard is None:
        raise pytest.UsageError(
            f"bad {flag_of('shard_by')} {settings.shard_by!r}: expected {flag_of('shard')} with "
            "it, to say which part of the session this is"
        )
    if settings.shard is not None and settings.baseline.compare is not None:
        raise pytest.UsageError(
            f"bad {flag_of('baseline.compare')} {settings.baseline.compare!r}: a shard has only "
            "some of the runs; put all together with ansor-bench merge, then hold them against it "
            "with ansor-bench compare"
        )
    _check_remote(settings)
    _check_cluster(settings)
    if settings.replay and settings.resume is not None:
        raise pytest.UsageError(
            "bad --ansor-resume: a replay runs nothing that could go on; leave one of the two out"
        )
    asked = {flag_of(f"suite_limits.{key}"): key for key in settings.suite_limits} | {
        f"{flag_of('baseline.compare_fail')} {allowance}": allowance.metric
        for allowance in settings.baseline.suite_allowances
    }
    for words, key in asked.items():
        if not FIGURES[key].adds_up(settings.criteria.goal):
            raise pytest.UsageError(
                f"bad {flag_of('criteria.goal')} {str(settings.criteria.goal)!r}: expected "
                f"way, as {words} adds up cases over the way, not to one target"
            )
    if settings.files.json is not None:
        _check_writable(flag_of("files.json"), settings.files.json)
    for output in settings.files.report:
        if output.path is not None:
            _check_writable(flag_of("files.report"), output.path)
    if settings.files.save is not None:
        try:
            slugify(settings.files.save)
        except StorageError as error:
            raise pytest.UsageError(f"bad --ansor-save: {error}") from None


def _searches_in_processes(config: pytest.Config, settings: Settings) -> bool:
    """Whether this is one of several processes that search, or the one that reports on them."""
    several = config.getoption("numprocesses", default=None) or workers.is_worker(config)
    return bool(several) and not settings.replay


def _check_remote(settings: Settings) -> None:
    """Refuse what cannot be done on a device."""
    remote = settings.remote
    if remote.address is None:
        return
    flag = flag_of("remote.server" if remote.tracker is None else "remote.tracker")
    if remote.tracker is not None and remote.server is not None:
        raise pytest.UsageError(
            f"bad {flag_of('remote.server')} {str(remote.server)!r}: expected it or "
            f"{flag_of('remote.tracker')}, not both"
        )
    asked = {
        "toolchains": bool(settings.toolchains),
        "kernels.result": settings.kernels.result is not None,
        "engine.cores": settings.engine.cores is not None,
        "experiment.roofline": settings.experiment.roofline,
        "experiment.reference_kernels": bool(settings.experiment.reference_kernels),
        "engine.caches": settings.engine.caches == "network",
    }
    for field, is_asked in asked.items():
        if is_asked:
            raise pytest.UsageError(
                f"bad {flag_of(field)}: it is about this machine, and with {flag} programs run on "
                "another; leave one of the two out"
            )


def _check_cluster(settings: Settings) -> None:
    """Refuse what the workers of a cluster cannot do."""
    if settings.cluster.address is None:
        return
    asked = {
        "remote.tracker": settings.remote.tracker is not None,
        "remote.server": settings.remote.server is not None,
        "toolchains": bool(settings.toolchains),
        "kernels.result": settings.kernels.result is not None,
        "reference": settings.reference is not None,
        "files.learn": settings.files.learn is not None,
    }
    for field, is_asked in asked.items():
        if is_asked:
            raise pytest.UsageError(
                f"bad {flag_of(field)}: it is about one machine, and with "
                f"{flag_of('cluster.address')} repeats run on several; leave one of the two out"
            )


def _check_writable(flag: str, path: Path) -> None:
    folder = path.resolve().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise pytest.UsageError(f"bad {flag} {str(path)!r}: {error}") from None
    if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise pytest.UsageError(
            f"bad {flag} {str(path)!r}: expected a file that can be written, e.g. out/{path.name}"
        )
