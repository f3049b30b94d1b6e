"""Kernels that several toolchains build, measured side by side on this machine."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.cores import threads_of
from pytest_ansorbench.environment import MisfitError, check_cores, laid_over
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.local.engine import LocalEngine, local_engine
from pytest_ansorbench.measure.local.side_by_side import TurnTaking
from pytest_ansorbench.measure.outcomes import AfterSet, Built
from pytest_ansorbench.measure.program import Buildable, KernelJob
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.measure.toolchain import Toolchain
from pytest_ansorbench.records.rebuilt_kernels import KernelSide

if TYPE_CHECKING:
    from pytest_ansorbench.workloads.case import Check

_LEAST_SETS: Final = 2
"""Of a ratio with an interval."""


class LocalToolchains:
    """An engine for each toolchain, the reference first; their kernels take turns."""

    def __init__(self, own: LocalEngine, engines: Sequence[LocalEngine]) -> None:
        """`own` is of this interpreter's toolchain, which may be among those compared."""
        self.own = own
        self._engines = tuple(engines)
        self._supervisors = [engine.supervisor for engine in dict.fromkeys(self._engines)]

    @property
    def machines(self) -> Mapping[str, Mapping[str, Any]]:
        """By name, what each toolchain is; no paths of interpreters, which would name a user."""
        return {
            engine.toolchain.name: {**engine.machine, "changes": engine.toolchain.conditions()}
            for engine in self._engines
        }

    def start(self) -> None:
        """Start what is not running; if that fails, nothing is left running."""
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
        for engine in (self.own, *self._engines):
            engine.close()

    def rebuild(
        self,
        jobs: Sequence[KernelJob],
        effort: SideBySide,
        note: Callable[[str], None] = lambda text: None,
    ) -> Iterator[tuple[int, tuple[KernelSide, ...]]]:
        """Build kernels, each with its toolchain, and measure the outcomes against each other.

        All kernels that need another set of processes get one, then the next begins. It has fork
        servers of its own: an address space is laid out at random, once, when a server starts, and
        its processes inherit it. One kernel of 30 us was 4% faster in one server than in another,
        set after set. Compilations follow one another, so that their seconds can be compared.
        Yields place and outcomes of a kernel that is done; after Ctrl-C what has an interval.
        """
        waiting = {place: self._begun(job, effort) for place, job in enumerate(jobs)}
        try:
            for number in itertools.count(1):
                if not waiting:
                    return
                note(f"set {number}: {len(waiting)} of {len(jobs)} kernels")
                for supervisor in self._supervisors:
                    supervisor.renew()
                for place, rebuilding in [*waiting.items()]:
                    rebuilding.turns.measure_set()
                    if rebuilding.turns.finished:
                        del waiting[place]
                        yield place, rebuilding.sides()
        except KeyboardInterrupt:
            for place, rebuilding in waiting.items():
                if rebuilding.turns.sets >= _LEAST_SETS:
                    yield place, rebuilding.sides()
            raise

    def _begun(self, job: KernelJob, effort: SideBySide) -> _Rebuilding:
        rebuilding = _Rebuilding(job, self._engines)
        rebuilding.turns = TurnTaking(
            len(self._engines),
            effort,
            self.own.runner,
            rebuilding.build_set,
            self._supervisors,
        )
        return rebuilding


@dataclass
class _Rebuilding:
    """A kernel and what is known of it, by place of a toolchain."""

    job: KernelJob
    engines: Sequence[LocalEngine]
    turns: TurnTaking = field(init=False)
    build_s: defaultdict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    code_bytes: dict[int, int | None] = field(default_factory=dict)  # None if it cannot be told

    def build_set(self, lineup: Sequence[int]) -> list[Built]:
        built = []
        for place in lineup:
            [one] = self.engines[place].build([self.job.kernels[place]], self.job.check)
            self.build_s[place].append(one.build_s)
            built.append(one)
            if place not in self.code_bytes:
                self.code_bytes[place] = self.engines[place].code_bytes(one)
        return built

    def sides(self) -> tuple[KernelSide, ...]:
        names = [engine.toolchain.name for engine in self.engines]
        return tuple(
            KernelSide(name, measured, tuple(self.build_s[place]), self.code_bytes[place])
            if measured.status == "ok"
            else KernelSide(name, measured)
            for place, (name, measured) in enumerate(zip(names, self.turns.outcomes, strict=True))
        )


class JointEngine(LocalEngine):
    """The engine of a session in which other toolchains search as well: it measures all."""

    def __init__(
        self, own: LocalEngine, settings: EngineSettings, others: Sequence[Toolchain]
    ) -> None:
        super().__init__(own.target, settings)
        self._others = {one.name: _engine(own, settings, one) for one in others}

    @cached_property
    def machine(self) -> Mapping[str, Any]:
        others = {
            name: {key: engine.machine[key] for key in ("python", "packages")}
            for name, engine in self._others.items()
        }
        return {**super().machine, "toolchains": others}

    def close(self) -> None:
        super().close()
        for engine in self._others.values():
            engine.close()

    def measure_sets(
        self,
        programs: Sequence[Buildable],
        check: Check | None,
        effort: SideBySide,
        before: AfterSet | None = None,
    ) -> Iterator[AfterSet]:
        """Measure programs in turn, those that have a toolchain as that makes them.

        With programs of other toolchains among them each set has fork servers of its own, as in
        `LocalToolchains.rebuild`: what one server's memory layout favours is no toolchain's merit.
        """
        named = [one.toolchain for one in programs]
        if not any(named):
            return super().measure_sets(programs, check, effort, before)
        engines: dict[str, LocalEngine] = {"": self, **self._others}
        used = {name: engines[name] for name in dict.fromkeys(named)}
        supervisors = [engine.supervisor for engine in used.values()]

        def build_set(lineup: Sequence[int]) -> list[Built]:
            for supervisor in supervisors:
                supervisor.renew()
            built: dict[int, Built] = {}
            for name, engine in used.items():
                numbers = [number for number in lineup if named[number] == name]
                made = engine.build([programs[number] for number in numbers], check)
                built |= zip(numbers, made, strict=True)
            return [built[number] for number in lineup]

        return TurnTaking(
            len(programs),
            effort,
            self.runner,
            build_set,
            supervisors,
            before,
        ).measure()


def joint_engine(
    target: str | None, settings: EngineSettings, others: Sequence[Toolchain]
) -> LocalEngine:
    own = local_engine(target, settings)
    return JointEngine(own, settings, others) if others else own


def local_toolchains(
    target: str | None, settings: EngineSettings, toolchains: Sequence[Toolchain]
) -> LocalToolchains:
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
        if "num-cores" in toolchain.target:
            check_cores(settings.cores, threads_of(target))
    except MisfitError as error:
        raise MisfitError("variant", str(toolchain), error.problem) from None
    return LocalEngine(target, settings, toolchain)
