"""One case under several strategies, repeat by repeat: same seeds, same budget, in turn."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_ansorbench.bench.blocks import Block, Cut, Ended, Executor
from pytest_ansorbench.bench.history import CaseJournal
from pytest_ansorbench.bench.interrupts import remembered_interrupts
from pytest_ansorbench.bench.progress import Progress, ProgressUpdate, RunProgress
from pytest_ansorbench.bench.reference import StandIn
from pytest_ansorbench.bench.repeats import Plan
from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.stats.judging import judge_arms
from pytest_ansorbench.storage.entries import AbandonedEntry


@dataclass(eq=False)
class Experiment:
    """Has the repeats carried out that a plan asks for, and feeds the journal.

    Each step goes to the journal before the next begins, and what the journal has of a repeat
    already is not done again. As many repeats are under way as there are places for them and the
    plan allows; of those that turn out not to be needed, nothing is kept.
    """

    block: Block  # what the case's blocks have in common; their seeds differ
    plan: Plan
    executor: Executor
    journal: CaseJournal
    progress: Progress
    # By seed, recorded runs of the reference to use instead of new ones
    stand_ins: Mapping[int, StandIn] = field(default_factory=dict)
    longest_s: float = 0.0  # of its repeats so far

    def __post_init__(self) -> None:
        history = self.journal.history
        # By seed and arm, shares of budgets: spent since this began, and spent before
        self._spent_of: dict[tuple[int, str], float] = {}
        self._behind = {
            (seed, name): history.spent(rounds)
            for seed, repeat in history.repeats.items()
            for name, rounds in repeat.rounds.items()
        }
        self._first: tuple[float, float] | None = None
        self._begun_s: dict[int, float] = {}
        self._latest: tuple[Sequence[int], CaseResult] | None = None

    def run(self) -> None:
        self._started_s = time.monotonic()
        try:
            with remembered_interrupts() as remind:
                self._fill()
                while self._begun_s:
                    self._receive()
                    remind()
        finally:
            self.executor.cancel()
            self.progress.clear()

    @property
    def seeds(self) -> Sequence[int]:
        """The complete repeats that are judged, in order."""
        return self.plan.repeats.seeds(self.journal.history)

    def judged(self) -> CaseResult:
        if self._latest is None or self._latest[0] != self.seeds:
            self._latest = self.seeds, self._judged()
        return self._latest[1]

    def _judged(self) -> CaseResult:
        plan, found = self.plan, self.journal.history.result(self.seeds)
        verdicts = judge_arms(
            found.strategies,
            found.runs,
            plan.criteria,
            plan.limits,
            control=found.control,
            family=plan.family,
        )
        return replace(found, verdicts=verdicts, looks=str(plan.criteria.looks or ""))

    def _receive(self) -> None:
        """Take note of one thing that has happened, and begin what follows from it."""
        event = self.executor.receive()
        seed = event.seed
        if isinstance(event, Ended):
            self.longest_s = max(self.longest_s, time.monotonic() - self._begun_s.pop(seed))
            if self._is_enough():
                self._begun_s.clear()
                return
        elif isinstance(event, Cut):
            self.note(f"{self.block.case.id}  {event.reason}")
            self._begin(seed)
        else:
            self.journal.append(event.entry)
        self._fill()

    def _fill(self) -> None:
        """Begin as many repeats as there are places for, and as are wanted."""
        while len(self._begun_s) < self.executor.slots:
            seed = self._next_seed()
            if seed is None:
                return
            self._begin(seed)

    def _next_seed(self) -> int | None:
        """The repeat to run, if it is wanted and there is time for another one like the others."""
        history, plan = self.journal.history, self.plan
        done = len(plan.repeats.seeds(history))
        if done and time.monotonic() + self.longest_s > plan.deadline_s:
            return None
        return plan.repeats.next_seed(history, self.judged, self._begun_s.keys())

    def _is_enough(self) -> bool:
        """Whether no repeat is wanted, not even one that is under way."""
        if not self._begun_s:
            return False  # so it is found out whether there is a next one
        return self.plan.repeats.next_seed(self.journal.history, self.judged, ()) is None

    @property
    def _settled(self) -> tuple[int, int]:
        """How many gates are settled, and how many there are, when last it was judged."""
        gates = self._latest[1].gates if self._latest is not None else ()
        return sum(not gate.open for gate in gates), len(gates)

    def _begin(self, seed: int) -> None:
        """Submit a repeat, with what the journal has of it already."""
        history = self.journal.history
        past = history.repeats.get(seed)
        if past is not None:
            misfit = self.executor.block_misfit(past.begun.machine)
            if misfit:
                self._abandon(seed, misfit)
                past = None
        self._begun_s.setdefault(seed, time.monotonic())
        block = replace(
            self.block,
            seed=seed,
            past=past,
            stand_in=self._stand_in(seed),
            yardsticks=dict(history.yardsticks),
            measured_on=frozenset(self.journal.measured_on),
        )
        self.executor.submit(block, self)

    def _abandon(self, seed: int, reason: str) -> None:
        """Write down that nothing counts that was done of a repeat."""
        self.journal.append(AbandonedEntry(self.journal.label, seed, reason))
        self._begun_s.pop(seed, None)
        for shares in (self._spent_of, self._behind):
            for key in [key for key in shares if key[0] == seed]:
                del shares[key]

    def _stand_in(self, seed: int) -> StandIn | None:
        """The recorded run that the journal has, or else one that may be used."""
        past = self.journal.history.repeats.get(seed)
        if past is None or (past.recorded is None and not past.rounds):
            return self.stand_ins.get(seed)
        entry = past.recorded
        return StandIn(entry.run, entry.created, entry.first_round_s) if entry else None

    @property
    def _to_do(self) -> float:
        """How many runs there are to be, less what was spent before, without recorded ones.

        Repeats beyond those that are planned count from their beginning on.
        """
        seeds = {*self.plan.repeats.planned, *self.seeds, *self._begun_s}
        recorded = sum(self._stand_in(seed) is not None for seed in seeds)
        behind = sum(spent for (seed, _), spent in self._behind.items() if seed in seeds)
        return len(seeds) * len(self.block.strategies) - recorded - behind

    def note(self, what: str) -> None:
        self.progress.note(what)

    def advanced(self, seed: int, run: RunProgress) -> None:
        key = seed, run.strategy
        # The first round beside a recorded run is of no other run, unless that cannot be used.
        if run.strategy != self.block.strategies[0].name or self._stand_in(seed) is None:
            self._spent_of[key] = run.spent - self._behind.get(key, 0)
        repeat = len(self.seeds) + 1 + sorted(self._begun_s).index(seed)
        done = sum(self._spent_of.values())
        elapsed_s = time.monotonic() - self._started_s
        if self._first is None:
            self._first = done, elapsed_s
        self.progress.update(
            ProgressUpdate(
                case=self.block.case.id,
                run=run,
                repeat=repeat,
                repeats=max(repeat, len(self.plan.repeats.planned)),
                settled=self._settled,
                runs_done=done,
                runs_total=max(done, self._to_do),
                elapsed_s=elapsed_s,
                first=self._first,
            )
        )
