"""Sessions as settings ask for them: who carries repeats out, how runs are made, what is refused.

pytest's plugin and `tuning` make their sessions of this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.bench import (
    Executor,
    LocalExecutor,
    RunPlan,
    Site,
    UnsupportedCaseError,
    YardstickPlan,
    taking_turns,
)
from pytest_ansorbench.budget import BudgetError
from pytest_ansorbench.cluster.connect import cluster_executor
from pytest_ansorbench.cluster.work import SiteSettings
from pytest_ansorbench.cores import threads_of, usable_cores
from pytest_ansorbench.environment import MisfitError, ToolchainError, device_name
from pytest_ansorbench.hosted import UnhostableError
from pytest_ansorbench.measure.engine import ElsewhereError, EngineError, UntunedError
from pytest_ansorbench.measure.local.toolchains import joint_engine
from pytest_ansorbench.measure.remote.engine import remote_engine
from pytest_ansorbench.options.refusals import in_options
from pytest_ansorbench.records import Implementation
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.storage import StorageError
from pytest_ansorbench.strategies import BadModel
from pytest_ansorbench.workloads import BadInputs, BadProgram, ImportFailed
from pytest_ansorbench.yardsticks.kernel import NoKernel, require_installed

if TYPE_CHECKING:
    from pytest_ansorbench.measure.engine import Engine
    from pytest_ansorbench.options.settings import Settings

REFUSALS: Final = (
    BadInputs,
    BadModel,
    BadProgram,
    BudgetError,
    ElsewhereError,
    EngineError,
    ImportFailed,
    ResumeError,
    StorageError,
    ToolchainError,
    UnhostableError,
    UnsupportedCaseError,
    UntunedError,
)
"""Errors that say in one sentence why a case cannot be run."""
_ON_GPU: Final = ("torch", "torch-compile")
"""Other libraries that a GPU's kernels are compared with."""


def why(error: Exception, case: str) -> str:
    """Why a case cannot be run, of one of the `REFUSALS`."""
    if isinstance(error, EngineError):
        return f"the measurement engine gave up: {error}"
    if isinstance(error, UntunedError):
        return f"{case} does not work even untuned: {error}"
    of_case = isinstance(error, BudgetError | BadInputs)
    return f"{case}: {in_options(error)}" if of_case else in_options(error)


def run_plan(settings: Settings) -> RunPlan:
    """How runs are made."""
    return RunPlan(
        budget=settings.budget,
        scheduler=settings.experiment.scheduler,
        final=settings.experiment.final,
        progress=settings.criteria.progress,
    )


def conditions_of(settings: Settings) -> Mapping[str, Any]:
    """How programs are built and run, as JSON values for a journal."""
    own = {**settings.engine.conditions(), **settings.remote.conditions()}
    peers = taking_turns(settings.experiment.reference_kernels)
    return {**own, "final_peers": ",".join(peers)} if peers else own


def executor_of(
    settings: Settings, *, root: Path, storage: Path, tell: Callable[[str], None]
) -> Executor:
    """Who carries repeats out: this process, on this machine or a device, or a cluster.

    Args:
        settings: What is asked for.
        root: Folder of the project, whose modules travel to a cluster.
        storage: Folder where the machine's peak is kept.
        tell: Is told what a user should know of a cluster, or of this machine's cores.

    Raises:
        EngineError: Nobody is there to measure.
        ToolchainError: Something is missing or does not fit.
    """
    experiment, noise_check_s = settings.experiment, settings.experiment.noise_check_s
    yardsticks = YardstickPlan(
        experiment.roofline, experiment.reference_kernels, settings.engine.cores
    )
    executor: Executor
    if settings.cluster.address is not None:
        site = SiteSettings(settings.target, settings.engine, noise_check_s, yardsticks, {})
        executor = cluster_executor(settings.cluster, site, root, tell)
    else:
        engine = engine_of(settings)
        note = usable_cores().note(threads_of(engine.target))
        if note and settings.remote.address is None:
            tell(note)
        executor = LocalExecutor(
            Site(
                engine,
                storage=storage,
                noise_check_s=noise_check_s,
                yardsticks=yardsticks,
            )
        )
    try:
        _check_peers(yardsticks, executor.target)
        if settings.cluster.address is None:  # whose workers have libraries of their own
            check_installed(taking_turns(yardsticks.implementations))
    except MisfitError:
        executor.close()
        raise
    return executor


def check_installed(libraries: Sequence[Implementation]) -> None:
    """Refuse libraries that are not here, before anything is searched: MisfitError."""
    for library in libraries:
        try:
            require_installed(library)
        except NoKernel as error:
            raise MisfitError("reference_kernels", library, str(error)) from None


def _check_peers(yardsticks: YardstickPlan, target: str) -> None:
    """Refuse libraries that do not compute where kernels of a target, JSON, run: MisfitError."""
    from tvm.target import Target

    others = {*taking_turns(yardsticks.implementations)} - {*_ON_GPU}
    if others and device_name(Target(target)) == "cuda":
        raise MisfitError(
            "reference_kernels",
            ",".join(yardsticks.implementations),
            f"on a GPU other libraries are not timed, expected {', '.join(_ON_GPU)}, untuned or "
            "first",
        )


def place_of(settings: Settings) -> str:
    """The field of the settings that says where it is measured."""
    if settings.cluster.address is not None:
        return "cluster.address"
    if settings.remote.address is None:
        return "toolchains"
    return "remote.server" if settings.remote.tracker is None else "remote.tracker"


def engine_of(settings: Settings) -> Engine:
    """The engine that the settings ask for, yet to be started; raises as `executor_of`."""
    if settings.remote.address is not None:
        return remote_engine(settings.target, settings.engine, settings.remote)
    return joint_engine(settings.target, settings.engine, settings.toolchains)
