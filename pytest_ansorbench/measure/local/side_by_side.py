"""Finished programs measured against each other: sets of processes, turns, slices."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median, median_low
from typing import Final

from pytest_ansorbench.measure.local.fork_server import ServerDied
from pytest_ansorbench.measure.local.runnable import Runnable
from pytest_ansorbench.measure.local.runner import MOST_KILLS, Runner
from pytest_ansorbench.measure.local.supervisor import Supervisor
from pytest_ansorbench.measure.outcomes import AfterSet, Built, Measured
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.records import Remeasurement
from pytest_ansorbench.stats.paired_ratio import NeighbourRatios, log_ratios

_WARM_UP: Final = 0.2
"""Of a slice's calls, before it and uncounted: one call does not bring all of a short kernel's data
back that a long one's has pushed out of the caches."""
_LONG_S: Final = 1.0
"""Seconds of a first call that fill a slice, whatever lazy parts and cold caches add to them."""
_TIRED: Final = 3.0
"""Times that a program gets slower in the course of a set, above which it lies."""
_LEAST_SLICES: Final = 15
"""Of a set in which such a course is judged."""
_TIRED_SETS: Final = 3
"""In so many sets at least, and in each of them."""
_SHORTEST_S: Final = 1e-9
"""A clock may show 0 s for a kernel that does nothing."""

BuildSet = Callable[[Sequence[int]], Sequence[Built]]
"""Builds the programs with these numbers for one set of processes, in this order."""


@dataclass
class _Participant:
    """One program in one set of processes."""

    program: Runnable | None  # None if it failed to compile
    failure: Measured | None
    calls: int = 1  # of a slice
    place: int = 0  # of the slice that is next
    latencies_s: list[float] = field(default_factory=list)
    places: list[int] = field(default_factory=list)


