"""Where the runs of a case come from: searches that are run now, or saved results."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import pytest

from pytest_ansorbench.bench import (
    Executor,
    FixedRepeats,
    LocalExecutor,
    MissingRunsError,
    Plan,
    Progress,
    RepeatsUntilSettled,
    Replay,
    RunPlan,
    SavedReference,
    Session,
    Site,
    UnsupportedCaseError,
    YardstickPlan,
)
from pytest_ansorbench.budget import BudgetError
from pytest_ansorbench.cluster.connect import cluster_executor
from pytest_ansorbench.cluster.work import SiteSettings
from pytest_ansorbench.environment import ToolchainError
from pytest_ansorbench.hosted import HostedStrategy, UnhostableCaseError
from pytest_ansorbench.measure.engine import Engine, EngineError, UntunedError
from pytest_ansorbench.measure.local.toolchains import joint_engine
from pytest_ansorbench.measure.remote.engine import remote_engine
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.options.declarations import flag_of
from pytest_ansorbench.options.settings import Settings
from pytest_ansorbench.plugin.arms import Arms
from pytest_ansorbench.plugin.refusals import in_options
from pytest_ansorbench.plugin.usage import failure, usage
from pytest_ansorbench.records import CaseResult, Gate, MachineNoise, Result
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.stats.looks import Looks
from pytest_ansorbench.storage import (
    Past,
    StorageError,
    find_saved,
    journal_name,
    list_journals,
    merge_results,
    read_journal,
    read_result,
)
from pytest_ansorbench.strategies import BadModel, control_of
from pytest_ansorbench.training import BadSamples, LearningFolder
from pytest_ansorbench.workloads import Case, ImportFailed

_REFUSALS: Final = (
    BadModel,
    ImportFailed,
    ResumeError,
    StorageError,
    UnhostableCaseError,
    UnsupportedCaseError,
)
"""Errors that say in one sentence why a case cannot be run."""


@dataclass(frozen=True)
class Asked:
    """What a session asks of one of its cases, beside the settings of its test.

    Attributes:
        family: Over how many gates like its own the session's false alarms could be shared out.
        deadline_s: When its last repeat has to be over, by `time.monotonic`.
        gates_on_changes: The gates on changes of a result since an earlier one.
        seeds: Its repeats, if the session runs only some of those that are planned; else None.
    """

    family: int
    deadline_s: float = math.inf
    gates_on_changes: Callable[[CaseResult], Sequence[Gate]] = lambda result: ()
    seeds: tuple[int, ...] | None = None


class Source(Protocol):
    """Gives a case's runs, judged."""

    @property
    def results(self) -> tuple[CaseResult, ...]:
        """Results so far."""
        ...

    def gather(self, config: pytest.Config) -> None:
        """Look around, once collection has loaded every conftest."""
        ...

    def arms(self, settings: Settings, case: str | None, *, given: bool) -> tuple[str, ...]:
        """The strategies of a test, the reference first, no control among them.

        Args:
            settings: The test's settings.
            case: Id of the test's case, if it can be told before it runs.
            given: Whether strategies were chosen for the test.

        Raises:
            pytest.UsageError: A strategy is not there.
        """
        ...

    def planned(self, settings: Settings, case: str | None) -> tuple[Sequence[int], bool]:
        """The repeats of a case, as far as they can be told before it runs.

        Args:
            settings: The settings of its test.
            case: Its id; None if that shows only when it runs.

        Returns:
            Their seeds, and whether they can be run apart from each other.
        """
        ...

    def prepare(self, cases: Sequence[str]) -> None:
        """Get ready for the first case.

        Args:
            cases: Ids of the cases that are to be run, in order.

        Raises:
            pytest.UsageError: Something is missing.
        """
        ...

    def run(
        self, settings: Settings, arms: Sequence[str], case: Case, asked: Asked, progress: Progress
    ) -> CaseResult:
        """Run a case, or find its runs; a failure fails the test."""
        ...

    def more(self, repeats: int, deadline_s: float, progress: Progress) -> bool:
        """Run cases until each has a number of repeats.

        Args:
            repeats: How many.
            deadline_s: When they have to be over, by `time.monotonic`.
            progress: Is told of every trial.

        Returns:
            Whether each has as many; a failure fails the test.
        """
        ...

    def looks(self, settings: Settings) -> Looks | None:
        """After how many repeats cases are judged together; None for once."""
        ...

    def saved(
        self, settings: Settings, arms: Sequence[str], case: str, asked: Asked
    ) -> CaseResult | None:
        """A case that another process was given, from the same saved results; None without any."""
        ...

    def adopt(self, results: Sequence[CaseResult], seeds: Sequence[Sequence[int]]) -> None:
        """Take over what other processes made of the same saved results.

        Args:
            results: Cases, runs left out.
            seeds: The repeats of each.
        """
        ...

    def measured(self) -> Result | None:
        """All that was measured here, for the process that reports; None of saved runs."""
        ...

    def take(self, result: Result) -> None:
        """Take over what another process has measured."""
        ...

    @property
    def machines(self) -> Mapping[str, Any]:
        """By fingerprint, the machines that runs were measured on."""
        ...

    @property
    def noise(self) -> tuple[MachineNoise, ...]:
        """How steady these machines were, in order of time."""
        ...

    def result(self) -> Result:
        """Everything so far."""
        ...

    def close(self, *, finished: bool) -> str:
        """Let go of everything.

        Args:
            finished: Whether there is nothing left to be run.

        Returns:
            A line for the summary, if there is something to say.
        """
        ...


