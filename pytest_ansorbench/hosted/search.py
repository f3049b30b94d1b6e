"""An arm that another interpreter searches, and one of its searches, known by its entries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pytest_ansorbench.budget import spent_share
from pytest_ansorbench.codec import from_json, to_json
from pytest_ansorbench.hosted.agreement import agreed
from pytest_ansorbench.hosted.process import HostProcess
from pytest_ansorbench.measure.program import SavedKernel, SavedNetwork
from pytest_ansorbench.records import LastRanking, Round, Trial
from pytest_ansorbench.search import select
from pytest_ansorbench.storage.entries import LastCheckEntry, RoundEntry
from pytest_ansorbench.travel import StayError, packed

if TYPE_CHECKING:
    from pytest_ansorbench.strategies.strategy import Strategy
    from pytest_ansorbench.workloads.case import Case, Surroundings, Task


class UnhostableError(ValueError):
    """A case or a strategy that another interpreter cannot have, or has another of."""


@dataclass(frozen=True)
class HostedStrategy:
    """A strategy, run by the host of a toolchain."""

    name: str  # of the arm, e.g. `default@old`
    strategy: Strategy  # as this interpreter has it
    host: HostProcess = field(compare=False)

    def check(self, case: Case | None = None) -> None:
        """Check that the strategy, or a case, can be told to the host: UnhostableError."""
        try:
            packed(self.strategy if case is None else case, self.host.root)
        except StayError as error:
            raise self.refusal(error, case) from None

    def refusal(self, error: StayError, case: Case | None = None) -> UnhostableError:
        of = "" if case is None else f" for the case {case.id}"
        return UnhostableError(f"bad strategy {self.name!r}{of}: {error}")


@dataclass(frozen=True)
class SavedBest:
    """A valid trial and its kernel, to be made by the host's toolchain."""

    index: int  # in the run
    latency_s: float
    kernel: SavedKernel

    def program(self, surroundings: Surroundings | None = None) -> SavedKernel:
        """What an engine compiles."""
        return replace(self.kernel, surroundings=surroundings)


@dataclass
class HostedTask:
    """A task of a hosted search."""

    task: Task  # as this interpreter has it
    best: SavedBest | None = None
    """The fastest valid trial, or what the last check crowned; None if none is valid."""
    leads: list[SavedBest] = field(default_factory=list)
    """Every trial that was the best so far, in order."""
    trials_done: int = 0
    stopped: str = ""
    """Why it ended; empty if it did not."""
    fastest_s: float | None = None
    """Of all valid trials, those of a round under way among them."""

    def hear(self, trial: Trial) -> None:
        if trial.latency_s is not None:
            self.fastest_s = min(trial.latency_s, self.fastest_s or trial.latency_s)


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
        scheduler: str = "gradient",
        on_trial: Callable[[HostedSearch], None] = lambda search: None,
        resumed: Sequence[RoundEntry] = (),
        ranking: LastRanking | None = None,
    ) -> None:
        """Begin it at the host.

        Raises:
            UnhostableError: The host cannot have the case or the strategy, or has another.
        """
        self.strategy = strategy
        self.budget_trials = budget_trials
        self.run_time_s = run_time_s
        self.ranking = ranking
        self.tasks = [HostedTask(task) for task in tasks]
        self.current = self.tasks[0]
        self._case = case
        self._host = strategy.host
        self._seed = seed
        self._on_trial = on_trial
        self._entries: list[RoundEntry] = []
        self._trials: list[Trial] = []
        try:
            self._there = agreed(self._host, case, tasks)
            answer = self._host.request(
                {
                    "op": "begin",
                    "case": self._there.number,
                    "strategy": packed(strategy.strategy, self._host.root),
                    "scheduler": scheduler,
                    "seed": seed,
                    "budget_trials": budget_trials,
                    "round_trials": round_trials,
                    "run_time_s": run_time_s,
                    "resumed": [to_json(entry) for entry in resumed],
                    "ranking": None if ranking is None else to_json(ranking),
                }
            )
        except StayError as error:
            raise strategy.refusal(error, case) from None
        self._number: int | None = int(answer["search"])
        for entry in resumed:
            self._take(entry)
        if ranking is not None:
            self._crown(ranking)

    @property
    def finished(self) -> bool:
        return self.spent >= 1.0 or all(task.stopped for task in self.tasks)

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
        """Latency of the case by its tasks' fastest; None while one has no valid trial."""
        total_s = 0.0
        for one in self.tasks:
            if one.fastest_s is None:
                return None
            total_s += one.task.weight * one.fastest_s
        return total_s

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
                trial = from_json(Trial, answer["trial"])
                self._trials.append(trial)
                self.current = self.tasks[answer["task"]]
                self.current.hear(trial)
                self._on_trial(self)
                answer = self._host.receive()
        except BaseException:
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

    def network(self) -> SavedNetwork:
        """The network with the best kernel of each task, to be made by the host's toolchain."""
        kernels = tuple(task.best.kernel for task in self.tasks if task.best is not None)
        whole = self._there.network
        return SavedNetwork(whole["program"], kernels, self._host.name, whole["functions"])

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
        task = self.tasks[entry.round.task]
        task.trials_done += len(entry.trials)
        task.stopped = entry.stopped
        for place, trial in enumerate(entry.trials):
            latency_s = trial.latency_s
            task.hear(trial)
            if latency_s is None or (task.best and latency_s >= task.best.latency_s):
                continue
            task.best = self._saved(entry, place, latency_s)
            task.leads.append(task.best)

    def _saved(self, entry: RoundEntry, place: int, latency_s: float) -> SavedBest:
        program = self._there.programs[entry.round.task]
        schedule = select(entry.state.candidates, place)
        kernel = SavedKernel(program, schedule, toolchain=self._host.name)
        return SavedBest(entry.trials[place].index, latency_s, kernel)

    def _crown(self, ranking: LastRanking) -> None:
        """Make what a last check crowned the best of its task, and the last of the leads."""
        for checked in ranking.tasks:
            task = self.tasks[checked.task]
            for entry in self._entries:
                for place, trial in enumerate(entry.trials):
                    if trial.index == checked.crowned and trial.latency_s is not None:
                        task.best = self._saved(entry, place, trial.latency_s)
            others = (lead for lead in task.leads if lead.index != checked.crowned)
            task.leads = [*others, *([task.best] if task.best else [])]
