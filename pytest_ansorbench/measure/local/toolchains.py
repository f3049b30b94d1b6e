"""Kernels that several toolchains build, measured side by side on this machine."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.environment import MisfitError, ToolchainError, laid_over
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.local.engine import LocalEngine, local_engine
from pytest_ansorbench.measure.local.fork_server import ServerDied
from pytest_ansorbench.measure.local.side_by_side import TurnTaking
from pytest_ansorbench.measure.outcomes import Built, MeasuredInTurn, Rebuilt
from pytest_ansorbench.measure.program import Buildable, KernelJob, SavedKernel
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.measure.toolchain import Toolchain

if TYPE_CHECKING:
    from pytest_ansorbench.workloads.case import Check

_LEAST_SETS: Final = 2
"""Of a ratio with an interval."""


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
        self,
        jobs: Sequence[KernelJob],
        effort: SideBySide,
        note: Callable[[str], None] = lambda text: None,
    ) -> Iterator[tuple[int, tuple[Rebuilt, ...]]]:
        """Build kernels, each with its toolchain, and measure the outcomes against each other.

        A round is one set of processes for each kernel that needs another. It has fork servers of
        its own: an address space is laid out at random, once, when a server starts, and its
        processes inherit it. One kernel of 30 us was 4% faster in one server than in another, set
        after set. Compilations follow one another, so that their seconds can be compared.

        Args:
            jobs: What to build.
            effort: How long, and how surely.
            note: Is told how far it is.

        Yields:
            As soon as a kernel needs no further set, its place among the jobs and one outcome a
            toolchain, in order of `names`. After Ctrl-C also what has an interval by then.

        Raises:
            KeyboardInterrupt: Ctrl-C, once all of that has been yielded.
            EngineError: An engine cannot go on.
        """
        waiting = {
            place: _Progress(
                job, TurnTaking(len(self._engines), effort, self.own.runner, cold=False)
            )
            for place, job in enumerate(jobs)
        }
        try:
            for number in itertools.count(1):
                if not waiting:
                    return
                note(f"round {number}: {len(waiting)} of {len(jobs)} kernels")
                for engine in dict.fromkeys(self._engines):
                    engine.renew_server()
                for place, progress in [*waiting.items()]:
                    self._measure_set(progress)
                    if progress.turns.finished:
                        del waiting[place]
                        yield place, self._outcomes(progress)
        except KeyboardInterrupt:
            for place, progress in waiting.items():
                if progress.turns.sets >= _LEAST_SETS:
                    yield place, self._outcomes(progress)
            raise

    def _measure_set(self, progress: _Progress) -> None:
        built = []
        for place in progress.turns.lineup:
            [one] = self._engines[place].build([progress.job.kernels[place]], progress.job.check)
            progress.build_s[place].append(one.build_s)
            built.append(one)
            if place not in progress.code_bytes:
                progress.code_bytes[place] = self._engines[place].code_bytes(one)
        try:
            progress.turns.measure_set(built)
        except ServerDied:
            for engine in self._engines:
                engine.replace_server()
        else:
            for engine in self._engines:
                engine.note_success()

    def _outcomes(self, progress: _Progress) -> tuple[Rebuilt, ...]:
        return tuple(
            Rebuilt(
                measured,
                tuple(progress.build_s[place]) if measured.status == "ok" else (),
                progress.code_bytes[place] if measured.status == "ok" else None,
            )
            for place, measured in enumerate(progress.turns.outcomes)
        )


@dataclass
class _Progress:
    """A kernel and what is known of it.

    Attributes:
        job: What to build.
        turns: The measurement so far.
        build_s: By place of a toolchain, seconds of each compilation.
        code_bytes: By place of a toolchain, size of its object file; None if it cannot be told.
    """

    job: KernelJob
    turns: TurnTaking
    build_s: defaultdict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    code_bytes: dict[int, int | None] = field(default_factory=dict)


class JointEngine(LocalEngine):
    """The engine of a session in which other toolchains search as well.

    It searches for itself alone. Winners of all are measured side by side, each built by the
    toolchain that it names.
    """

    def __init__(
        self, own: LocalEngine, settings: EngineSettings, others: Sequence[Toolchain]
    ) -> None:
        """Prepare; nothing is started.

        Args:
            own: The engine of this interpreter's toolchain.
            settings: How to build and run, for all.
            others: The other toolchains.
        """
        super().__init__(own.target, settings)
        self._others = {one.name: _engine(own, settings, one) for one in others}

    @cached_property
    def machine(self) -> Mapping[str, Any]:
        """This machine, see `Engine.machine`; with the other toolchains by name."""
        others = {
            name: {key: engine.machine[key] for key in ("python", "packages")}
            for name, engine in self._others.items()
        }
        return {**super().machine, "toolchains": others}

    def close(self) -> None:
        """End all processes, see `Engine.close`."""
        super().close()
        for engine in self._others.values():
            engine.close()

    def measure_side_by_side(
        self, programs: Sequence[Buildable], check: Check | None, effort: SideBySide
    ) -> list[MeasuredInTurn]:
        """See `Engine.measure_side_by_side`.

        With programs of other toolchains among them each set has fork servers of its own, as in
        `LocalToolchains.rebuild`: what one server's memory layout favours is no toolchain's merit.
        """
        named = [one.toolchain if isinstance(one, SavedKernel) else "" for one in programs]
        if not any(named):
            return super().measure_side_by_side(programs, check, effort)
        engines: dict[str, LocalEngine] = {"": self, **self._others}
        used = {name: engines[name] for name in dict.fromkeys(named)}
        turns = TurnTaking(len(programs), effort, self.runner, cold=False)
        while not turns.finished:
            for engine in used.values():
                engine.renew_server()
            built: dict[int, Built] = {}
            for name, engine in used.items():
                places = [place for place in turns.lineup if named[place] == name]
                built |= zip(
                    places, engine.build([programs[at] for at in places], check), strict=True
                )
            try:
                turns.measure_set([built[place] for place in turns.lineup])
            except ServerDied:
                for engine in used.values():
                    engine.replace_server()
            else:
                for engine in used.values():
                    engine.note_success()
        return turns.outcomes


def joint_engine(
    target: str | None, settings: EngineSettings, others: Sequence[Toolchain]
) -> LocalEngine:
    """The engine of a session; checks this interpreter's toolchain, target and cores.

    Args:
        target: TVM target as JSON or as the name of a kind; None for this machine's CPU.
        settings: How to build and run.
        others: Toolchains that search as well; may be none.

    Raises:
        ToolchainError: Something is missing or does not fit.
    """
    own = local_engine(target, settings)
    return JointEngine(own, settings, others) if others else own


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