def source_of(config: pytest.Config, settings: Settings) -> Source:
    """Where this session's runs come from.

    Raises:
        pytest.UsageError: A result file or a journal is not there or not whole.
    """
    try:
        return _Replayed(settings) if settings.replay else _Live(config, settings)
    except StorageError as error:
        raise pytest.UsageError(in_options(error)) from None


class _Live:
    """Searches that are run now: here, on a device, or by a cluster."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        """Prepare; nothing is started."""
        self._arms = Arms(settings, lambda: self._session.executor.target)
        self._notes: list[str] = []
        storage = config.rootpath / settings.files.storage
        learn = settings.files.learn
        self._learning = None if learn is None else LearningFolder(config.rootpath / learn)
        self._cases: dict[str, Case] = {}
        self._others: list[Result] = []
        self._settings = settings
        self._reference = _reference(storage, settings)
        past = _past(storage, settings.resume) if settings.resume is not None else None
        if past is not None and past.dropped:
            self._notes.append(
                f"{past.path}: a last line that was cut short ({past.dropped} bytes) was dropped; "
                "its round is run again"
            )
        self._session = Session(
            new_executor=lambda: self._executor(config.rootpath, storage),
            conditions={
                **settings.engine.conditions(),
                **settings.remote.conditions(),
                **(self._learning.conditions if self._learning else {}),
            },
            root=config.rootpath,
            storage=storage,
            settings=settings.to_json(),
            past=past,
        )

    def _executor(self, root: Path, storage: Path) -> Executor:
        """Who carries repeats out."""
        settings, noise_check_s = self._settings, self._settings.experiment.noise_check_s
        if settings.cluster.address is not None:
            site = SiteSettings(
                settings.target, settings.engine, noise_check_s, _yardsticks(settings), {}
            )
            return cluster_executor(settings.cluster, site, root, self._notes.append)
        return LocalExecutor(
            Site(
                _engine(settings),
                storage=storage,
                noise_check_s=noise_check_s,
                yardsticks=_yardsticks(settings),
            )
        )

    @property
    def results(self) -> tuple[CaseResult, ...]:
        return self.result().cases

    def gather(self, config: pytest.Config) -> None:
        self._arms.gather(config)

    def arms(self, settings: Settings, case: str | None, *, given: bool) -> tuple[str, ...]:
        for name in settings.strategies:
            usage(self._arms.get, name)
        return settings.strategies

    def planned(self, settings: Settings, case: str | None) -> tuple[Sequence[int], bool]:
        first, repeats = settings.experiment.seed, settings.experiment.repeats
        if isinstance(repeats, int):
            return range(first, first + repeats), True
        return range(first, first + repeats.least), False

    def prepare(self, cases: Sequence[str]) -> None:
        try:
            self._session.prepare(cases)
        except EngineError as error:
            raise pytest.UsageError(f"bad {flag_of(self._place())}: {error}") from None
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

    def run(
        self, settings: Settings, arms: Sequence[str], case: Case, asked: Asked, progress: Progress
    ) -> CaseResult:
        __tracebackhide__ = True
        strategies = [self._arms.get(name) for name in arms]
        if self._learning is not None:
            strategies = [
                strategy
                if isinstance(strategy, HostedStrategy)
                else self._learning.equipped(strategy)
                for strategy in strategies
            ]
            self._cases[case.id] = case
        control = None
        if settings.control:
            if isinstance(strategies[0], HostedStrategy):
                raise failure(
                    f"bad strategy {strategies[0].name!r}: expected one of this interpreter first, "
                    "which a control is a copy of"
                )
            strategies.append(control_of(strategies[0]))
            control = strategies[-1].name
        try:
            return self._session.run(
                case,
                strategies,
                plan_of(settings, asked),
                progress,
                control=control,
                reference=self._reference,
            )
        except EngineError as error:
            raise failure(f"the measurement engine gave up: {error}") from None
        except UntunedError as error:
            raise failure(f"{case.id} does not work even untuned: {error}") from None
        except BudgetError as error:
            raise failure(f"{case.id}: {in_options(error)}") from None
        except _REFUSALS as error:
            raise failure(in_options(error)) from None

    def more(self, repeats: int, deadline_s: float, progress: Progress) -> bool:
        __tracebackhide__ = True
        try:
            return self._session.more(repeats, deadline_s, progress)
        except EngineError as error:
            raise failure(f"the measurement engine gave up: {error}") from None
        except _REFUSALS as error:
            raise failure(in_options(error)) from None

    def _place(self) -> str:
        """The setting that says where it is measured."""
        settings = self._settings
        if settings.cluster.address is not None:
            return "cluster.address"
        if settings.remote.address is None:
            return "toolchains"
        return "remote.server" if settings.remote.tracker is None else "remote.tracker"

    def looks(self, settings: Settings) -> Looks | None:
        return settings.criteria.looks

    def saved(
        self, settings: Settings, arms: Sequence[str], case: str, asked: Asked
    ) -> CaseResult | None:
        """No other process runs anything."""
        return None

    def adopt(self, results: Sequence[CaseResult], seeds: Sequence[Sequence[int]]) -> None:
        """No other process has saved runs."""

    def measured(self) -> Result | None:
        return self._session.result()

    def take(self, result: Result) -> None:
        self._others.append(result)

    @property
    def machines(self) -> Mapping[str, Any]:
        return self.result().machines

    @property
    def noise(self) -> tuple[MachineNoise, ...]:
        return self.result().noise

    def result(self) -> Result:
        """What this process has measured, or what all others have."""
        if not self._others:
            return self._session.result()
        return merge_results({f"process {at}": one for at, one in enumerate(self._others, 1)})

    def close(self, *, finished: bool) -> str:
        journal = self._session.journal
        if finished:
            try:
                self._session.finish()
            except StorageError as error:
                self._notes.append(in_options(error))
        elif journal is not None:
            flag = flag_of("resume")
            self._notes.append(f"to go on where this stopped: {flag}={journal_name(journal)}")
        self._session.close()
        self._arms.close()
        self._notes += [*self._session.notes, *self._toolchain_notes()]
        if finished and journal is not None:
            self._learn(journal)
        notes, self._notes = self._notes, []
        return "\n".join(notes)

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
        self._notes.append(learnt)


class _Replayed:
    """Saved results."""

    def __init__(self, settings: Settings) -> None:
        """Read the files."""
        self._replay = Replay(settings.replay, settings.to_json())

    @property
    def results(self) -> tuple[CaseResult, ...]:
        return self._replay.results

    def gather(self, config: pytest.Config) -> None:
        """Strategies are names here; none has to be offered."""

    def arms(self, settings: Settings, case: str | None, *, given: bool) -> tuple[str, ...]:
        if given or case is None:
            return settings.strategies
        try:
            return self._replay.strategies(case)
        except MissingRunsError:
            return settings.strategies  # its test will say so

    def planned(self, settings: Settings, case: str | None) -> tuple[Sequence[int], bool]:
        try:
            return self._replay.seeds(case or ""), self._replay.looks is None
        except MissingRunsError:
            return (settings.experiment.seed,), False  # its test will say so

    def prepare(self, cases: Sequence[str]) -> None:
        """Everything is read already."""

    def run(
        self, settings: Settings, arms: Sequence[str], case: Case, asked: Asked, progress: Progress
    ) -> CaseResult:
        __tracebackhide__ = True
        try:
            return self._replay.run(case.id, arms, plan_of(settings, asked), asked.seeds)
        except MissingRunsError as error:
            raise failure(in_options(error)) from None

    def more(self, repeats: int, deadline_s: float, progress: Progress) -> bool:
        """There are no more than there are."""
        return False

    def looks(self, settings: Settings) -> Looks | None:
        """As the saved session looked, whatever this one's settings are."""
        return self._replay.looks

    def saved(
        self, settings: Settings, arms: Sequence[str], case: str, asked: Asked
    ) -> CaseResult | None:
        try:
            return self._replay.judged(case, arms, plan_of(settings, asked), asked.seeds)
        except MissingRunsError:
            return None

    def adopt(self, results: Sequence[CaseResult], seeds: Sequence[Sequence[int]]) -> None:
        self._replay.adopt(results, seeds)

    def measured(self) -> Result | None:
        """Nothing: the process that reports has the same saved runs."""
        return None

    def take(self, result: Result) -> None:
        """Nobody measures anything."""

    @property
    def machines(self) -> Mapping[str, Any]:
        return self._replay.machines

    @property
    def noise(self) -> tuple[MachineNoise, ...]:
        return self._replay.noise

    def result(self) -> Result:
        return self._replay.result()

    def close(self, *, finished: bool) -> str:
        return ""


