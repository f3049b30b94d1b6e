"""What a journal says of a case, and what is written to it: an interrupted case goes on here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from pytest_ansorbench.packed import PackedError
from pytest_ansorbench.records import (
    LastRanking,
    MachineNoise,
    Recording,
    Remeasurement,
    Run,
    TaskRecord,
    Yardsticks,
)
from pytest_ansorbench.search import ResumeError, select
from pytest_ansorbench.storage import Journal, Past, StorageError, fingerprint
from pytest_ansorbench.storage.entries import (
    AbandonedEntry,
    CaseEntry,
    EndEntry,
    Entry,
    FinalEntry,
    LastCheckEntry,
    NoiseEntry,
    RecordedEntry,
    RepeatEntry,
    RoundEntry,
    SessionEntry,
    YardsticksEntry,
)

# What is written down of a repeat while it is carried out
BlockEntry = (
    YardsticksEntry | RepeatEntry | RecordedEntry | RoundEntry | LastCheckEntry | FinalEntry
)


@dataclass
class RepeatHistory:
    """One repeat of a case, as far as it got."""

    begun: RepeatEntry  # its beginning
    # Rounds of each arm, in order
    rounds: dict[str, list[RoundEntry]] = field(default_factory=dict)
    final: FinalEntry | None = None  # its end; None if it was interrupted
    # The last check of each arm that has one behind it
    rankings: dict[str, LastRanking] = field(default_factory=dict)
    # The run of another day that stands in for one of it; None if none does
    recorded: RecordedEntry | None = None

    @property
    def trials(self) -> int:
        """Trials of all arms so far."""
        return sum(len(entry.trials) for rounds in self.rounds.values() for entry in rounds)


@dataclass
class CaseHistory:
    """One case, as far as it got."""

    entry: CaseEntry  # how it began
    repeats: dict[int, RepeatHistory] = field(default_factory=dict)  # by seed
    # By machine, what its kernels are held against besides each other
    yardsticks: dict[str, Yardsticks] = field(default_factory=dict)
    _runs: dict[int, tuple[Run, ...]] = field(default_factory=dict, init=False, repr=False)

    def complete(self, seed: int) -> bool:
        """Whether a repeat has been run to its end."""
        repeat = self.repeats.get(seed)
        return repeat is not None and repeat.final is not None

    @property
    def machines(self) -> dict[str, Mapping[str, Any]]:
        """By fingerprint, the machines that its repeats were measured on."""
        machines = [repeat.begun.machine for repeat in self.repeats.values()]
        return {fingerprint(machine): machine for machine in machines}

    def runs(self, seed: int) -> tuple[Run, ...]:
        """The runs of a complete repeat, in order of the arms."""
        if seed not in self._runs:
            self._runs[seed] = self._assembled(seed)
        return self._runs[seed]

    def _assembled(self, seed: int) -> tuple[Run, ...]:
        repeat = self.repeats[seed]
        assert repeat.final is not None
        budget_trials = int(self.entry.conditions["trials"])
        runs = []
        leads = repeat.final.leads or [None] * len(self.entry.strategies)
        for strategy, final, of_arm in zip(
            self.entry.strategies, repeat.final.finals, leads, strict=True
        ):
            if repeat.recorded is not None and repeat.recorded.strategy == strategy:
                runs.append(_stood_in(repeat, repeat.recorded, final, repeat.final))
                continue
            rounds = repeat.rounds.get(strategy, [])
            run = Run(
                case=self.entry.case,
                strategy=strategy,
                seed=seed,
                budget_trials=budget_trials,
                round_trials=int(self.entry.conditions["round_trials"]),
                flops=self.entry.flops,
                tasks=_tasks(self.entry.tasks, rounds),
                rounds=tuple(entry.round for entry in rounds),
                trials=tuple(trial for entry in rounds for trial in entry.trials),
                final=final,
                stopped=_stopped(rounds, budget_trials),
                before=repeat.begun.before,
                after=repeat.final.after,
                machine=fingerprint(repeat.begun.machine),
                leads=of_arm,
                leads_s=repeat.final.leads_s,
                last_check=repeat.rankings.get(strategy),
                caches=str(self.entry.conditions.get("caches", "warm")),
            )
            runs.append(replace(run, schedules=_schedules(run, rounds)))
        return tuple(runs)


def _stood_in(
    repeat: RepeatHistory, entry: RecordedEntry, winner: Remeasurement, end: FinalEntry
) -> Run:
    """A run of another day, with its winner as measured in this repeat."""
    return replace(
        entry.run,
        final=winner,
        before=repeat.begun.before,
        after=end.after,
        machine=fingerprint(repeat.begun.machine),
        leads=entry.run.leads if end.leads is not None else None,
        leads_s=end.leads_s,
        recorded=Recording(entry.created, entry.first_round_s, entry.run.final),
    )


def _tasks(tasks: Sequence[TaskRecord], rounds: Sequence[RoundEntry]) -> tuple[TaskRecord, ...]:
    """The tasks with their design spaces, as far as the rounds know them."""
    sketches = {entry.round.task: entry.sketches for entry in rounds}
    return tuple(
        replace(task, sketches=sketches.get(index, ())) for index, task in enumerate(tasks)
    )


def _schedules(run: Run, rounds: Sequence[RoundEntry]) -> tuple[str | None, ...]:
    """The schedule that won each task, out of the round that proposed it."""
    found: list[str | None] = []
    for trial in run.best_trials:
        if trial is None:
            found.append(None)
            continue
        entry = rounds[trial.round - 1]
        try:
            found.append(select(entry.state.candidates, trial.index - entry.trials[0].index))
        except PackedError as error:
            raise ResumeError(
                f"the run of {run.strategy!r} with seed {run.seed}: round {trial.round} has no "
                f"schedule of trial {trial.index}: {error}"
            ) from None
    return tuple(found)


def _stopped(rounds: Sequence[RoundEntry], budget_trials: int) -> str:
    """Why a run ended before its budget: why the last of its tasks did."""
    if sum(len(entry.trials) for entry in rounds) >= budget_trials:
        return ""
    return rounds[-1].stopped if rounds else ""


def case_histories(past: Past) -> dict[str, CaseHistory]:
    """Sort a journal's lines by case and repeat."""
    histories: dict[str, CaseHistory] = {}
    for line, entry in enumerate(past.entries, start=2):
        misfit = add_entry(histories, entry)
        if misfit:
            _damaged(past, line, misfit)
    return histories


