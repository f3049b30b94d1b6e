"""One kernel, built by several toolchains and measured side by side on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.environment import MisfitError, ToolchainError, laid_over
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.local.engine import LocalEngine, local_engine
from pytest_ansorbench.measure.local.fork_server import ServerDied
from pytest_ansorbench.measure.local.side_by_side import TurnTaking
from pytest_ansorbench.measure.outcomes import Rebuilt
from pytest_ansorbench.measure.program import SavedKernel
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.measure.toolchain import Toolchain

if TYPE_CHECKING:
    from pytest_ansorbench.workloads.case import Check


class LocalToolchains:
    """An engine for each toolchain; their kernels take turns, slice by slice.

    Attributes:
        own: The engine of this interpreter's toolchain as it is, which may also be among those
            compared.
    """

    def __init__(self, own: LocalEngine, engines: Sequence[LocalEngine]) -> None:
        """Prepare; nothing is started.

        Args:
            own: This interpreter's toolchain as it is.
            engines: Those to compare, at least one, the reference first.
        """
        self.own = own
        self._engines = tuple(engines)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the toolchains that are compared, the reference first."""
        return tuple(engine.toolchain.name for engine in self._engines)

    @property
    def machines(self) -> Mapping[str, Mapping[str, Any]]:
        """By name, what each toolchain is: what it changes, machine, target and packages.

        Interpreters have no paths here, which would name a machine or its user.
        """
        return {
            engine.toolchain.name: {**engine.machine, "changes": engine.toolchain.conditions()}
            for engine in self._engines
        }

    def __enter__(self) -> LocalToolchains:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start what is not running; if that fails, nothing is left running.

        Raises:
            EngineError: A toolchain cannot be started; the message names it.
        """
        for engine in (self.own, *self._engines):
            try:
                engine.start()
            except BaseException as error:
                self.close()
                if isinstance(error, EngineError):
                    name = engine.toolchain.name
                    raise EngineError(f"toolchain {name}: {error}") from None
                raise

    def close(self) -> None:
        """End all processes."""
        for engine in (self.own, *self._engines):
            engine.close()

    def rebuild(
        self, kernels: Sequence[SavedKernel], check: Check | None, effort: SideBySide
    ) -> tuple[Rebuilt, ...]:
        """Build kernels, each with its toolchain, and measure the outcomes against each other.

        Compilations follow one another, so that their seconds can be compared.

        Args:
            kernels: One a toolchain, all of one task.
            check: Inputs and expected output, if known.
            effort: How long, and how surely.

        Returns:
            One outcome a toolchain, in order of `names`.

        Raises:
            EngineError: An engine cannot go on.
        """
        turns = TurnTaking(len(self._engines), effort, self.own.runner, cold=False)
        build_s: list[list[float]] = [[] for _ in self._engines]
        while not turns.finished:
            built = []
            for place in turns.lineup:
                [one] = self._engines[place].build([kernels[place]], check)
                build_s[place].append(one.build_s)
                built.append(one)
            try:
                turns.measure_set(built)
            except ServerDied:
                for engine in self._engines:
                    engine.replace_server()
            else:
                for engine in self._engines:
                    engine.note_success()
        return tuple(
            Rebuilt(
                measured,
                tuple(seconds) if measured.status == "ok" else (),
                engine.code_bytes(kernel) if measured.status == "ok" else None,
            )
            for engine, kernel, measured, seconds in zip(
                self._engines, kernels, turns.outcomes, build_s, strict=True
            )
        )


def local_toolchains(
    target: str | None, settings: EngineSettings, toolchains: Sequence[Toolchain]
) -> LocalToolchains:
    """The engines of some toolchains; checks this interpreter's toolchain, target and cores.

    Args:
        target: TVM target as JSON or as the name of a kind; None for this machine's CPU.
        settings: How to build and run.
        toolchains: Those to compare, the reference first.

    Raises:
        ToolchainError: Something is missing or does not fit.
    """
    own = local_engine(target, settings)
    return LocalToolchains(
        own,
        [
            own if toolchain == own.toolchain else _engine(own, settings, toolchain)
            for toolchain in toolchains
        ],
    )


def _engine(own: LocalEngine, settings: EngineSettings, toolchain: Toolchain) -> LocalEngine:
    try:
        target = laid_over(own.target, toolchain.target)
    except MisfitError as error:
        raise ToolchainError(f"bad toolchain {str(toolchain)!r}: {error.problem}") from None
    return LocalEngine(target, settings, toolchain)
