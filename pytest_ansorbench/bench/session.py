"""All cases of one bench: who carries them out, the journal, the results so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.bench.arms import Arm
from pytest_ansorbench.bench.blocks import Block, Executor
from pytest_ansorbench.bench.experiment import Experiment
from pytest_ansorbench.bench.history import CaseJournal, case_histories, goes_on, noise_of
from pytest_ansorbench.bench.progress import Silent
from pytest_ansorbench.bench.reference import SavedReference, StandIn
from pytest_ansorbench.bench.repeats import FixedRepeats, Plan
from pytest_ansorbench.hosted import HostedStrategy
from pytest_ansorbench.packed import pack_program
from pytest_ansorbench.records import SCHEMA_VERSION, CaseResult, MachineNoise, Result, TaskRecord
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.storage import (
    Journal,
    Past,
    describe_commit,
    fingerprint,
    package_difference,
)
from pytest_ansorbench.storage.entries import (
    JOURNAL_VERSION,
    CaseEntry,
    EndEntry,
    NoiseEntry,
    SessionEntry,
)
from pytest_ansorbench.travel import recorded
from pytest_ansorbench.workloads.case import NetworkCase, case_version
from pytest_ansorbench.workloads.signature import check_program

if TYPE_CHECKING:
    from pytest_ansorbench.bench.progress import Progress
    from pytest_ansorbench.workloads.case import Case, Task


class UnsupportedCaseError(ValueError):
    """A case that this version cannot tune."""


@dataclass(eq=False, kw_only=True)
class Session:
    """Runs cases one after another and collects their results.

    The executor is made by `prepare`, and starts what it needs when the first case has something
    to run; the journal begins with the first case. Both end with `close`.
    """

    new_executor: Callable[[], Executor]
    conditions: Mapping[str, Any]  # how programs are built and run, for the journal
    root: Path  # of the project, whose commit is recorded
    storage: Path  # folder of journals
    settings: Mapping[str, Any]  # as JSON values, for the record
    past: Past | None = None  # the journal of an interrupted session that goes on

    def __post_init__(self) -> None:
        past = self.past
        self._histories = case_histories(past) if past else {}
        # Taken at the start: what is edited during a long bench was not measured by it.
        self._commit = past.session.commit if past else describe_commit(self.root)
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self._created = past.session.created if past else now
        self._executor: Executor | None = None
        self._began_on: Mapping[str, Any] = {}
        self._noise = past.of(NoiseEntry) if past else []
        self._journal: Journal | None = None
        self._planned: tuple[str, ...] = ()
        self._labels: dict[str, object] = {}  # of the cases that were begun: whose they are
        self._results: dict[str, CaseResult] = {}  # by label
        self._experiments: dict[str, Experiment] = {}  # likewise
        self._notes: list[str] = []

    @property
    def results(self) -> tuple[CaseResult, ...]:
        return tuple(self._results.values())

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of the cases that were run, a sentence each."""
        return tuple(self._notes)

    @property
    def executor(self) -> Executor:
        assert self._executor is not None
        return self._executor

    @property
    def journal(self) -> Path | None:
        """The journal's file; None before the first case."""
        return self._journal.path if self._journal is not None else None

    @property
    def is_on_record(self) -> bool:
        """Whether the journal has all that was done; else there is something to go on with."""
        return self._journal is None or self._journal.is_whole

    @property
    def left(self) -> tuple[str, ...]:
        """The cases of the journal, by label, that no test has gone on with."""
        return tuple(label for label in self._histories if label not in self._labels)

    def prepare(self, cases: Sequence[str] = ()) -> None:
        """Make the executor, and check that it fits the journal.

        Raises:
            ResumeError: The journal's session began on another machine, or with other packages.
        """
        self._executor = self.new_executor()
        # Who cannot say what it is cannot measure either, and says so before the first case.
        self._began_on = self._executor.machine
        self._planned = tuple(cases)
        if self.past is not None:
            check_goes_on(self._executor, self.past.session.machine)
            self._notes += _other_commit(self._commit, describe_commit(self.root))

    def run(
        self,
        case: Case,
        strategies: Sequence[Arm],
        plan: Plan,
        progress: Progress | None = None,
        *,
        control: str | None = None,
        reference: SavedReference | None = None,
        test: str | None = None,
    ) -> CaseResult:
        """Run one case, of a test that goes on with it if it is run again.

        What the journal has of it is not run again; if that is all, nothing is started. On an
        interrupt, what is complete of the case is kept before the interrupt goes on.
        """
        if self._executor is None:
            self.prepare()
        tasks = tuple(case.tasks())
        check_supported(case, tasks, strategies, plan)
        entry = case_entry(
            case.id,
            case,
            tasks,
            strategies,
            plan,
            conditions=self.conditions,
            root=self.root,
            control=control,
        )
        entry = replace(entry, label=self._label(entry, test))
        self._check_apart(entry)
        journal = CaseJournal(
            self._open_journal(), self._histories.get(entry.label), entry, self._noise
        )
        self._histories[entry.label] = journal.history
        stand_ins: Mapping[int, StandIn] = {}
        if reference is not None:
            own = strategies[0]
            reason = f"{own.name} is searched by another toolchain"
            if not isinstance(own, HostedStrategy):
                stand_ins, reason = reference.runs(own, entry, self.executor.machine)
            if reason:
                self._notes.append(f"{entry.label}: its reference is run anew: {reason}")
        block = Block(
            label=entry.label,
            case=case,
            tasks=tasks,
            version=entry.version,
            strategies=tuple(strategies),
            plan=plan.runs,
            seed=0,
        )
        experiment = Experiment(
            block, plan, self.executor, journal, progress or Silent(), stand_ins
        )
        try:
            experiment.run()
        except KeyboardInterrupt:
            if experiment.seeds:
                self._keep(experiment)
            raise
        return self._keep(experiment)

    def more(self, repeats: int, deadline_s: float, progress: Progress | None = None) -> bool:
        """Run further repeats of the cases that have too few; of none if one may not have them."""
        few = [
            (label, experiment)
            for label, experiment in self._experiments.items()
            if 0 < len(experiment.seeds) < repeats
        ]
        if any(experiment.plan.repeats.most < repeats for _, experiment in few):
            return False
        complete = True
        for label, experiment in few:
            first = experiment.seeds[0]
            every = FixedRepeats(range(first, first + repeats))
            plan = replace(experiment.plan, repeats=every, deadline_s=deadline_s)
            try:
                replace(experiment, plan=plan, progress=progress or Silent()).run()
            finally:
                self._results[label] = experiment.judged()
            complete &= len(experiment.seeds) >= repeats
        return complete

    @property
    def machines(self) -> Mapping[str, Any]:
        machines = {fingerprint(entry.machine): entry.machine for entry in self._noise}
        for label in self._labels:
            if label in self._histories:
                machines |= self._histories[label].machines
        return machines

    @property
    def noise(self) -> tuple[MachineNoise, ...]:
        """How steady the machine was, in order of time."""
        return noise_of(self._noise)

    def result(self) -> Result:
        return Result(
            schema_version=SCHEMA_VERSION,
            created=self._created,
            machines=self.machines,
            commit=self._commit,
            settings=self.settings,
            cases=self.results,
            noise=self.noise,
        )

    def finish(self) -> None:
        """Look at the machine a last time."""
        if self._journal is not None and self._executor is not None:
            noise = self._executor.finish()
            if noise is not None:
                self._journal.append(noise)
                self._noise.append(noise)

    def stop(self) -> None:
        """End all processes."""
        if self._executor is not None:
            self._executor.close()

    def conclude(self) -> None:
        """Note that nothing is left to go on with, its result included; compress the journal."""
        if self._journal is not None:
            self._journal.append(EndEntry(len(self._results)))
            self._journal.pack()

    def close(self) -> None:
        self.stop()
        if self._journal is not None:
            self._journal.close()

    def _keep(self, experiment: Experiment) -> CaseResult:
        label = experiment.block.label
        self._results[label] = experiment.judged()
        self._experiments[label] = experiment
        return self._results[label]

    def _label(self, entry: CaseEntry, test: str | None) -> str:
        """What the journal calls a case, one for each test: two may tune the same one.

        Of several that a journal has, a test goes on with one that was measured as its own is.
        """
        owner, case = test or object(), entry.case
        alike = [label for label, one in self._histories.items() if goes_on(one.entry, entry)]
        numbered = (f"{case}#{number}" for number in count(2))
        names = chain(sorted(alike, key=lambda label: (len(label), label)), [case], numbered)
        return next(name for name in names if self._labels.setdefault(name, owner) == owner)

    def _check_apart(self, entry: CaseEntry) -> None:
        """Refuse another program under the id of one of this session: ids tell cases apart."""
        for label in self._labels.keys() & self._histories.keys() - {entry.label}:
            begun = self._histories[label].entry
            if begun.case == entry.case and begun.version != entry.version:
                raise UnsupportedCaseError(
                    f"bad case {entry.case!r}: another test has another program under this id; "
                    "give one of the two another id"
                )

    def _open_journal(self) -> Journal:
        if self._journal is None:
            past = self.past
            self._journal = journal = Journal.reopen(past) if past else self._new_journal()
            if journal.unlocked:
                self._notes.append(
                    f"{journal.path}: its file system has no locks ({journal.unlocked}); let no "
                    "other session go on with it while this one runs"
                )
        return self._journal

    def _new_journal(self) -> Journal:
        begun = SessionEntry(
            JOURNAL_VERSION,
            self._created,
            self._began_on,
            self._commit,
            self.settings,
            self._planned,
        )
        return Journal.create(self.storage, begun)


