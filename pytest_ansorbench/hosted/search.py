"""An arm that another interpreter searches, and one of its searches, known by its entries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pytest_ansorbench.budget import spent_share
from pytest_ansorbench.codec import from_json, to_json
from pytest_ansorbench.hosted.process import HostProcess
from pytest_ansorbench.measure.program import SavedKernel
from pytest_ansorbench.packed import pack_program
from pytest_ansorbench.records import LastRanking, Round, Trial
from pytest_ansorbench.search import select
from pytest_ansorbench.storage.entries import LastCheckEntry, RoundEntry
from pytest_ansorbench.workloads import OPERATORS

if TYPE_CHECKING:
    from pytest_ansorbench.strategies.strategy import Strategy
    from pytest_ansorbench.workloads.case import Case, Surroundings, Task


class UnhostableCaseError(ValueError):
    """A case that another interpreter does not have."""


@dataclass(frozen=True)
class HostedStrategy:
    """A strategy of the package, run by the host of a toolchain."""

    name: str  # of the arm, e.g. `default@old`
    strategy: Strategy  # as this interpreter has it
    host: HostProcess = field(compare=False)
    description: str = ""  # one line for listings

    def check(self, case: Case) -> None:
        """Check that the host has a case, of which it is told the id: UnhostableCaseError."""
        shipped: Sequence[Case] = OPERATORS
        if not any(one.id == case.id and type(one) is type(case) for one in shipped):
            raise UnhostableCaseError(
                f"bad strategy {self.name!r} for the case {case.id}: expected an operator that "
                "ships with the package; the other interpreter knows of no others"
            )


@dataclass(frozen=True)
class SavedBest:
    """A valid trial and its kernel, to be made by the host's toolchain."""

    index: int  # in the run
    latency_s: float
    kernel: SavedKernel

    def program(self, surroundings: Surroundings | None = None) -> SavedKernel:
        """What an engine compiles; a task of its own has no surroundings."""
        return self.kernel


@dataclass
class HostedTask:
    """The only task of a hosted search."""

    task: Task  # as this interpreter has it
    best: SavedBest | None = None
    """The fastest valid trial, or what the last check crowned; None if none is valid."""
    leads: list[SavedBest] = field(default_factory=list)
    """Every trial that was the best so far, in order."""
    trials_done: int = 0


class HostedSearch:
    """A run in the making that a host steps through, in place of `search.loop.Search`."""

    def __init__(
        self,
        case: Case,
        tasks: Sequence[Task],
        strategy: HostedStrategy,
        *,
        seed: int,
        budget_trials: int,
        round_trials: int,
        run_time_s: float | None = None,
        on_trial: Callable[[HostedSearch], None] = lambda search: None,
        resumed: Sequence[RoundEntry] = (),
        ranking: LastRanking | None = None,
    ) -> None:
        self.strategy = strategy
        self.budget_trials = budget_trials
        self.run_time_s = run_time_s
        self.ranking = ranking
        [task] = tasks
        self.tasks = [HostedTask(task)]
        self.current = self.tasks[0]
        self._case = case
        self._host = strategy.host
        self._program = pack_program(task.mod)
        self._seed = seed
        self._on_trial = on_trial
        self._entries: list[RoundEntry] = []
        self._trials: list[Trial] = []
        for entry in resumed:
            self._take(entry)
        answer = self._host.request(
            {
                "op": "begin",
                "case": case.id,
                "strategy": strategy.strategy.name,
                "seed": seed,
                "budget_trials": budget_trials,
                "round_trials": round_trials,
                "run_time_s": run_time_s,
                "resumed": [to_json(entry) for entry in resumed],
                "ranking": None if ranking is None else to_json(ranking),
            }
        )
        self._number: int | None = int(answer["search"])
        if ranking is not None:
            self._crown(ranking)

    @property
    def finished(self) -> bool:
        return self.spent >= 1.0 or bool(self._entries and self._entries[-1].stopped)

    @property
    def spent(self) -> float:
        return spent_share(len(self._trials), self.search_s, self.budget_trials, self.run_time_s)

    @property
    def rounds(self) -> Sequence[Round]:
        return [entry.round for entry in self._entries]

    @property
    def trials(self) -> Sequence[Trial]:
        return self._trials

    @property
    def search_s(self) -> float:
        """Search time so far, in seconds, by the host's clock."""
        check_s = self.ranking.check_s if self.ranking is not None else 0.0
        return sum(entry.round.search_s for entry in self._entries) + check_s

    @property
    def estimated_s(self) -> float | None:
        valid = [trial.latency_s for trial in self._trials if trial.latency_s is not None]
        return min(valid, default=None)

    @property
    def best_gflops(self) -> float:
        estimated_s = self.estimated_s
        return self._case.flops / estimated_s / 1e9 if estimated_s else 0.0

    def step(self) -> None:
        if self.finished:
            return
        done = len(self._trials)
        try:
            answer = self._host.request({"op": "step", "search": self._number, "label": ""})
            while "trial" in answer:
                self._trials.append(from_json(Trial, answer["trial"]))
                self._on_trial(self)
                answer = self._host.receive()
        except KeyboardInterrupt:
            self._host.close()  # it would go on with its round
            raise
        del self._trials[done:]
        self._take(from_json(RoundEntry, answer["round"]))

    @property
    def last_check_due(self) -> bool:
        wanted = self.strategy.strategy.last_check is not None
        return self.finished and wanted and self.ranking is None

    def rank(self) -> None:
        if not self.last_check_due:
            return
        answer = self._host.request({"op": "rank", "search": self._number, "label": ""})
        self.ranking = from_json(LastCheckEntry, answer["last_check"]).ranking
        self._crown(self.ranking)

    def close(self) -> None:
        number, self._number = self._number, None
        if number is not None and self._host.is_running:
            self._host.request({"op": "close", "search": number})

    def last_round(self, label: str) -> RoundEntry:
        """The round that was stepped through last; the journal calls the case by its label."""
        return replace(self._entries[-1], label=label, strategy=self.strategy.name)

    def last_check(self, label: str) -> LastCheckEntry:
        assert self.ranking is not None
        return LastCheckEntry(label, self._seed, self.strategy.name, self.ranking)

    def _take(self, entry: RoundEntry) -> None:
        """Take note of a round: its trials, and which of them led."""
        self._entries.append(entry)
        self._trials += entry.trials
        task = self.current
        task.trials_done += len(entry.trials)
        for place, trial in enumerate(entry.trials):
            latency_s = trial.latency_s
            if latency_s is None or (task.best and latency_s >= task.best.latency_s):
                continue
            task.best = SavedBest(trial.index, latency_s, self._kernel(entry, place))
            task.leads.append(task.best)

    def _kernel(self, entry: RoundEntry, place: int) -> SavedKernel:
        return SavedKernel(
            self._program,
            select(entry.state.candidates, place),
            self._case.id,
            toolchain=self._host.name,
        )

    def _crown(self, ranking: LastRanking) -> None:
        """Make what a last check crowned the best, and the last of the leads."""
        task = self.current
        for checked in ranking.tasks:
            for entry in self._entries:
                for place, trial in enumerate(entry.trials):
                    if trial.index == checked.crowned and trial.latency_s is not None:
                        kernel = self._kernel(entry, place)
                        task.best = SavedBest(trial.index, trial.latency_s, kernel)
            others = (lead for lead in task.leads if lead.index != checked.crowned)
            task.leads = [*others, *([task.best] if task.best else [])]
