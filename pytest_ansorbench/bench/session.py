"""All cases of one bench: the shared engine, the journal, the results so far."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.bench.arms import Arm
from pytest_ansorbench.bench.experiment import Experiment, judged
from pytest_ansorbench.bench.history import CaseHistory, CaseJournal, NoiseHistory, case_histories
from pytest_ansorbench.bench.plan import Plan
from pytest_ansorbench.bench.prepared import PreparedCase, prepare
from pytest_ansorbench.bench.progress import Silent
from pytest_ansorbench.bench.reference import SavedReference, StandIn
from pytest_ansorbench.bench.repeats import FixedRepeats
from pytest_ansorbench.bench.yardsticks import YardstickPlan
from pytest_ansorbench.hosted import HostedStrategy
from pytest_ansorbench.measure.engine import Engine, EngineError, EngineFactory
from pytest_ansorbench.measure.noise import observe_noise
from pytest_ansorbench.packed import pack_program
from pytest_ansorbench.records import (
    SCHEMA_VERSION,
    CaseResult,
    MachineNoise,
    Moment,
    NoiseTrace,
    Result,
    TaskRecord,
)
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.stats.noise import slice_ms_for
from pytest_ansorbench.storage import (
    Journal,
    Past,
    describe_commit,
    fingerprint,
    machine_difference,
)
from pytest_ansorbench.storage.entries import (
    JOURNAL_VERSION,
    CaseEntry,
    EndEntry,
    NoiseEntry,
    SessionEntry,
    YardsticksEntry,
)
from pytest_ansorbench.workloads.case import NetworkCase
from pytest_ansorbench.workloads.version import case_version

if TYPE_CHECKING:
    from pytest_ansorbench.bench.progress import Progress
    from pytest_ansorbench.workloads.case import Case, Task


class UnsupportedCaseError(ValueError):
    """A case that this version cannot tune."""


class Session:
    """Runs cases one after another and collects their results.

    The engine is made by `prepare` and started by the first case that has something to run;
    the journal begins with the first case. Both end with `close`. Before the first search and at
    the end it is looked at how steady the machine is, if there was a search at all.
    """

    def __init__(
        self,
        *,
        new_engine: EngineFactory,
        conditions: Mapping[str, Any],
        root: Path,
        storage: Path,
        settings: Mapping[str, Any],
        noise_check_s: float = 0.0,
        yardsticks: YardstickPlan = YardstickPlan(),  # noqa: B008 -- frozen
        past: Past | None = None,
    ) -> None:
        """Prepare a session; nothing is checked or started yet.

        Args:
            new_engine: Makes the engine that all cases share.
            conditions: What of the engine decides measurements, as JSON values: a run that
                goes on has to have the same.
            root: Folder of the project, whose commit is recorded.
            storage: Folder that the journal goes to.
            settings: The settings as JSON values, for the record.
            noise_check_s: Seconds of a look at how steady the machine is; 0 for none.
            yardsticks: What kernels are held against besides each other.
            past: A journal to go on with; None for a new one.

        Raises:
            StorageError: The journal's lines do not follow from each other.
        """
        self._new_engine = new_engine
        self._conditions = conditions
        self._storage = storage
        self._settings = settings
        self._noise_check_s = noise_check_s
        self._yardsticks = yardsticks
        self._past = past
        self._histories: dict[str, CaseHistory] = case_histories(past) if past else {}
        # Taken at the start: what is edited during a long bench was not measured by it.
        self._commit = past.session.commit if past else describe_commit(root)
        self._created = (
            past.session.created
            if past
            else datetime.now(timezone.utc).isoformat(timespec="seconds")
        )
        self._engine: Engine | None = None
        self._noise = NoiseHistory.of(past)
        self._machines: dict[str, Mapping[str, Any]] = dict(self._noise.machines)
        self._searched = False
        self._slice_ms: float | None = None
        self._journal: Journal | None = None
        self._planned: tuple[str, ...] = ()
        self._begun = Counter[str]()
        self._results: list[CaseResult] = []
        self._kept: list[_Kept] = []
        self._notes: list[str] = []

    @property
    def results(self) -> tuple[CaseResult, ...]:
        """Results so far, in order of execution."""
        return tuple(self._results)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of the cases that were run, a sentence each."""
        return tuple(self._notes)

    @property
    def engine(self) -> Engine:
        """The engine, once it is made."""
        assert self._engine is not None
        return self._engine

    @property
    def journal(self) -> Path | None:
        """The journal's file; None before the first case."""
        return self._journal.path if self._journal is not None else None

    def prepare(self, cases: Sequence[str] = ()) -> None:
        """Make the engine, and check that it fits the journal; nothing is started.

        Args:
            cases: Ids of the cases that are to be run, in order, for those who watch.

        Raises:
            ToolchainError: Something that the engine needs is missing or does not fit.
            ResumeError: The journal was begun on another machine.
        """
        self._engine = self._new_engine()
        self._planned = tuple(cases)
        machine = self._engine.machine
        self._machines[fingerprint(machine)] = machine
        if self._past is not None:
            difference = machine_difference(self._past.session.machine, machine)
            if difference:
                raise ResumeError(
                    f"the run was begun on another machine ({difference}); its runs cannot be "
                    "mixed with this one's"
                )

    def run(
        self,
        case: Case,
        strategies: Sequence[Arm],
        plan: Plan,
        progress: Progress | None = None,
        *,
        control: str | None = None,
        reference: SavedReference | None = None,
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
            reference: An earlier result whose runs of the reference may stand in for new ones.

        Returns:
            The result, which is also kept.

        Raises:
            UnhostableCaseError: An arm is run by another interpreter, which lacks the case.
            UnsupportedCaseError: The case has several tasks but no program to judge them by.
            BudgetError: Its budget does not give each task a round.
            UntunedError: A network does not work even untuned.
            EngineError: The engine is broken.
            ResumeError: The journal has the case under other circumstances.
            StorageError: The journal cannot be written.
        """
        if self._engine is None:
            self.prepare()
        tasks = case.tasks()
        _check_supported(case, tasks, strategies, plan)
        entry = CaseEntry(
            label=self._label(case.id),
            case=case.id,
            version=case_version(case, tasks),
            strategies=tuple(strategy.name for strategy in strategies),
            control=control,
            flops=case.flops,
            tasks=tuple(TaskRecord(task.name, task.weight, task.flops, ()) for task in tasks),
            programs=tuple(pack_program(task.mod) for task in tasks),
            conditions={**plan.runs.conditions(len(tasks)), **self._conditions},
            repeats=plan.repeats.most,
            limits=dict(plan.limits),
        )
        journal = CaseJournal(self._open_journal(), self._histories.get(entry.label), entry)
        stand_ins: Mapping[int, StandIn] = {}
        if reference is not None and not isinstance(strategies[0], HostedStrategy):
            stand_ins, reason = reference.runs(entry, self.engine.machine)
            if reason:
                self._notes.append(f"{entry.label}: its reference is run anew: {reason}")
        kept = _Kept(case, tasks, strategies, plan, journal, stand_ins)
        try:
            self._run_rest(kept, plan, progress or Silent())
        except KeyboardInterrupt:
            if plan.repeats.seeds(journal.history):
                self._keep(kept)
            raise
        return self._keep(kept)

    def more(self, repeats: int, deadline_s: float, progress: Progress | None = None) -> bool:
        """Run further repeats of the cases that have too few.

        Args:
            repeats: How many each case is to have.
            deadline_s: When they have to be over, by `time.monotonic`.
            progress: Is told of every trial.

        Returns:
            Whether all cases have as many now.

        Raises:
            EngineError: The engine is broken.
            StorageError: The journal cannot be written.
        """
        complete = True
        for index, kept in enumerate(self._kept):
            seeds = kept.plan.repeats.seeds(kept.journal.history)
            if not seeds or len(seeds) >= repeats:
                continue
            every = range(seeds[0], seeds[0] + repeats)
            plan = replace(kept.plan, repeats=FixedRepeats(every), deadline_s=deadline_s)
            try:
                self._run_rest(kept, plan, progress or Silent())
            finally:
                self._results[index] = judged(kept.journal.history, kept.plan)
            complete &= len(kept.plan.repeats.seeds(kept.journal.history)) >= repeats
        return complete

    @property
    def machines(self) -> Mapping[str, Any]:
        """By fingerprint, the machines that runs were measured on."""
        return self._machines

    @property
    def noise(self) -> tuple[MachineNoise, ...]:
        """How steady the machine was, in order of time."""
        return self._noise.noise

    def result(self) -> Result:
        """Everything so far as one record."""
        return Result(
            schema_version=SCHEMA_VERSION,
            created=self._created,
            machines=self.machines,
            commit=self._commit,
            settings=self._settings,
            cases=self.results,
            noise=self.noise,
        )

    def finish(self) -> None:
        """Look at the machine a last time, note that this is the end, and compress the journal.

        Raises:
            StorageError: The journal cannot be written.
        """
        if self._searched and self._noise_check_s:
            # Nothing else is left to be interrupted, and nothing depends on this look.
            with contextlib.suppress(EngineError, KeyboardInterrupt):
                self._observe_noise("end")
        if self._journal is not None:
            self._journal.append(EndEntry(len(self._results)))
            self._journal.pack()

    def close(self) -> None:
        """End the engine's processes, and let go of the journal."""
        if self._engine is not None:
            self._engine.close()
        if self._journal is not None:
            self._journal.close()

    def _run_rest(self, kept: _Kept, plan: Plan, progress: Progress) -> None:
        """Run what the journal does not have yet; if that is nothing, start nothing."""
        engine, history = self._engine, kept.journal.history
        assert engine is not None
        if plan.repeats.next_seed(history, lambda: judged(history, plan)) is None:
            return
        try:
            engine.start()
            try:
                plan = self._suited_to_noise(kept.case, plan, progress)
                prepared = prepare(kept.case, kept.tasks, engine, progress.note)
                self._measure_yardsticks(kept.journal, prepared, engine, progress)
            finally:
                progress.clear()
            Experiment(
                prepared,
                kept.strategies,
                plan,
                engine,
                kept.journal,
                progress,
                kept.stand_ins,
            ).run()
        except EngineError:
            engine.close()  # the next case starts it anew
            raise

    def _measure_yardsticks(
        self, journal: CaseJournal, prepared: PreparedCase, engine: Engine, progress: Progress
    ) -> None:
        """Measure what the case's kernels are held against, unless the journal has it."""
        known = journal.history.yardsticks.get(fingerprint(engine.machine))
        if not self._yardsticks.is_met_by(known):
            found = self._yardsticks.measured(prepared, engine, self._storage, progress.note)
            journal.append(YardsticksEntry(journal.label, found))

    def _suited_to_noise(self, case: Case, plan: Plan, progress: Progress) -> Plan:
        """The plan with slices of a length that suits the machine, as far as that is known.

        The first search of the session waits for a look at the machine.
        """
        if not self._searched and self._noise_check_s:
            progress.note(f"{case.id}  looking at how steady the machine is")
            trace = self._observe_noise("start")
            self._slice_ms = slice_ms_for(trace) if trace is not None else None
        self._searched = True
        if self._slice_ms is None:
            return plan
        return replace(plan, runs=plan.runs.with_slices(self._slice_ms))

    def _observe_noise(self, moment: Moment) -> NoiseTrace | None:
        """Look at how steady the machine is, and write that down; None if it could not be seen."""
        engine, journal = self._engine, self._journal
        assert engine is not None and journal is not None
        observed = datetime.now(timezone.utc).isoformat(timespec="seconds")
        trace = observe_noise(engine, self._noise_check_s)
        if trace is not None:
            entry = NoiseEntry(engine.machine, moment, observed, trace)
            journal.append(entry)
            self._noise.entries.append(entry)
        return trace

    def _keep(self, kept: _Kept) -> CaseResult:
        result = judged(kept.journal.history, kept.plan)
        self._machines |= kept.journal.history.machines
        self._results.append(result)
        self._kept.append(kept)
        return result

    def _label(self, case: str) -> str:
        """What the journal calls a case: two tests may tune the same one."""
        self._begun[case] += 1
        return case if self._begun[case] == 1 else f"{case}#{self._begun[case]}"

    def _open_journal(self) -> Journal:
        assert self._engine is not None
        if self._journal is None:
            if self._past is not None:
                self._journal = Journal.reopen(self._past)
            else:
                self._journal = Journal.create(
                    self._storage,
                    SessionEntry(
                        JOURNAL_VERSION,
                        self._created,
                        self._engine.machine,
                        self._commit,
                        self._settings,
                        self._planned,
                    ),
                )
        return self._journal


@dataclass(frozen=True)
class _Kept:
    """A case that was run, with what it takes to run more of it."""

    case: Case
    tasks: Sequence[Task]
    strategies: Sequence[Arm]
    plan: Plan
    journal: CaseJournal
    stand_ins: Mapping[int, StandIn]


def _check_supported(
    case: Case, tasks: Sequence[Task], strategies: Sequence[Arm], plan: Plan
) -> None:
    for strategy in strategies:
        if isinstance(strategy, HostedStrategy):
            strategy.check(case)
    if len(tasks) != 1 and not isinstance(case, NetworkCase):
        raise UnsupportedCaseError(
            f"bad case {case.id!r}: it has {len(tasks)} tasks, but no program() and arguments() "
            "to be judged by; expected an operator with one task, or a network"
        )
    plan.runs.budget.check(len(tasks))
