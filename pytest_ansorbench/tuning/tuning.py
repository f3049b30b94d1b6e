"""One call: cases are tuned into a folder, after what earlier calls have left there."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_ansorbench.bench import FixedRepeats, Plan, Progress, Session
from pytest_ansorbench.bench.session import case_entry, check_goes_on, check_supported
from pytest_ansorbench.bench.yardsticks import taking_turns
from pytest_ansorbench.environment import MisfitError, check_toolchain, resolve_target
from pytest_ansorbench.measure.remote.libraries import linker_of
from pytest_ansorbench.options.settings import Settings
from pytest_ansorbench.packed import PackedError
from pytest_ansorbench.records import CaseResult, Peer, Result
from pytest_ansorbench.report.render.formats import RENDERERS
from pytest_ansorbench.report.tuning import tuning_report, was_faster
from pytest_ansorbench.sessions import check_installed, conditions_of, executor_of, run_plan
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.storage import (
    Journal,
    Past,
    UnwritableError,
    alone_in,
    describe_commit,
    read_journal,
    write_result,
)
from pytest_ansorbench.storage.cleaning import sweep
from pytest_ansorbench.storage.entries import JOURNAL_VERSION, CaseEntry
from pytest_ansorbench.storage.files import written_whole
from pytest_ansorbench.storage.numbered import stored_name
from pytest_ansorbench.strategies import Strategy
from pytest_ansorbench.tuning.compiled import Compiled
from pytest_ansorbench.tuning.fastest import fastest_result, fastest_schedules
from pytest_ansorbench.tuning.journals import carried, earlier, newest, outcomes, searched_s
from pytest_ansorbench.tuning.learnt import equipped
from pytest_ansorbench.tuning.settings import as_networks_run
from pytest_ansorbench.winners import Winner, replace_database, winners_of_case
from pytest_ansorbench.workloads import Case
from pytest_ansorbench.yardsticks import check_peer
from pytest_ansorbench.yardsticks.kernel import NoKernel

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.target import Target

REPORT: Final = "report.md"
RESULT: Final = "result.json.gz"
COMMAND: Final = "command.txt"
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(frozen=True, eq=False)
class _Planned:
    """A case and how it is run."""

    case: Case
    entry: CaseEntry
    plan: Plan


class Tuning:
    """Searches for faster versions of cases, and writes what it has found.

    Call `search`, then `write`, and `close` in any case. Interrupted or killed at any moment, the
    same call goes on where it was.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        strategy: Strategy,
        settings: Settings,
        folder: Path,
        *,
        root: Path,
        tell: Callable[[str], None],
        command: str = "",
    ) -> None:
        """Prepare; nothing is read or started.

        Args:
            cases: What is tuned, one after the other; their ids differ.
            strategy: What searches, the one that the settings name.
            settings: As `settings_of` gives them.
            folder: Where everything is kept, the journal too.
            root: Folder of the project, whose commit is recorded.
            tell: Is told what a user should know, a sentence each.
            command: What the user has given, to be kept; nothing if it is no command.

        Raises:
            ValueError: Two cases have one id.
        """
        ids = [case.id for case in cases]
        if twice := [one for one in ids if ids.count(one) > 1]:
            raise ValueError(
                f"bad case {twice[0]!r}: it is given twice; expected different cases, or a "
                "folder for each"
            )
        self._strategy = strategy
        self._cases, self._ids = cases, ids
        self.at_work = ids[0]  # id of the case that is planned or searched
        self._settings, self._folder, self._root = settings, folder, root
        self._tell, self._command = tell, command
        self._session: Session | None = None
        self._target: Target | None = None
        self._entries: list[CaseEntry] = []  # how each case begins
        self._kept: list[str] = []  # what stays of earlier calls, a sentence each
        self._until_closed = ExitStack()

    @property
    def target(self) -> Target:
        """What is compiled for, once a search has begun."""
        assert self._target is not None
        return self._target

    @property
    def peers(self) -> Sequence[Peer]:
        """Other libraries, as this call has measured them with what it has found."""
        assert self._session is not None
        return [peer for case in self._session.results for run in case.runs for peer in run.peers]

    @property
    def rewritten(self) -> frozenset[str]:
        """Ids of cases whose programs are not as their models say."""
        models = (case.id for case in self._cases if getattr(case, "original", None) is not None)
        return frozenset(models)

    def search(self, progress: Progress) -> Result:
        """Tune all cases; what earlier calls have measured of them is not measured again.

        Raises:
            KeyboardInterrupt: Ctrl-C; all complete rounds are in the journal.
            ResumeError: The folder's journal is of another machine.
            StorageError: Another call writes to the folder.
            UnwritableError: The folder cannot be written.
            One of `sessions.REFUSALS`: A case cannot be tuned.
        """
        check_toolchain()
        self._settings = as_networks_run(self._settings, self._cases)
        self._check_peers()
        with self._writing():
            self._until_closed.enter_context(alone_in(self._folder))
            sweep(self._folder)
        past = newest(self._folder, self._tell)
        planned = [self._planned(case, past) for case in self._cases]
        self._entries = [one.entry for one in planned]
        recorded = self._settings.to_json()
        executor = executor_of(
            self._settings, root=self._root, storage=self._folder, tell=self._tell
        )
        self._until_closed.callback(executor.close)
        strategy = self._strategy
        if past is not None:
            begun = replace(
                past.session,
                journal_version=JOURNAL_VERSION,
                # Calls may be months and versions apart: each repeat tells its own packages.
                machine={**past.session.machine, "packages": {}},
                settings=recorded,
                commit=describe_commit(self._root),
                cases=tuple(self._ids),
            )
            check_goes_on(executor, begun.machine)
            if self._settings.cluster.address is None:  # whose workers do not have this folder
                asked = [(one.entry.case, one.entry.version) for one in planned]
                strategy = equipped(strategy, past, asked, self._folder, progress, self._tell)
            past = replace(past, session=begun)
        if self._command:
            with self._writing():
                self._write_text(COMMAND, self._command)
        if past is not None:
            entries = carried(past, self._entries, self._settings.experiment.seed)
            past = Journal.rewritten(past, past.session, entries)
        session = self._session = Session(
            new_executor=lambda: executor,
            conditions=conditions_of(self._settings),
            root=self._root,
            storage=self._folder,
            settings=recorded,
            past=past,
        )
        self._until_closed.callback(session.close)
        session.prepare(self._ids)
        self._target = resolve_target(session.executor.target)
        for one in planned:
            self.at_work = one.case.id
            session.run(one.case, [strategy], one.plan, progress)
        session.stop()
        result, ended = session.result(), [*outcomes(self._past(), self._entries[0])]
        return replace(result, cases=tuple(self._fastest(case, ended) for case in result.cases))

    def best(self) -> Mapping[str, Winner]:
        """By program, its fastest schedule of all calls."""
        return fastest_schedules(self._past(), self._entries)

    def compiled(self, result: Result, best: Mapping[str, Winner]) -> tuple[Compiled, ...]:
        """Each case, compiled with the schedules that it was measured with.

        Tasks without one get the best; all stay as they are if the case was faster so, or does not
        work with schedules.
        """
        compiled = []
        for case, found in zip(self._cases, result.cases, strict=True):
            [run] = found.runs
            works = run.final is not None and run.final.status == "ok"
            programs = found.programs if works and not was_faster(found) else ()
            own = {one.program: one for one in winners_of_case(found)}
            scheduled = self._scheduled(programs, {**best, **own})
            compiled.append(Compiled.of(case, scheduled, self.target))
        return tuple(compiled)

    def write_database(self, best: Mapping[str, Winner]) -> None:
        """Write the schedules as a database of MetaSchedule's.

        Raises:
            UnwritableError: The folder cannot be written.
        """
        target = self.target
        with self._writing():
            exported = replace_database(((one, target) for one in best.values()), self._folder)
        for line in exported.left_out:
            self._tell(f"left out of the database: {line}")

    def write(self, result: Result, compiled: Sequence[Compiled]) -> tuple[str, ...]:
        """Write libraries, report and result, and close the journal; the names of all files.

        Raises:
            ToolchainError: A library cannot be linked.
            UnwritableError: A file cannot be written.
        """
        names: list[str] = []
        remote = self._settings.remote
        linker = (remote.linker or linker_of(self.target)) if remote.address else None
        with self._writing():
            for case in compiled:
                suffix = f"-{stored_name(case.case)}" if len(compiled) > 1 else ""
                names += case.write(self._folder, suffix, linker)
            write_result(result, self._folder / RESULT)
            report = tuning_report(result, self._command, self._kept, self.rewritten)
            self._write_text(REPORT, RENDERERS["markdown"].render(report))
        assert self._session is not None
        if self._session.is_on_record:
            self._session.conclude()
        return (*names, REPORT, RESULT, *([COMMAND] if self._command else []))

    def close(self) -> None:
        """End all processes, and let other calls into the folder."""
        self._until_closed.close()

    @property
    def has_begun(self) -> bool:
        """Whether there is a journal."""
        return self._session is not None and self._session.journal is not None

    def _write_text(self, name: str, text: str) -> None:
        """Write a file of the folder, whole or not at all.

        Names of files that are no text are written as they are.
        """
        with written_whole(self._folder / name) as stream:
            stream.write(f"{text}\n".encode("utf-8", "surrogateescape"))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Turn what the disk refuses into a sentence."""
        try:
            yield
        except OSError as error:
            cure = "make room" if error.errno in _NO_ROOM else "check permissions"
            raise UnwritableError(
                f"bad folder {str(self._folder)!r}: {error.filename or 'it'} cannot be written, "
                f"{error.strerror}; {cure}, then give the same command again"
            ) from error

    def _check_peers(self) -> None:
        """Refuse libraries that cannot be measured beside the cases, before anything is searched.

        Workers of a cluster have libraries of their own.
        """
        if self._settings.cluster.address is not None:
            return
        libraries = taking_turns(self._settings.experiment.reference_kernels)
        check_installed(libraries)
        for library in libraries:
            for case in self._cases:
                try:
                    check_peer(library, case)
                except NoKernel as error:
                    raise MisfitError("reference_kernels", library, f"{case.id}: {error}") from None

    def _planned(self, case: Case, past: Past | None) -> _Planned:
        self.at_work = case.id
        settings, tasks = self._settings, tuple(case.tasks())
        plan = Plan(
            runs=run_plan(settings),
            repeats=FixedRepeats([settings.experiment.seed]),
            criteria=settings.criteria,
            limits=Limits(),
        )
        check_supported(case, tasks, [self._strategy], plan)
        entry = case_entry(
            case.id,
            case,
            tasks,
            [self._strategy],
            plan,
            conditions=conditions_of(settings),
            root=self._root,
        )
        limit_s = settings.budget.run_time_s
        if limit_s is not None:  # of this call
            seed = settings.experiment.seed
            history = earlier(past, entry, seed)
            total_s = limit_s + searched_s(history, seed)
            if history is not None and self._goes_on(case, past):
                total_s = history.entry.conditions.get("run_time_s") or total_s
            budget = replace(settings.budget, run_time_s=total_s)
            plan = replace(plan, runs=replace(plan.runs, budget=budget))
            conditions = plan.runs.conditions(len(tasks))
            entry = replace(entry, conditions={**entry.conditions, **conditions})
        return _Planned(case, entry, plan)

    def _goes_on(self, case: Case, past: Past | None) -> bool:
        """Whether the last call was this one, of this case too, and was not concluded."""
        if past is None or past.finished or case.id not in past.session.cases:
            return False
        return past.session.settings == self._settings.to_json()

    def _scheduled(
        self, programs: Sequence[str], best: Mapping[str, Winner]
    ) -> Mapping[int, IRModule]:
        """By place, the programs of tasks that have a schedule."""
        scheduled = {}
        for place, program in enumerate(programs):
            if program not in best:
                continue
            try:
                scheduled[place] = best[program].candidate().mod
            except PackedError as error:
                self._tell(f"left untuned: {best[program].task.name}: {error}")
        return scheduled

    def _fastest(self, case: CaseResult, ended: Sequence[CaseResult]) -> CaseResult:
        fastest, kept = fastest_result(case, ended)
        if kept:
            self._tell(kept)
            self._kept.append(kept)
        return fastest

    def _past(self) -> Past:
        assert self._session is not None and self._session.journal is not None
        return read_journal(self._session.journal)
