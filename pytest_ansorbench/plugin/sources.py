"""Where the runs of a case come from: searches that are run now, or saved results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import pytest

from pytest_ansorbench.bench import (
    MissingRunsError,
    Plan,
    Progress,
    Replay,
    Session,
    UnsupportedCaseError,
)
from pytest_ansorbench.environment import ToolchainError
from pytest_ansorbench.measure.engine import UntunedError
from pytest_ansorbench.measure.fork_server import WorkerError
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.options import Settings
from pytest_ansorbench.plugin.offered import register_offered
from pytest_ansorbench.plugin.usage import failure, usage
from pytest_ansorbench.records import CaseResult, Result
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.gate import Limits
from pytest_ansorbench.storage import Past, StorageError, list_journals, read_journal
from pytest_ansorbench.strategies import BadModel, Registry, control_of
from pytest_ansorbench.workloads import Case, ImportFailed

_REFUSALS: Final = (BadModel, ImportFailed, ResumeError, StorageError, UnsupportedCaseError)
"""What cannot be run as it is; each says so in one sentence."""


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
            given: Whether anybody chose strategies for the test.

        Raises:
            pytest.UsageError: A strategy is not there.
        """
        ...

    def prepare(self) -> None:
        """Get ready for the first case.

        Raises:
            pytest.UsageError: Something is missing.
        """
        ...

    def run(
        self, settings: Settings, arms: Sequence[str], case: Case, family: int, progress: Progress
    ) -> CaseResult:
        """Run a case, or find its runs; a failure fails the test."""
        ...

    def adopt(self, results: Sequence[CaseResult]) -> None:
        """Take over what other processes made of the same saved results, runs left out."""
        ...

    @property
    def machines(self) -> Mapping[str, Any]:
        """By fingerprint, the machines that runs were measured on."""
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
        raise pytest.UsageError(str(error)) from None


class _Live:
    """Searches on this machine."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        """Prepare; nothing is started."""
        self._registry = Registry()
        self._notes: list[str] = []
        storage = config.rootpath / settings.storage
        past = _past(storage, settings.resume) if settings.resume is not None else None
        if past is not None and past.dropped:
            self._notes.append(
                f"{past.path}: a last line that was cut short ({past.dropped} bytes) was dropped; "
                "its round is run again"
            )
        self._session = Session(
            target=settings.target,
            engine=EngineSettings(
                build_workers=settings.build_workers,
                build_timeout_s=settings.build_timeout_s,
                run_timeout_s=settings.run_timeout_s,
                memory_limit_mb=settings.memory_limit_mb,
                check=settings.check,
                flush_cache_mb=settings.flush_cache_mb,
                cores=settings.cores,
            ),
            root=config.rootpath,
            storage=storage,
            settings=settings.to_json(),
            past=past,
        )

    @property
    def results(self) -> tuple[CaseResult, ...]:
        return self._session.results

    def gather(self, config: pytest.Config) -> None:
        register_offered(self._registry, config)

    def arms(self, settings: Settings, case: str | None, *, given: bool) -> tuple[str, ...]:
        for name in settings.strategies:
            usage(self._registry.get, name)
        return settings.strategies

    def prepare(self) -> None:
        try:
            self._session.prepare()
        except (ToolchainError, ResumeError) as error:
            raise pytest.UsageError(str(error)) from None

    def run(
        self, settings: Settings, arms: Sequence[str], case: Case, family: int, progress: Progress
    ) -> CaseResult:
        __tracebackhide__ = True
        strategies = [self._registry.get(name) for name in arms]
        control = None
        if settings.control:
            strategies.append(control_of(strategies[0]))
            control = strategies[-1].name
        try:
            return self._session.run(
                case, strategies, plan_of(settings, family), progress, control=control
            )
        except WorkerError as error:
            raise failure(f"the measurement engine gave up: {error}") from None
        except UntunedError as error:
            raise failure(f"{case.id} does not work even untuned: {error}") from None
        except _REFUSALS as error:
            raise failure(str(error)) from None

    def adopt(self, results: Sequence[CaseResult]) -> None:
        """No other process runs anything."""

    @property
    def machines(self) -> Mapping[str, Any]:
        return self._session.machines

    def result(self) -> Result:
        return self._session.result()

    def close(self, *, finished: bool) -> str:
        journal = self._session.journal
        if finished:
            try:
                self._session.finish()
            except StorageError as error:
                self._notes.append(str(error))
        elif journal is not None:
            self._notes.append(f"to go on where this stopped: --ansor-resume={journal.stem}")
        self._session.close()
        notes, self._notes = self._notes, []
        return "\n".join(notes)


class _Replayed:
    """Saved results."""

    def __init__(self, settings: Settings) -> None:
        """Read the files."""
        self._replay = Replay(settings.replay, settings.to_json())

    @property
    def results(self) -> tuple[CaseResult, ...]:
        return self._replay.results

    def gather(self, config: pytest.Config) -> None:
        """Strategies are names here; nobody has to offer them."""

    def arms(self, settings: Settings, case: str | None, *, given: bool) -> tuple[str, ...]:
        if given or case is None:
            return settings.strategies
        try:
            return self._replay.strategies(case)
        except MissingRunsError:
            return settings.strategies  # its test will say so

    def prepare(self) -> None:
        """Everything is read already."""

    def run(
        self, settings: Settings, arms: Sequence[str], case: Case, family: int, progress: Progress
    ) -> CaseResult:
        __tracebackhide__ = True
        try:
            return self._replay.run(case.id, arms, plan_of(settings, family))
        except MissingRunsError as error:
            raise failure(str(error)) from None

    def adopt(self, results: Sequence[CaseResult]) -> None:
        self._replay.adopt(results)

    @property
    def machines(self) -> Mapping[str, Any]:
        return self._replay.machines

    def result(self) -> Result:
        return self._replay.result()

    def close(self, *, finished: bool) -> str:
        return ""


def plan_of(settings: Settings, family: int) -> Plan:
    """The settings of one test as the bench takes them."""
    return Plan(
        budget=settings.budget,
        repeats=settings.repeats,
        seed=settings.seed,
        order=settings.order,
        scheduler=settings.scheduler,
        final_samples=settings.final_samples,
        criteria=Criteria.from_settings(settings.to_json()),
        limits=Limits(settings.max_search_ratio, settings.min_throughput_ratio),
        family=family,
    )


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
    named = [path for path in journals if path.stem == wanted or path.stem.lstrip("0") == wanted]
    if not named and not Path(wanted).is_file():
        known = ", ".join(path.stem for path in journals[-3:]) or "none"
        raise StorageError(
            f"bad --ansor-resume {wanted!r}: expected the number or path of a journal; in "
            f"{str(storage)!r} there are {known}"
        )
    return read_journal(named[-1] if named else Path(wanted))
