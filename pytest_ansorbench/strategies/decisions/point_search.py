"""What a search for points is asked, and the proposer that makes programs of its answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, Final

import numpy as np

from pytest_ansorbench.strategies.candidate import Candidate
from pytest_ansorbench.strategies.decisions.design_space import DesignSpace
from pytest_ansorbench.strategies.decisions.replays import Replays
from pytest_ansorbench.strategies.decisions.space import Point
from pytest_ansorbench.strategies.proposer import DecisionPolicy, Observation, PointSetup, Proposer

# Points that are asked for at most for each that is wanted: most of them may be taken.
_PATIENCE: Final = 8


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A point to try, and what its search wants to know of it later, as JSON values."""

    point: Point
    note: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tried:
    """A measured point: its throughput, 0 for a failed trial, and the note of its suggestion.

    TVM moves a block that cannot be computed where it was decided: the point is that of the program
    that was measured. The note is empty for a point that was drawn because nothing new was
    suggested.
    """

    point: Point
    gflops: float
    note: Mapping[str, Any]


class PointSearch(ABC):
    """Chooses points of a design space; lives for one task of one run.

    It makes no programs and needs no TVM. A round calls `ask`, then `tell`, then `decisions`. An
    interrupted run goes through `tell` again, but not through `ask`: what a search knows has to
    come from what it was told, or stay in `memory`, and randomness belongs into `ask`.

    Attributes:
        memory: A JSON value that is kept with each batch, besides notes, and restored.
    """

    memory: Any = None

    @abstractmethod
    def ask(self, wanted: int, taken: Container[Point]) -> Iterable[Suggestion]:
        """Points to try, the best first, perhaps without an end.

        As many are taken as are wanted, without those that are no new program. If none is one,
        random points are tried instead.

        Args:
            wanted: Trials of the round that are left.
            taken: Points that will not be tried (again).
        """

    @abstractmethod
    def tell(self, tried: Sequence[Tried]) -> None:
        """Take note of a measured batch.

        Args:
            tried: Its points, in the order of the suggestions.
        """

    def decisions(self) -> Mapping[str, Any]:
        """What there is to say of the last round; see `Proposer.decisions`."""
        return {}


class PointSearchPolicy(DecisionPolicy):
    """Parameters of a search for points: a proposer, best a frozen dataclass."""

    @abstractmethod
    def search(self, space: DesignSpace, rng: np.random.Generator, trials: float) -> PointSearch:
        """A new search.

        Args:
            space: Where the points are.
            rng: Draw everything random from it, in `ask`.
            trials: How many to expect.
        """

    def start(self, setup: PointSetup) -> Proposer:
        """The live search of one task of one run.

        Args:
            setup: The task, and the means to search it.
        """
        return _PointProposer(self, setup)


class _PointProposer:
    def __init__(self, policy: PointSearchPolicy, setup: PointSetup) -> None:
        self._policy = policy
        self._setup = setup

    @cached_property
    def _space(self) -> DesignSpace:
        """Made by the first round, on the clock: it takes some programs to see the choices."""
        return self._setup.design_space()

    @cached_property
    def _replays(self) -> Replays:
        return Replays(self._space)

    @cached_property
    def _search(self) -> PointSearch:
        setup = self._setup
        return self._policy.search(self._space, setup.rng, setup.budget_trials / setup.tasks)

    def propose(self, trials: int) -> Sequence[Candidate] | None:
        self._replays.begin_round()
        notes: dict[Point, Mapping[str, Any]] = {}
        picks = self._replays.programs(self._suggested(trials, notes), trials)
        picks = picks or self._replays.strangers(trials, self._setup.rng)
        if not picks:
            return None
        payloads = self._replays.payloads(picks)
        for payload, one in zip(payloads, picks, strict=True):
            payload["note"] = dict(notes.get(one.asked, {}))
        payloads[0]["memory"] = self._search.memory
        return [
            drafted.program.candidate(payload)
            for drafted, payload in zip(picks, payloads, strict=True)
        ]

    def recall(self, candidates: Sequence[Candidate]) -> None:
        self._replays.recall(candidates)

    def learn(self, batch: Sequence[Observation]) -> None:
        tried = []
        for seen in batch:
            payload = seen.candidate.payload
            if "memory" in payload:
                self._search.memory = payload["memory"]
            tried.append(Tried(self._space.point(payload), seen.gflops, payload["note"]))
        if tried:
            self._search.tell(tried)

    def decisions(self) -> Mapping[str, Any]:
        return {**self._search.decisions(), "replays": self._replays.counts()}

    def _suggested(self, wanted: int, notes: dict[Point, Mapping[str, Any]]) -> Iterator[Point]:
        """New points that the search suggests; `notes` gets what it notes of them."""
        taken = self._replays.taken
        for one in islice(self._search.ask(wanted, taken), _PATIENCE * wanted):
            if one.point not in taken and one.point not in notes:
                notes[one.point] = one.note
                yield one.point
