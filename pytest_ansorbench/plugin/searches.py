"""Runs of cases that are searched now: here, on a device, or by a cluster."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_ansorbench.bench import Arm, Plan, Progress, SavedReference, Session
from pytest_ansorbench.environment import ToolchainError
from pytest_ansorbench.hosted import HostedStrategy
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.options.declarations import NEWEST, flag_of
from pytest_ansorbench.options.refusals import in_options
from pytest_ansorbench.options.settings import Settings
from pytest_ansorbench.plugin.arms import Arms
from pytest_ansorbench.plugin.collected import Collected
from pytest_ansorbench.plugin.judging import LastTest
from pytest_ansorbench.plugin.refusals import failure, passed_over, usage
from pytest_ansorbench.plugin.selection import bench_items, case_id, will_run
from pytest_ansorbench.plugin.workers import Handed
from pytest_ansorbench.records import CaseResult, Result
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.sessions import REFUSALS, conditions_of, executor_of, place_of, why
from pytest_ansorbench.stats.looks import Looks
from pytest_ansorbench.storage import (
    Past,
    StorageError,
    find_journal,
    is_being_written,
    journal_name,
    list_journals,
    merge_results,
    read_journal,
    read_saved,
    readable,
)
from pytest_ansorbench.strategies import BadModel, control_of
from pytest_ansorbench.training import BadSamples, LearningFolder
from pytest_ansorbench.workloads import Case

RUN: Final = pytest.StashKey[bool]()
"""In the stash of a test that was run, whatever it came to."""


class Searches:
    """What a session asks for runs without `--ansor-replay`: a plugin of its own.

    What searches need at other moments of a session, such as an engine that starts and ends, they
    do in hooks of pytest's.
    """

    def __init__(self, config: pytest.Config, settings: Settings, notes: list[str]) -> None:
        """Prepare; nothing is started. `notes` are the lines at the session's end.

        Raises:
            StorageError: A result or a journal is not there or not whole.
        """
        self._config, self._settings, self._notes = config, settings, notes
        self._storage = config.rootpath / settings.files.storage
        self._arms = Arms(settings, config.rootpath, lambda: self._session.executor.target)
        learn = settings.files.learn
        self._learning = None if learn is None else LearningFolder(config.rootpath / learn)
        if self._learning is not None and self._learning.is_cut_short:
            notes.append(
                f"{self._learning.path}: its model was cut short, so this session began with the "
                "shipped one"
            )
        self._cases: dict[str, Case] = {}
        self._open = dict[str, bool]()  # by test that can go on, whether it was cut short
        self._finished = False
        self._over: pytest.Session | None = None  # once it is
        self._others: Result | None = None  # what other processes have measured
        self._journals: list[str] = []  # names of theirs
        self._reference = self._saved_reference()
        past = self._past()
        if past is not None and past.dropped:
            notes.append(
                f"{past.path}: a last line that was cut short ({past.dropped} bytes) was dropped; "
                "its round is run again"
            )
        self._session = Session(
            new_executor=lambda: executor_of(
                settings, root=config.rootpath, storage=self._storage, tell=notes.append
            ),
            conditions={
                **conditions_of(settings),
                **(self._learning.conditions if self._learning else {}),
            },
            root=config.rootpath,
            storage=self._storage,
            settings=settings.to_json(),
            past=past,
        )

    @property
    def looks(self) -> Looks | None:
        """After how many repeats cases are judged together; None for once."""
        return self._settings.criteria.looks

    @property
    def ran_under(self) -> Mapping[str, Any]:
        """The settings of its runs, as recorded."""
        return self._settings.to_json()

    def arms(self, settings: Settings, case: str | None, is_chosen: bool) -> tuple[str, ...]:
        """The strategies of a test, the reference first, no control among them.

        Raises:
            pytest.UsageError: A strategy is not there.
        """
        for name in settings.strategies:
            usage(self._arms.get, name)
        return settings.strategies

    def planned(self, test: Collected) -> tuple[Sequence[int], bool]:
        """The seeds of a test's repeats before it runs, and whether these can be run apart."""
        first, repeats = test.settings.experiment.seed, test.settings.experiment.repeats
        if isinstance(repeats, int):
            return range(first, first + repeats), True
        return range(first, first + repeats.least), repeats.if_suspect

    def pytest_collection_modifyitems(self) -> None:
        """Gather strategies, once collection has loaded every conftest."""
        self._arms.gather(self._config)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Check the toolchain once, before the first case, if there is one to be run."""
        if not will_run(session):
            return
        self._tell_who_is_asked()
        tests = bench_items(session.items)
        try:
            self._session.prepare([case_id(test) or test.nodeid for test in tests])
        except EngineError as error:
            flag = flag_of(place_of(self._settings))
            raise pytest.UsageError(f"bad {flag}: {error}") from None
        except ToolchainError as error:
            raise pytest.UsageError(in_options(error)) from None
        except ResumeError as error:
            flag = flag_of("resume")
            raise pytest.UsageError(f"bad {flag}: {error}; start anew without {flag}") from None
        if self._reference is not None:
            machine = self._session.executor.machine
            if misfit := self._reference.misfit(machine, self._settings.engine.conditions()):
                flag = flag_of("reference")
                raise pytest.UsageError(
                    f"bad {flag} {self._settings.reference!r}: {misfit}; leave {flag} out to run "
                    "the reference anew"
                )

    def run(self, test: Collected, case: Case, plan: Plan, progress: Progress) -> CaseResult:
        """Run a case; a failure fails the test."""
        __tracebackhide__ = True
        self._cases[case.id] = case
        strategies = [self._strategy(name) for name in test.arms]
        control = None
        if test.settings.control:
            if isinstance(strategies[0], HostedStrategy):
                raise failure(
                    f"bad strategy {strategies[0].name!r}: expected one of this interpreter first, "
                    "which a control is a copy of"
                )
            strategies.append(control_of(strategies[0]))
            control = strategies[-1].name
        with self._failures(test.name, case.id):
            return self._session.run(
                case,
                strategies,
                plan,
                progress,
                control=control,
                reference=self._reference,
                test=test.name,
            )

    def more(self, repeats: int, deadline_s: float, progress: Progress) -> bool:
        """Run cases until each has a number of repeats; whether each has, by the deadline."""
        __tracebackhide__ = True
        with self._failures("suite", "a case"):
            return self._session.more(repeats, deadline_s, progress)

    @contextmanager
    def _failures(self, test: str, case: str) -> Iterator[None]:
        """Fail a test whose case cannot be run; with --ansor-debug, told from where that comes."""
        __tracebackhide__ = True
        self._open.pop(test, None)
        try:
            yield
        except REFUSALS as error:
            if isinstance(error, EngineError | ResumeError):
                self._open[test] = True
            told = [why(error, case)]
            if self._settings.debug:
                told += ["", *traceback.format_exception(error)]
            raise failure("\n".join(told)) from None
        except BaseException as error:
            if not isinstance(error, pytest.skip.Exception):
                self._open[test] = not isinstance(error, Exception)  # an interrupt, a time limit
            raise

    def result(self) -> Result:
        """What this process has measured, or what all others have."""
        return self._session.result() if self._others is None else self._others

    def hand_over(self) -> Handed:
        """What the process that reports has to know, from one of several that run tests."""
        journal = self._session.journal
        name = "" if journal is None else journal_name(journal)
        on_record = self._session.is_on_record
        return Handed(whole=self._session.result(), journal=name, is_on_record=on_record)

    def take_over(self, handed: Handed) -> Sequence[str]:
        """Add what another process has measured; why not, of each case that does not fit."""
        whole, refused = handed.whole, list[str]()
        self._journals += filter(None, [handed.journal])
        if whole is None or self._others is None:
            self._others = whole or self._others
            return refused
        # Workers of a cluster fit a session though packages that decide nothing differ.
        rest = replace(whole, machines={**whole.machines, **self._others.machines}, cases=())
        for part in (rest, *(replace(rest, cases=(case,), noise=()) for case in whole.cases)):
            try:
                self._others = merge_results({"other processes": self._others, "this one": part})
            except StorageError as error:
                refused.append(str(error))
        return refused

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """End all processes before the result is stored: a last look at the machine is in it."""
        self._over = session
        self._finished = (
            ran_all(session)
            and self._session.is_on_record
            and not (self._open or self._session.left)
        )
        if self._finished:
            try:
                self._session.finish()
            except StorageError as error:
                self._notes.append(in_options(error))
                self._finished = False
                session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
        if not self._finished:
            self._tell_how_to_go_on()
        self._session.stop()
        self._arms.close()
        self._notes += [*self._session.notes, *self._toolchain_notes()]

    @property
    def is_whole(self) -> bool:
        """Whether no case was cut short or left; one that raises would do so again."""
        return self._session.is_on_record and not (any(self._open.values()) or self._session.left)

    def leave_open(self) -> None:
        """Conclude no journal whose result could not be written, so that it can be resumed."""
        flag = flag_of("resume")
        self._notes += [f"a process's part of it: {flag}={name}" for name in self._journals]
        if self._finished:
            self._finished = False
            self._tell_how_to_go_on()

    def _tell_how_to_go_on(self) -> None:
        journal = self._session.journal
        if journal is not None:
            flag, left = flag_of("resume"), self._session.left
            if left:
                self._notes.append(f"left in the journal, as no test tuned them: {', '.join(left)}")
            self._notes.append(f"to go on where this stopped: {flag}={journal_name(journal)}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self) -> None:
        """Learn once the result is stored: with another model the session cannot be resumed."""
        journal = self._session.journal
        if self._finished and journal is not None:
            self._learn(journal)

    def pytest_unconfigure(self) -> None:
        """End all processes, however the session ended, and the journal if nothing is left to do.

        Killed while it writes its result, a session can be resumed, for that alone.
        """
        try:
            if self._finished and self._session.is_on_record:
                self._session.conclude()
        except StorageError as error:
            sys.stderr.write(f"{in_options(error)}\n")
        self._session.close()
        self._arms.close()

    def _strategy(self, name: str) -> Arm:
        """A strategy, equipped with what was learnt before."""
        strategy = self._arms.get(name)
        if self._learning is None or isinstance(strategy, HostedStrategy):
            return strategy
        return self._learning.equipped(strategy)

    def _saved_reference(self) -> SavedReference | None:
        """The result that `--ansor-reference` means."""
        wanted = self._settings.reference
        if wanted is None:
            return None
        try:
            _, result = read_saved(self._storage, wanted, passed_over(self._notes))
        except StorageError as error:
            raise StorageError(f"bad {flag_of('reference')}: {error}") from None
        return SavedReference(result, EngineSettings.conditions_of(result.settings))

    def _past(self) -> Past | None:
        """The journal that `--ansor-resume` means."""
        wanted = self._settings.resume
        if wanted is None:
            return None
        if wanted != NEWEST:
            return read_journal(find_journal(self._storage, wanted, flag_of("resume")))
        journals = reversed(list_journals(self._storage))
        for path, past in readable(journals, read_journal, passed_over(self._notes)):
            if past.finished:
                continue
            if not is_being_written(path):
                return past
            self._notes.append(f"passed over: {path}: a session is writing it")
        refused = (
            f"bad {flag_of('resume')}: no interrupted run in {str(self._storage)!r}; leave the "
            "option out to start a new one"
        )
        raise StorageError("\n".join([refused, *self._notes]))

    def _tell_who_is_asked(self) -> None:
        """Say who is asked for a place to measure at, should nobody answer."""
        remote, cluster = self._settings.remote, self._settings.cluster
        asked = {
            "measuring on a device": (remote.address, remote.patience_s),
            "measuring on a cluster": (cluster.address, cluster.patience_s),
        }
        reporter = self._config.pluginmanager.getplugin("terminalreporter")
        for what, (address, patience_s) in asked.items():
            if address is not None and reporter is not None and reporter.verbosity >= 0:
                reporter.write_line(f"{what}: asking {address}, for {patience_s:g} s at most")

    def _toolchain_notes(self) -> list[str]:
        """What the other toolchains are."""
        seen = [machine.get("toolchains", {}) for machine in self._session.machines.values()]
        return [
            f"toolchain {name}: Python {one['python']}, "
            + ", ".join(f"{key} {one['packages'][key]}" for key in ("apache-tvm", "apache-tvm-ffi"))
            for toolchains in seen
            for name, one in toolchains.items()
        ]

    def _learn(self, journal: Path) -> None:
        """Add what this session has measured to the user's own model."""
        if self._learning is None:
            return
        cases = self._cases
        try:
            learnt = self._learning.learn(
                read_journal(journal), lambda case: cases[case].tasks() if case in cases else None
            )
        except (BadModel, BadSamples, StorageError, OSError, ValueError) as error:
            learnt = f"nothing learnt: {error}"
            if self._over is not None:
                self._over.exitstatus = self._over.exitstatus or pytest.ExitCode.TESTS_FAILED
        self._notes.append(learnt)


def ran_all(session: pytest.Session) -> bool:
    """Whether all benches of a session that is over were run: it may stop after the last one."""
    if session.exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return False
    if not (session.shouldstop or session.shouldfail):
        return True
    suite = (item for item in session.items if isinstance(item, LastTest))
    return all(RUN in item.stash for item in (*bench_items(session.items), *suite))