def check_goes_on(executor: Executor, begun_on: Mapping[str, Any]) -> None:
    """Refuse what began on another machine than the executor's, or with other packages.

    Raises:
        ResumeError: It did.
    """
    other = ""
    if misfit := executor.session_misfit(begun_on):
        other = f"on another machine ({misfit})"
    elif changed := package_difference(begun_on, executor.machine):
        other = f"with other packages ({changed})"
    if other:
        raise ResumeError(f"the run was begun {other}; its runs cannot be mixed with this one's")


def _other_commit(begun: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """What to say where a run goes on at another commit than it began at."""
    then, today = (
        f"{str(one.get('id'))[:12]}{' and changes' if one.get('dirty') else ''}"
        for one in (begun, now)
    )
    if then != today:
        yield f"begun at commit {then}, which the result tells, and continued at {today}"


def case_entry(
    label: str,
    case: Case,
    tasks: Sequence[Task],
    strategies: Sequence[Arm],
    plan: Plan,
    *,
    conditions: Mapping[str, Any],
    root: Path,
    control: str | None = None,
) -> CaseEntry:
    """The line of a journal with which a case begins.

    `conditions` are those of the session, `root` is the folder of the project.
    """
    every = {**plan.runs.conditions(len(tasks)), **conditions}
    if every.get("caches") == "network" and not isinstance(case, NetworkCase):
        every["caches"] = "warm"  # it is in no network
    return CaseEntry(
        label=label,
        case=case.id,
        version=case_version(case, tasks),
        strategies=tuple(strategy.name for strategy in strategies),
        control=control,
        flops=case.flops,
        tasks=tuple(TaskRecord(task.name, task.weight, task.flops, ()) for task in tasks),
        programs=tuple(pack_program(task.mod) for task in tasks),
        conditions=every,
        repeats=len(plan.repeats.planned),
        limits=dict(plan.limits),
        definition=recorded(case, root),
    )


def check_supported(
    case: Case, tasks: Sequence[Task], strategies: Sequence[Arm], plan: Plan
) -> None:
    for strategy in strategies:
        if isinstance(strategy, HostedStrategy):
            strategy.check(case)
    if not tasks:
        raise UnsupportedCaseError(
            f"bad case {case.id!r}: there is nothing in it to tune; expected at least one task"
        )
    if len(tasks) != 1 and not isinstance(case, NetworkCase):
        raise UnsupportedCaseError(
            f"bad case {case.id!r}: it has {len(tasks)} tasks, but no program() and arguments() "
            "to be judged by; expected an operator with one task, or a network"
        )
    for task in tasks:
        of_several = f"the task {task.name!r} of {case.id!r}"
        check_program(task.mod, repr(case.id) if len(tasks) == 1 else of_several)
    plan.runs.budget.check(len(tasks))
