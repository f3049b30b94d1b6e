"""How a case is run and judged: above all which repeat comes next, and which count."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from pytest_ansorbench.bench.history import CaseHistory
from pytest_ansorbench.bench.prepared import RunPlan
from pytest_ansorbench.records import CaseResult, Gate
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.stats.looks import Looks

Judging = Callable[[], CaseResult]  # judges the complete repeats of a case

_UNGATED: Final = 5  # repeats of a case that has nothing to be settled


class RepeatPolicy(Protocol):
    """Decides by what is recorded, and by nothing else, so that a resumed session agrees."""

    @property
    def planned(self) -> Sequence[int]:
        """Seeds of the repeats to expect, at least one: all that there may be, or are usual."""

    @property
    def most(self) -> int:
        """How many repeats are judged at most."""

    def next_seed(
        self, history: CaseHistory, judge: Judging, under_way: Collection[int] = ()
    ) -> int | None:
        """Which repeat to run or to finish next.

        Args:
            history: What there is of the case.
            judge: There is one complete repeat at least when it is called.
            under_way: Seeds of repeats that are being run.

        Returns:
            Its seed; None if there are enough, with those that are under way.
        """

    def seeds(self, history: CaseHistory) -> Sequence[int]:
        """Seeds of the complete repeats that are judged, in order."""


@dataclass(frozen=True)
class Plan:
    runs: RunPlan  # how runs are made. What else is in a plan may change when an experiment goes on
    repeats: RepeatPolicy  # which repeats there are
    criteria: Criteria  # how runs are compared and judged
    limits: Limits  # the gates
    # Over how many gates like its own the session's false alarms could be shared out
    family: int = 1
    # When the last repeat has to be over, by `time.monotonic`; the first of a case is run in any
    # case
    deadline_s: float = math.inf


@dataclass(frozen=True)
class FixedRepeats:
    """A number of repeats that is known beforehand."""

    planned: Sequence[int]  # seeds of the repeats, in order, at least one

    @property
    def most(self) -> int:
        return len(self.planned)

    def next_seed(
        self, history: CaseHistory, judge: Judging, under_way: Collection[int] = ()
    ) -> int | None:
        left = (s for s in self.planned if s not in under_way and not history.complete(s))
        return next(left, None)

    def seeds(self, history: CaseHistory) -> Sequence[int]:
        """Those of the planned repeats that are complete; a journal may hold more."""
        return [seed for seed in self.planned if history.complete(seed)]


@dataclass(frozen=True)
class RepeatsUntilSettled:
    """As many repeats as the gates of a case need."""

    first_seed: int  # the others count up from it
    looks: Looks  # after how many repeats gates are judged
    # Whether cases are judged together as well, which asks for more repeats itself
    of_suite: bool = False
    # Gates of a result beside those in its verdicts
    further_gates: Callable[[CaseResult], Sequence[Gate]] = lambda result: ()

    @property
    def planned(self) -> Sequence[int]:
        number = self.looks.least if self.looks.if_suspect else self.looks.most
        return range(self.first_seed, self.first_seed + number)

    @property
    def most(self) -> int:
        return self.looks.most

    def next_seed(
        self, history: CaseHistory, judge: Judging, under_way: Collection[int] = ()
    ) -> int | None:
        """The first that is neither complete nor under way, while a gate is open.

        Where several are run at a time, those up to the first look are, and from there on no more
        than it takes to double those that are complete: at most half of them are run for nothing.
        """
        done = len(self.seeds(history))
        at_once = 2 * done if done >= self.looks.least else self.looks.least
        seeds = range(self.first_seed, self.first_seed + min(at_once, self.looks.most))
        if not under_way:
            seeds = range(self.first_seed, self.first_seed + min(done + 1, self.looks.most))
        left = (s for s in seeds if s not in under_way and not history.complete(s))
        seed = next(left, None)
        wanted = seed is not None and (done < self.looks.least or self._open(judge(), done))
        return seed if wanted else None

    def seeds(self, history: CaseHistory) -> Sequence[int]:
        seeds: list[int] = []
        seed = self.first_seed
        while history.complete(seed) and len(seeds) < self.looks.most:
            seeds.append(seed)
            seed += 1
        return seeds

    def _open(self, result: CaseResult, done: int) -> bool:
        gates = (*result.gates, *self.further_gates(result))
        if not gates:
            return not (self.of_suite or self.looks.if_suspect) and done < _UNGATED
        return any(gate.open for gate in gates)