def _engine(settings: Settings) -> Engine:
    """The engine that the settings ask for."""
    if settings.remote.address is not None:
        return remote_engine(settings.target, settings.engine, settings.remote)
    return joint_engine(settings.target, settings.engine, settings.toolchains)


def _yardsticks(settings: Settings) -> YardstickPlan:
    """What kernels are held against besides each other."""
    experiment = settings.experiment
    return YardstickPlan(experiment.roofline, experiment.reference_kernels, settings.engine.cores)


def plan_of(settings: Settings, asked: Asked) -> Plan:
    """The settings of one test as the bench takes them."""
    first_seed, repeats = settings.experiment.seed, settings.experiment.repeats
    return Plan(
        runs=RunPlan(
            budget=settings.budget,
            order=settings.experiment.order,
            scheduler=settings.experiment.scheduler,
            final=settings.experiment.final,
            progress=settings.criteria.progress,
        ),
        repeats=(
            FixedRepeats(asked.seeds or range(first_seed, first_seed + repeats))
            if isinstance(repeats, int)
            else RepeatsUntilSettled(
                first_seed, repeats, settings.has_suite_gates, asked.gates_on_changes
            )
        ),
        criteria=settings.criteria,
        limits=settings.limits,
        family=asked.family,
        deadline_s=asked.deadline_s,
    )


