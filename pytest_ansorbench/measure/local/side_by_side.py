"""Finished programs measured against each other here: sets of processes, turns, slices."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from pytest_ansorbench.measure.outcomes import Built, Measured, MeasuredInTurn
from pytest_ansorbench.measure.policy import Stopwatch
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.stats.paired_ratio import NeighbourRatios, log_ratios

if TYPE_CHECKING:
    from pytest_ansorbench.workloads.case import Surroundings

_Program = TypeVar("_Program", contravariant=True)

_WARM_UP: Final = 0.2
"""Of a slice's calls, before it and uncounted: one call does not bring all of a short kernel's data
back that a long one's has pushed out of the caches."""
_SHORTEST_S: Final = 1e-9
"""A clock may show 0 s for a kernel that does nothing."""


class Racing(Stopwatch, Protocol):
    """A program that can be measured in turn with others, wherever it runs."""

    @property
    def surroundings(self) -> Surroundings | None:
        """The network whose doings precede each timed call; None for none."""
        ...

    def make_arguments(self) -> None:
        """Make what it is called with, once."""
        ...

    def verify(self) -> None:
        """Compare its output with the reference."""
        ...

    def suspend(self) -> None:
        """Keep it from using any core until `resume`: it may busy-wait after a call."""
        ...

    def resume(self) -> None:
        """Let it go on."""
        ...

    def end(self) -> object:
        """Let go of it."""
        ...


class Attempts(Protocol[_Program]):
    """Tells failures of programs apart."""

    def attempt(self, program: _Program, work: Callable[[], tuple[float, ...]], /) -> Measured:
        """Do something with a program; if that fails, it has ended."""
        ...


@dataclass
class _Racer:
    """One program in one set of processes.

    Attributes:
        worker: Its process; None if it failed to compile.
        failure: What went wrong; None if nothing did.
        calls: Calls of a slice.
        place: Of the slice that is next.
        latencies_s: Of each slice.
        places: Of each slice.
    """

    worker: Racing | None
    failure: Measured | None
    calls: int = 1
    place: int = 0
    latencies_s: list[float] = field(default_factory=list)
    places: list[int] = field(default_factory=list)


