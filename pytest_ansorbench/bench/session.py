"""All cases of one bench: the shared engine, the results so far, the files they go to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.bench.experiment import Experiment, Plan
from pytest_ansorbench.environment import check_cores, check_toolchain, resolve_target
from pytest_ansorbench.measure import Engine, EngineSettings, WorkerError, register_intrinsics
from pytest_ansorbench.records import SCHEMA_VERSION, CaseResult, Result
from pytest_ansorbench.storage import describe_commit, describe_machine

if TYPE_CHECKING:
    from tvm.target import Target

    from pytest_ansorbench.bench.progress import Progress
    from pytest_ansorbench.strategies.strategy import Strategy
    from pytest_ansorbench.workloads.case import Case


class Session:
    """Runs cases one after another and collects their results.

    Worker processes start with the first case and end with `close`.
    """

    def __init__(
        self,
        *,
        target: str | None,
        engine: EngineSettings,
        root: Path,
    ) -> None:
        """Prepare a session; nothing is checked or started yet.

        Args:
            target: TVM target as users give it; None for this machine's CPU.
            engine: How candidates are built and run.
            root: Folder of the project, whose commit is recorded.
        """
        self._target_text = target
        self._engine_settings = engine
        # Taken at the start: what is edited during a long bench was not measured by it.
        self._commit = describe_commit(root)
        self._created = datetime.now(timezone.utc)
        self._target: Target | None = None
        self._engine: Engine | None = None
        self._results: list[CaseResult] = []

    @property
    def results(self) -> tuple[CaseResult, ...]:
        """Results so far, in order of execution."""
        return tuple(self._results)

    def prepare(self) -> None:
        """Check the toolchain, the target and the cores; imports TVM.

        Raises:
            ToolchainError: Something is missing or does not fit.
        """
        check_toolchain()
        self._target = resolve_target(self._target_text)
        check_cores(self._engine_settings.cores, int(self._target.attrs["num-cores"]))
        register_intrinsics(self._target)

    def run(
        self,
        case: Case,
        strategies: Sequence[Strategy],
        plan: Plan,
        progress: Progress | None = None,
    ) -> CaseResult:
        """Run one case.

        On an interrupt, what is complete of the case is kept before the interrupt goes on.

        Args:
            case: What to tune.
            strategies: The arms, the reference first.
            plan: How.
            progress: Is told of every trial.

        Returns:
            The result, which is also kept.

        Raises:
            WorkerError: Worker processes cannot be started.
        """
        experiment = Experiment(case, strategies, plan, self._warm_engine(), progress)
        try:
            result = experiment.run()
        except WorkerError:
            self.close()  # the next case gets new workers
            raise
        except KeyboardInterrupt:
            partial = experiment.result()
            if partial.runs:
                self._results.append(partial)
            raise
        self._results.append(result)
        return result

    def result(self, settings: Mapping[str, Any]) -> Result:
        """Everything so far as one record.

        Args:
            settings: The session's settings as JSON values.
        """
        return Result(
            schema_version=SCHEMA_VERSION,
            created=self._created.isoformat(timespec="seconds"),
            machine={**describe_machine(), "target": str(self._target)},
            commit=self._commit,
            settings=settings,
            cases=self.results,
        )

    def close(self) -> None:
        """End all worker processes."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _warm_engine(self) -> Engine:
        if self._target is None:
            self.prepare()
        if self._engine is None:
            assert self._target is not None
            self._engine = Engine(self._target, self._engine_settings)
        return self._engine