def _reference(storage: Path, settings: Settings) -> SavedReference | None:
    """The result that `--ansor-reference` means.

    Raises:
        StorageError: There is none, or it cannot be read.
    """
    if settings.reference is None:
        return None
    try:
        result = read_result(find_saved(storage, settings.reference))
    except StorageError as error:
        raise StorageError(f"bad {flag_of('reference')}: {error}") from None
    return SavedReference(result, EngineSettings.conditions_of(result.settings))


def _past(storage: Path, wanted: str) -> Past:
    """The journal that `--ansor-resume` means.

    Raises:
        StorageError: There is none, or it is damaged.
    """
    journals = list_journals(storage)
    if wanted == "newest":
        for path in reversed(journals):
            past = read_journal(path)
            if not past.finished:
                return past
        raise StorageError(
            f"bad --ansor-resume: no interrupted run in {str(storage)!r}; leave the option out to "
            "start a new one"
        )
    names = {journal_name(path): path for path in journals}
    named = [path for name, path in names.items() if wanted in (name, name.lstrip("0"))]
    if not named and not Path(wanted).is_file():
        known = ", ".join(list(names)[-3:]) or "none"
        raise StorageError(
            f"bad --ansor-resume {wanted!r}: expected the number or path of a journal; in "
            f"{str(storage)!r} there are {known}"
        )
    return read_journal(named[-1] if named else Path(wanted))