class TurnTaking:
    """One measurement side by side, set by set."""

    def __init__(
        self, programs: int, effort: SideBySide, runner: Attempts[Any], *, cold: bool
    ) -> None:
        """Prepare; nothing is measured yet.

        Args:
            programs: How many are compared.
            effort: How, and how long.
            runner: Tells failures apart.
            cold: Whether a slice is a single call, with cold caches.
        """
        self._outcomes = [MeasuredInTurn("ok") for _ in range(programs)]
        self._effort = effort
        self._runner = runner
        self._cold = cold
        self._sets = 0
        self._turns = 0
        self._places = 0
        self._started_s = time.monotonic()

    @property
    def running(self) -> list[int]:
        """The programs that have not failed."""
        return [i for i, outcome in enumerate(self._outcomes) if outcome.status == "ok"]

    @property
    def lineup(self) -> list[int]:
        """The programs that are `running`, in the order that the next set makes processes in.

        It is rotated from set to set, as an order that stays the same may favour a place: one
        kernel of 13 us was 6% slower in the first process than in the second, set after set, for
        as long as the machine was in that mood.
        """
        running = self.running
        start = self._sets % max(1, len(running))
        return [*running[start:], *running[:start]]

    @property
    def sets(self) -> int:
        """Sets of processes so far."""
        return self._sets

    @property
    def finished(self) -> bool:
        """Whether no further set is needed."""
        if not self.running:
            return True
        return self._sets > 0 and self._effort.ends(self._sets, self._ratios(), self._elapsed_s)

    @property
    def outcomes(self) -> list[MeasuredInTurn]:
        """What each program came to so far."""
        return list(self._outcomes)

    def measure_set(self, built: Sequence[Built]) -> None:
        """Measure one set of processes, and end them.

        Before it counts, each program runs for a slice, which finds a sleeping core and says how
        many calls a slice has. Whose turn it is not is suspended: TVM's threads busy-wait for 0.15
        s after a call, and those of several neighbours would keep the cores from it. Outputs are
        compared at the end. A set that time cuts short would weigh as much as a whole one; it
        counts only if it is the first.

        Args:
            built: The programs of the `lineup`, in its order.

        Raises:
            ServerDied: The fork server died, and all workers with it; the set counts for nothing.
        """
        entered = {
            program: _Racer(one.handle, None if one.handle else Measured.not_run(one))
            for program, one in zip(self.lineup, built, strict=True)
        }
        for racer in entered.values():
            self._attempt(racer, self._begin)
        racers = [entered[program] for program in self.running]
        turns = 0
        while not self._set_is_over(racers, turns):
            order = self._effort.order(self._turns + turns, len(racers))
            for step, place in enumerate(order):
                racer = racers[place]
                racer.place = self._places + turns * len(racers) + step
                if racer.failure is None:
                    # Of the rest, nothing counts as time that a program takes.
                    time.sleep(self._effort.rest_ms / 1e3)
                self._attempt(racer, self._take_slice)
            turns += 1
        for racer in racers:
            self._attempt(racer, self._finish)
        for place, racer in zip(self.running, racers, strict=True):
            if racer.failure is not None:
                self._outcomes[place] = MeasuredInTurn(
                    racer.failure.status, error=racer.failure.error
                )
            elif turns >= self._effort.turns.least or self._sets == 0:
                self._outcomes[place] = self._with_set(self._outcomes[place], racer)
        self._sets += 1
        self._turns += turns
        self._places += turns * len(racers)

    def _set_is_over(self, racers: Sequence[_Racer], turns: int) -> bool:
        latencies_s = [racer.latencies_s for racer in racers if racer.failure is None]
        if not latencies_s:
            return True
        first, *others = latencies_s
        ratios = [NeighbourRatios((log_ratios(other, first),)) for other in others]
        return self._effort.ends_set(turns, ratios, self._elapsed_s)

    def _ratios(self) -> list[NeighbourRatios]:
        """Of each program but the first of those that have not failed."""
        first, *others = [self._outcomes[place] for place in self.running]
        ratios = [NeighbourRatios.of(other, first) for other in others]
        return [ratio for ratio in ratios if ratio is not None]

    @property
    def _elapsed_s(self) -> float:
        return time.monotonic() - self._started_s

    def _attempt(self, racer: _Racer, work: Callable[[_Racer, Racing], None]) -> None:
        """Do something with a program; if it fails, it is out, and its process has ended."""
        worker = racer.worker
        if worker is None or racer.failure is not None:
            return

        def attempt() -> tuple[float, ...]:
            work(racer, worker)
            return ()

        outcome = self._runner.attempt(worker, attempt)
        if outcome.status != "ok":
            racer.failure = outcome

    def _begin(self, racer: _Racer, worker: Racing) -> None:
        self._find_calls(racer, worker)
        worker.suspend()

    def _find_calls(self, racer: _Racer, worker: Racing) -> None:
        worker.make_arguments()
        latency_s = worker.first_call()
        # What precedes a call may take a hundred times as long as the call.
        if self._cold or worker.surroundings is not None:
            return
        slice_s = self._effort.slice_ms / 1e3
        # The first call is cold; a tenth of a slice tells better how many calls fill a whole one.
        for part_s in (slice_s / 10, slice_s):
            racer.calls = max(1, math.ceil(part_s / max(latency_s, _SHORTEST_S)))
            [latency_s] = worker.time(racer.calls)
        racer.calls = max(1, round(slice_s / max(latency_s, _SHORTEST_S)))

    def _take_slice(self, racer: _Racer, worker: Racing) -> None:
        worker.resume()
        if warm_up := round(_WARM_UP * racer.calls):
            worker.time(warm_up)
        [latency_s] = worker.time(racer.calls)
        worker.suspend()
        racer.latencies_s.append(max(latency_s, _SHORTEST_S))
        racer.places.append(racer.place)

    def _finish(self, racer: _Racer, worker: Racing) -> None:
        worker.resume()
        worker.verify()
        worker.end()

    def _with_set(self, so_far: MeasuredInTurn, racer: _Racer) -> MeasuredInTurn:
        return MeasuredInTurn(
            "ok",
            (*so_far.latencies_s, *racer.latencies_s),
            (*so_far.sets, *[self._sets] * len(racer.latencies_s)),
            (*so_far.places, *racer.places),
        )