@dataclass
class NoiseHistory:
    """How steady the machines of a session were, as far as was looked."""

    entries: list[NoiseEntry] = field(default_factory=list)  # the looks, in order of time

    @classmethod
    def of(cls, past: Past | None) -> NoiseHistory:
        """What a journal says; nothing without one."""
        entries = past.entries if past is not None else ()
        return cls([entry for entry in entries if isinstance(entry, NoiseEntry)])

    @property
    def machines(self) -> dict[str, Mapping[str, Any]]:
        """By fingerprint, the machines that were looked at."""
        return {fingerprint(entry.machine): entry.machine for entry in self.entries}

    @property
    def noise(self) -> tuple[MachineNoise, ...]:
        """The looks as a result has them."""
        return tuple(
            MachineNoise(fingerprint(entry.machine), entry.moment, entry.observed, entry.trace)
            for entry in self.entries
        )


def add_entry(histories: dict[str, CaseHistory], entry: Entry) -> str:
    """Put one line of a journal where it belongs; else say why it belongs nowhere."""
    if isinstance(entry, EndEntry | NoiseEntry):
        return ""  # about the session, not about a case
    if isinstance(entry, SessionEntry):
        return "a session begins a second time"
    if isinstance(entry, CaseEntry):
        if entry.label in histories:
            return f"the case {entry.label!r} begins a second time"
        if not all(
            isinstance(entry.conditions.get(key), int) for key in ("trials", "round_trials")
        ):
            return "the case's budget is missing"
        histories[entry.label] = CaseHistory(entry)
        return ""
    case = histories.get(entry.label)
    if case is None:
        return f"the case {entry.label!r} has not begun"
    if isinstance(entry, YardsticksEntry):
        case.yardsticks[entry.yardsticks.machine] = entry.yardsticks
        return ""
    if isinstance(entry, RepeatEntry):
        if entry.seed in case.repeats:
            return f"the repeat with seed {entry.seed} begins a second time"
        case.repeats[entry.seed] = RepeatHistory(entry)
        return ""
    repeat = case.repeats.get(entry.seed)
    if repeat is None:
        return f"the repeat with seed {entry.seed} has not begun"
    if repeat.final is not None:
        return f"the repeat with seed {entry.seed} is over already"
    if isinstance(entry, AbandonedEntry):
        del case.repeats[entry.seed]
        return ""
    if isinstance(entry, FinalEntry):
        if len(entry.finals) != len(case.entry.strategies):
            return f"expected {len(case.entry.strategies)} winners, got {len(entry.finals)}"
        if entry.leads is not None and len(entry.leads) != len(entry.finals):
            return f"expected leads of {len(entry.finals)} arms, got {len(entry.leads)}"
        repeat.final = entry
        return ""
    if entry.strategy not in case.entry.strategies:
        return f"the case has no strategy {entry.strategy!r}"
    if isinstance(entry, RecordedEntry):
        return _add_recorded(case.entry, repeat, entry)
    if repeat.recorded is not None and repeat.recorded.strategy == entry.strategy:
        return f"a recorded run stands in for {entry.strategy!r} already"
    if entry.strategy in repeat.rankings:
        return f"the run of {entry.strategy!r} has had its last check already"
    if isinstance(entry, LastCheckEntry):
        return _add_ranking(case.entry, repeat, entry)
    if not 0 <= entry.round.task < len(case.entry.tasks):
        return f"the case has no task {entry.round.task}"
    rounds = repeat.rounds.setdefault(entry.strategy, [])
    if entry.round.index != len(rounds) + 1:
        return f"expected round {len(rounds) + 1}, got {entry.round.index}"
    rounds.append(entry)
    return ""


