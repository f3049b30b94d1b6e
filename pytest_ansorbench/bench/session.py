"""All cases of one bench: the shared engine, the journal, the results so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.bench.experiment import Experiment, Plan, judged
from pytest_ansorbench.bench.finals import Finals, KernelFinals, NetworkFinals
from pytest_ansorbench.bench.history import CaseHistory, CaseJournal, case_histories
from pytest_ansorbench.bench.progress import Silent
from pytest_ansorbench.environment import check_cores, check_toolchain, resolve_target
from pytest_ansorbench.measure.engine import Engine
from pytest_ansorbench.measure.fork_server import WorkerError
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.untuned import task_check
from pytest_ansorbench.records import SCHEMA_VERSION, CaseResult, Result, TaskRecord
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.storage import (
    Journal,
    Past,
    describe_commit,
    describe_machine,
    fingerprint,
    machine_difference,
)
from pytest_ansorbench.storage.entries import JOURNAL_VERSION, CaseEntry, EndEntry, SessionEntry
from pytest_ansorbench.workloads.case import NetworkCase
from pytest_ansorbench.workloads.version import case_version

if TYPE_CHECKING:
    from tvm.target import Target

    from pytest_ansorbench.bench.progress import Progress
    from pytest_ansorbench.strategies.strategy import Strategy
    from pytest_ansorbench.workloads.case import Case, Task


class UnsupportedCaseError(ValueError):
    """A case that this version cannot tune."""


class Session:
    """Runs cases one after another and collects their results.

    Worker processes and the journal start with the first case and end with `close`.
    """

    def __init__(
        self,
        *,
        target: str | None,
        engine: EngineSettings,
        root: Path,
        storage: Path,
        settings: Mapping[str, Any],
        past: Past | None = None,
    ) -> None:
        """Prepare a session; nothing is checked or started yet.

        Args:
            target: TVM target as users give it; None for this machine's CPU.
            engine: How candidates are built and run.
            root: Folder of the project, whose commit is recorded.
            storage: Folder that the journal goes to.
            settings: The settings as JSON values, for the record.
            past: A journal to go on with; None for a new one.

        Raises:
            StorageError: The journal's lines do not follow from each other.
        """
        self._target_text = target
        self._engine_settings = engine
        self._storage = storage
        self._settings = settings
        self._past = past
        self._histories: dict[str, CaseHistory] = case_histories(past) if past else {}
        # Taken at the start: what is edited during a long bench was not measured by it.
        self._commit = past.session.commit if past else describe_commit(root)
        self._created = (
            past.session.created
            if past
            else datetime.now(timezone.utc).isoformat(timespec="seconds")
        )
        self._machine: dict[str, Any] = {}
        self._target: Target | None = None
        self._engine: Engine | None = None
        self._journal: Journal | None = None
        self._begun = Counter[str]()
        self._results: list[CaseResult] = []

    @property
    def results(self) -> tuple[CaseResult, ...]:
        """Results so far, in order of execution."""
        return tuple(self._results)

    @property
    def journal(self) -> Path | None:
        """The journal's file; None before the first case."""
        return self._journal.path if self._journal is not None else None

    def prepare(self) -> None:
        """Check the toolchain, the target, the cores and the machine; imports TVM.

        Raises:
            ToolchainError: Something is missing or does not fit.
            ResumeError: The journal was begun on another machine.
        """
        check_toolchain()
        self._target = resolve_target(self._target_text)
        check_cores(self._engine_settings.cores, int(self._target.attrs["num-cores"]))
        register_intrinsics(self._target)
        self._machine = {**describe_machine(), "target": str(self._target)}
        if self._past is not None:
            difference = machine_difference(self._past.session.machine, self._machine)
            if difference:
                raise ResumeError(
                    f"the run was begun on another machine ({difference}); its runs cannot be "
                    "mixed with this one's"
                )

    def run(
        self,
        case: Case,
        strategies: Sequence[Strategy],
        plan: Plan,
        progress: Progress | None = None,
        *,
        control: str | None = None,
    ) -> CaseResult:
        """Run one case.

        What the journal has of it is not run again; if that is all, nothing is started. On an
        interrupt, what is complete of the case is kept before the interrupt goes on.

        Args:
            case: What to tune.
            strategies: The arms, the reference first.
            plan: How.
            progress: Is told of every trial.
            control: The arm that is the reference over again, if one is.

        Returns:
            The result, which is also kept.

        Raises:
            UnsupportedCaseError: The case has several tasks but no program to judge them by.
            BudgetError: Its budget does not give each task a round.
            UntunedError: A network does not work even untuned.
            WorkerError: Worker processes cannot be started.
            ResumeError: The journal has the case under other circumstances.
            StorageError: The journal cannot be written.
        """
        if self._target is None:
            self.prepare()
        tasks = case.tasks()
        _check_supported(case, tasks, plan)
        entry = CaseEntry(
            label=self._label(case.id),
            case=case.id,
            version=case_version(case, tasks),
            strategies=tuple(strategy.name for strategy in strategies),
            control=control,
            flops=case.flops,
            tasks=tuple(TaskRecord(each.name, each.weight, each.flops, ()) for each in tasks),
            measured=self._measured(plan, len(tasks)),
        )
        journal = CaseJournal(self._open_journal(), self._histories.get(entry.label), entry)
        if not all(map(journal.history.complete, plan.seeds)):
            self._run_rest(case, tasks, strategies, plan, journal, progress or Silent())
        return self._keep(judged(journal.history, plan))

    @property
    def machines(self) -> Mapping[str, Any]:
        """By fingerprint, the machines that runs were measured on: this one."""
        return {fingerprint(self._machine): self._machine}

    def result(self) -> Result:
        """Everything so far as one record."""
        return Result(
            schema_version=SCHEMA_VERSION,
            created=self._created,
            machines=self.machines,
            commit=self._commit,
            settings=self._settings,
            cases=self.results,
        )

    def finish(self) -> None:
        """Note in the journal that there is nothing to go on with.

        Raises:
            StorageError: The journal cannot be written.
        """
        if self._journal is not None:
            self._journal.append(EndEntry(len(self._results)))

    def close(self) -> None:
        """End all worker processes, and let go of the journal."""
        self._close_engine()
        if self._journal is not None:
            self._journal.close()

    def _run_rest(
        self,
        case: Case,
        tasks: Sequence[Task],
        strategies: Sequence[Strategy],
        plan: Plan,
        journal: CaseJournal,
        progress: Progress,
    ) -> None:
        """Run what the journal does not have yet."""
        try:
            engine = self._warm_engine()
            tasks, finals = _prepared(engine, case, tasks, progress)
            Experiment(case, tasks, strategies, plan, engine, finals, journal, progress).run()
        except WorkerError:
            self._close_engine()  # the next case gets new workers
            raise
        except KeyboardInterrupt:
            partial = judged(journal.history, plan)
            if partial.runs:
                self._keep(partial)
            raise

    def _keep(self, result: CaseResult) -> CaseResult:
        machine = fingerprint(self._machine)
        result = replace(result, runs=tuple(replace(r, machine=machine) for r in result.runs))
        self._results.append(result)
        return result

    def _label(self, case: str) -> str:
        """What the journal calls a case: two tests may tune the same one."""
        self._begun[case] += 1
        return case if self._begun[case] == 1 else f"{case}#{self._begun[case]}"

    def _measured(self, plan: Plan, tasks: int) -> dict[str, Any]:
        """All that decides measurements, as JSON values."""
        engine = asdict(self._engine_settings)
        cores = engine.pop("cores")
        return {**plan.measured(tasks), **engine, "cores": None if cores is None else list(cores)}

    def _open_journal(self) -> Journal:
        if self._journal is None:
            if self._past is not None:
                self._journal = Journal.reopen(self._past)
            else:
                self._journal = Journal.create(
                    self._storage,
                    SessionEntry(
                        JOURNAL_VERSION,
                        self._created,
                        self._machine,
                        self._commit,
                        self._settings,
                    ),
                )
        return self._journal

    def _warm_engine(self) -> Engine:
        if self._engine is None:
            assert self._target is not None
            self._engine = Engine(self._target, self._engine_settings)
        return self._engine

    def _close_engine(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None


def _check_supported(case: Case, tasks: Sequence[Task], plan: Plan) -> None:
    if len(tasks) != 1 and not isinstance(case, NetworkCase):
        raise UnsupportedCaseError(
            f"bad case {case.id!r}: it has {len(tasks)} tasks, but no program() and arguments() "
            "to be judged by; expected an operator with one task, or a network"
        )
    plan.budget.check(len(tasks))


def _prepared(
    engine: Engine, case: Case, tasks: Sequence[Task], progress: Progress
) -> tuple[tuple[Task, ...], Finals]:
    """The tasks of a case with what they are checked by, and how the case is judged at the end.

    Tasks of a network are checked by what their untuned programs compute.
    """
    if isinstance(case, NetworkCase):
        checked = _checked(engine, case, tasks, progress)
        return checked, NetworkFinals(engine, case, checked)
    return tuple(tasks), KernelFinals(engine, tasks[0])


def _checked(
    engine: Engine, case: Case, tasks: Sequence[Task], progress: Progress
) -> tuple[Task, ...]:
    checked = []
    try:
        for place, task in enumerate(tasks, start=1):
            progress.note(f"{case.id}  running {place}/{len(tasks)} untuned: {task.name}")
            check = task.check if task.check is not None else task_check(engine, task)
            checked.append(replace(task, check=check))
    finally:
        progress.clear()
    return tuple(checked)