class TurnTaking:
    """One measurement side by side, set by set."""

    def __init__(
        self,
        programs: int,
        effort: SideBySide,
        runner: Runner,
        build_set: BuildSet,
        supervisors: Sequence[Supervisor],
        before: AfterSet | None = None,
    ) -> None:
        """`build_set` uses the servers of all `supervisors`; if one dies, all are replaced.

        `before` is what an interrupted measurement of the same programs came to.
        """
        if before is None:
            before = AfterSet((), 0.0)
        self._programs = range(programs)
        # By program; none before a set has counted.
        self._outcomes = dict(enumerate(before.outcomes))
        self._effort = effort
        self._runner = runner
        self._build_set = build_set
        self._supervisors = supervisors
        measured = [one for one in before.outcomes if one.latencies_s]
        self.sets = 1 + max((one.sets[-1] for one in measured), default=-1)
        self._turns = max((len(one.latencies_s) for one in measured), default=0)
        self._places = 1 + max((one.places[-1] for one in measured), default=-1)
        self._started_s = time.monotonic() - before.elapsed_s
        self._kills = 0

    @property
    def running(self) -> list[int]:
        """The programs that have not failed."""
        outcomes = self._outcomes
        return [i for i in self._programs if i not in outcomes or outcomes[i].status == "ok"]

    @property
    def finished(self) -> bool:
        if not self.running:
            return True
        return self.sets > 0 and self._effort.ends(self.sets, self._ratios(), self._elapsed_s)

    @property
    def outcomes(self) -> list[Remeasurement]:
        return [self._outcomes[number] for number in self._programs]

    def measure(self) -> Iterator[AfterSet]:
        """Set by set, until it is enough."""
        while not self.finished:
            sets = self.sets
            self.measure_set()
            if self.sets > sets:
                yield AfterSet(self.outcomes, self._elapsed_s)

    def measure_set(self) -> None:
        """One set of processes; it counts for nothing if a fork server died, and all with it.

        So it is if one of them was killed by somebody else, until that has happened too often.
        """
        # The order of processes is rotated from set to set, as one that stays the same may favour a
        # place: one kernel of 13 us was 6% slower in the first process than in the second, set
        # after set, for as long as the machine was in that mood.
        running = self.running
        start = self.sets % max(1, len(running))
        lineup = [*running[start:], *running[:start]]
        try:
            self._take_turns(dict(zip(lineup, self._build_set(lineup), strict=True)))
        except ServerDied:
            for supervisor in self._supervisors:
                supervisor.replace(supervisor.server)
        else:
            for supervisor in self._supervisors:
                supervisor.note_success()

    def _take_turns(self, built: dict[int, Built]) -> None:
        """Measure one set of processes, and end them.

        Before it counts, each program runs for a slice, which finds a sleeping core and says how
        many calls a slice has. Waiting processes are suspended: TVM's threads busy-wait for 0.15 s
        after a call, and those of several neighbours would keep the cores from the program whose
        turn it is. Outputs are compared at the end. A set that time cuts short would weigh as much
        as a whole one; it counts only if it is the first.
        """
        entered = {
            number: _Participant(one.handle, None if one.handle else Measured.not_run(one))
            for number, one in built.items()
        }
        for participant in entered.values():
            self._attempt(participant, self._begin)
        participants = [entered[number] for number in self.running]
        turns = 0
        while not self._set_is_over(participants, turns):
            order = self._effort.order(self._turns + turns, len(participants))
            for step, place in enumerate(order):
                participant = participants[place]
                participant.place = self._places + turns * len(participants) + step
                if participant.failure is None:
                    # Of the rest, nothing counts as time that a program takes.
                    time.sleep(self._effort.rest_ms / 1e3)
                self._attempt(participant, self._take_slice)
            turns += 1
        for participant in participants:
            self._attempt(participant, self._finish)
        failures = [one.failure for one in participants if one.failure is not None]
        if any(failure.was_killed for failure in failures):
            self._kills += 1
            if self._kills < MOST_KILLS:
                return
        for number, participant in zip(self.running, participants, strict=True):
            if failure := participant.failure:
                self._outcomes[number] = Remeasurement(None, failure.status, (), failure.error)
            elif turns >= self._effort.turns.least or self.sets == 0:
                self._outcomes[number] = self._with_set(number, participant)
        self.sets += 1
        self._turns += turns
        self._places += turns * len(participants)
        running = self.running
        for at, wrong in _tired([self._outcomes[number] for number in running]).items():
            self._outcomes[running[at]] = Remeasurement(None, "wrong-result", (), wrong)

    def _set_is_over(self, participants: Sequence[_Participant], turns: int) -> bool:
        latencies_s = [one.latencies_s for one in participants if one.failure is None]
        if not latencies_s:
            return True
        first, *others = latencies_s
        ratios = [NeighbourRatios((log_ratios(other, first),)) for other in others]
        return self._effort.ends_set(turns, ratios, self._elapsed_s)

    def _ratios(self) -> list[NeighbourRatios]:
        """Of each program but the first of those that have not failed."""
        first, *others = [self._outcomes[number] for number in self.running]
        ratios = [NeighbourRatios.of(other, first) for other in others]
        return [ratio for ratio in ratios if ratio is not None]

    @property
    def _elapsed_s(self) -> float:
        return time.monotonic() - self._started_s

    def _attempt(
        self, participant: _Participant, work: Callable[[_Participant, Runnable], None]
    ) -> None:
        """Do something with a program; if it fails, it is out, and its process has ended."""
        if participant.program is None or participant.failure is not None:
            return
        outcome = self._runner.attempt(participant.program, partial(work, participant))
        if outcome.status != "ok":
            participant.failure = outcome

    def _begin(self, participant: _Participant, program: Runnable) -> None:
        self._find_calls(participant, program)
        program.suspend()

    def _find_calls(self, participant: _Participant, program: Runnable) -> None:
        program.make_arguments()
        latency_s = program.first_call()
        # What precedes a call may take a hundred times as long as the call.
        if self._runner.is_cold or program.surroundings is not None or latency_s >= _LONG_S:
            return
        slice_s = self._effort.slice_ms / 1e3
        # The first call is cold; a tenth of a slice tells better how many calls fill a whole one.
        for part_s in (slice_s / 10, slice_s):
            participant.calls = max(1, math.ceil(part_s / max(latency_s, _SHORTEST_S)))
            [latency_s] = program.time(participant.calls)
        participant.calls = max(1, round(slice_s / max(latency_s, _SHORTEST_S)))

    def _take_slice(self, participant: _Participant, program: Runnable) -> None:
        program.resume()
        if warm_up := round(_WARM_UP * participant.calls):
            program.time(warm_up)
        [latency_s] = program.time(participant.calls)
        program.suspend()
        participant.latencies_s.append(max(latency_s, _SHORTEST_S))
        participant.places.append(participant.place)

    def _finish(self, participant: _Participant, program: Runnable) -> None:
        program.resume()
        program.verify()
        program.end()

    def _with_set(self, number: int, participant: _Participant) -> Remeasurement:
        latencies_s = tuple(participant.latencies_s)
        sets, places = (self.sets,) * len(latencies_s), tuple(participant.places)
        if so_far := self._outcomes.get(number):
            latencies_s = (*so_far.latencies_s, *latencies_s)
            sets, places = (*so_far.sets, *sets), (*so_far.places, *places)
        return Remeasurement(None, "ok", latencies_s, "", sets, places)


def _tired(outcomes: Sequence[Remeasurement]) -> dict[int, str]:
    """Who is fast at first only, set after set, and how that is told.

    All others met the same machine, and did not get slower. One set says nothing: where others
    work on the machine, an honest program may take six times as long from one second to the next.
    """
    courses = [_courses(one) for one in outcomes]
    found: dict[int, str] = {}
    for number, own in enumerate(courses):
        others = [one for place, one in enumerate(courses) if place != number]
        if not others or len(own) < _TIRED_SETS:
            continue
        if all(
            course > _TIRED * max(1.0, median_low([one.get(at, 1.0) for one in others]))
            for at, course in own.items()
        ):
            found[number] = (
                f"in each of {len(own)} processes the last slices took {min(own.values()):.3g} "
                "times as long as the first, or more"
            )
    return found


def _courses(outcome: Remeasurement) -> dict[int, float]:
    """By set, the latency of the last third of its slices over that of the first."""
    of_sets: dict[int, list[float]] = {}
    for at, latency_s in zip(outcome.sets, outcome.latencies_s, strict=True):
        of_sets.setdefault(at, []).append(latency_s)
    return {
        at: median(slices[-(len(slices) // 3) :]) / median(slices[: len(slices) // 3])
        for at, slices in of_sets.items()
        if len(slices) >= _LEAST_SLICES
    }