def _add_recorded(case: CaseEntry, repeat: RepeatHistory, entry: RecordedEntry) -> str:
    if repeat.recorded is not None or entry.strategy in repeat.rounds:
        return f"the run of {entry.strategy!r} has begun already"
    run = entry.run
    if (run.case, run.strategy, run.seed) != (case.case, entry.strategy, entry.seed):
        return f"the recorded run is of another case, strategy or seed than {entry.seed}"
    if not run.rounds or run.rounds[0].search_s <= 0.0 or entry.first_round_s <= 0.0:
        return "the recorded run has no first round to compare with"
    if run.schedules is None or len(run.tasks) != len(case.tasks):
        return "the recorded run keeps no schedule for each task"
    repeat.recorded = entry
    return ""


def _add_ranking(case: CaseEntry, repeat: RepeatHistory, entry: LastCheckEntry) -> str:
    rounds = repeat.rounds.get(entry.strategy, [])
    valid = {trial.index for line in rounds for trial in line.trials if trial.status == "ok"}
    for checked in entry.ranking.tasks:
        if not 0 <= checked.task < len(case.tasks):
            return f"the case has no task {checked.task}"
        if checked.crowned not in valid:
            return f"the run of {entry.strategy!r} has no valid trial {checked.crowned}"
    repeat.rankings[entry.strategy] = entry.ranking
    return ""


class CaseJournal:
    """The journal's lines on one case: those that are there, and those to come."""

    def __init__(
        self,
        journal: Journal,
        history: CaseHistory | None,
        entry: CaseEntry,
        noise: NoiseHistory,
    ) -> None:
        """Begin a case, or go on with it."""
        self.label = entry.label
        self._journal = journal
        self._noise = noise
        if history is None:
            journal.append(entry)
            history = CaseHistory(entry)
        else:
            _check_same(history.entry, entry)
        self.history = history

    def append(self, entry: BlockEntry | NoiseEntry | AbandonedEntry) -> None:
        """Write down what was just done."""
        self._journal.append(entry)
        if isinstance(entry, NoiseEntry):
            self._noise.entries.append(entry)
            return
        misfit = add_entry({self.label: self.history}, entry)
        assert not misfit, misfit


def _check_same(past: CaseEntry, now: CaseEntry) -> None:
    """Refuse to go on with what was measured otherwise."""
    for name in ("case", "version", "strategies", "control", "flops", "tasks"):
        _check_equal(past.label, name, getattr(past, name), getattr(now, name))
    for name in sorted({*past.conditions, *now.conditions}):
        _check_equal(past.label, name, past.conditions.get(name), now.conditions.get(name))


def _check_equal(label: str, name: str, past: object, now: object) -> None:
    if past != now:
        raise ResumeError(f"{label} was measured with {name} {past!r} so far, and now has {now!r}")


def _damaged(past: Past, line: int, what: str) -> NoReturn:
    raise StorageError(
        f"bad journal {str(past.path)!r}, line {line}: {what}; it was changed: restore it, or "
        "measure again"
    )
