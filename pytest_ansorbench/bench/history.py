"""What a journal says of a case, and what is written to it: an interrupted case goes on here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pytest_ansorbench.budget import spent_share
from pytest_ansorbench.packed import PackedError
from pytest_ansorbench.records import (
    CaseResult,
    LastRanking,
    MachineNoise,
    RecordError,
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
    BlockEntry,
    CaseEntry,
    EndEntry,
    Entry,
    FinalEntry,
    LastCheckEntry,
    LeadsEntry,
    NoiseEntry,
    RecordedEntry,
    RepeatEntry,
    RepeatLine,
    RoundEntry,
    SessionEntry,
    SetEntry,
    YardsticksEntry,
)


class MisfitError(ValueError):
    """A line of a journal that does not follow from those before it."""


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
    winners: SetEntry | None = None  # its winners after their newest set; None before their first
    # By task, its leads as far as they were measured again
    leads: dict[int, LeadsEntry] = field(default_factory=dict)

    def add(self, case: CaseEntry, entry: RepeatLine) -> None:
        seed = self.begun.seed
        _expect(self.final is None, f"the repeat with seed {seed} is over already")
        if isinstance(entry, SetEntry | FinalEntry):
            winners, arms = len(entry.finals), len(case.strategies)
            _expect(winners == arms, f"expected {arms} winners, got {winners}")
        if isinstance(entry, FinalEntry):
            if entry.leads is not None:
                _expect_leads(case, entry.leads)
            self.final = entry
            return
        if isinstance(entry, SetEntry | LeadsEntry):
            self._measure_again(case, entry)
            return
        searched = self.winners is not None or bool(self.leads)
        _expect(not searched, f"the searches of the repeat with seed {seed} are over already")
        name = entry.strategy
        _expect(name in case.strategies, f"the case has no strategy {name!r}")
        if isinstance(entry, RecordedEntry):
            self._stand_in(case, entry)
            return
        stands_in = self.recorded is not None and self.recorded.strategy == name
        _expect(not stands_in, f"a recorded run stands in for {name!r} already")
        _expect(name not in self.rankings, f"the run of {name!r} has had its last check already")
        if isinstance(entry, LastCheckEntry):
            self._rank(case, entry)
            return
        task, rounds = entry.round.task, self.rounds.setdefault(name, [])
        _expect(0 <= task < len(case.tasks), f"the case has no task {task}")
        follows = entry.round.index == len(rounds) + 1
        _expect(follows, f"expected round {len(rounds) + 1}, got {entry.round.index}")
        of_round = all(trial.round == entry.round.index for trial in entry.trials)
        _expect(of_round, f"expected trials of round {entry.round.index} alone")
        if rounds:
            rounds[-1] = rounds[-1].behind()
        rounds.append(entry)

    def _measure_again(self, case: CaseEntry, entry: SetEntry | LeadsEntry) -> None:
        if isinstance(entry, SetEntry):
            measured = (*entry.finals, *(peer.final for peer in entry.peers))
            valid = [one for one in measured if one.status == "ok"]
            is_placed = all(one.sets and one.places for one in valid)
            _expect(is_placed, "expected set and place of each slice of the winners")
            self.winners = entry
            return
        task = entry.task
        _expect(0 <= task < len(case.tasks), f"the case has no task {task}")
        _expect(task not in self.leads, f"the leads of task {task} were measured already")
        _expect_leads(case, entry.leads)
        for name, of_arm in zip(case.strategies, entry.leads, strict=True):
            self._expect_valid(name, [lead.trial for lead in of_arm])
        self.leads[task] = entry

    def _stand_in(self, case: CaseEntry, entry: RecordedEntry) -> None:
        has_begun = self.recorded is not None or entry.strategy in self.rounds
        _expect(not has_begun, f"the run of {entry.strategy!r} has begun already")
        run = entry.run
        _expect(
            (run.case, run.strategy, run.seed) == (case.case, entry.strategy, entry.seed),
            f"the recorded run is of another case, strategy or seed than {entry.seed}",
        )
        is_timed = run.rounds and run.rounds[0].search_s > 0.0 and entry.first_round_s > 0.0
        _expect(bool(is_timed), "the recorded run has no first round to compare with")
        is_kept = run.schedules is not None and len(run.tasks) == len(case.tasks)
        _expect(is_kept, "the recorded run keeps no schedule for each task")
        self.recorded = entry

    def _rank(self, case: CaseEntry, entry: LastCheckEntry) -> None:
        for checked in entry.ranking.tasks:
            _expect(0 <= checked.task < len(case.tasks), f"the case has no task {checked.task}")
            self._expect_valid(entry.strategy, [checked.crowned])
        self.rankings[entry.strategy] = entry.ranking

    def _expect_valid(self, strategy: str, trials: Sequence[int | None]) -> None:
        """Expect trials of a run to be valid ones."""
        rounds = self.rounds.get(strategy, [])
        valid = {trial.index for line in rounds for trial in line.trials if trial.status == "ok"}
        for trial in trials:
            _expect(trial in valid, f"the run of {strategy!r} has no valid trial {trial}")


@dataclass
class CaseHistory:
    """One case, as far as it got."""

    entry: CaseEntry  # how it began
    repeats: dict[int, RepeatHistory] = field(default_factory=dict)  # by seed
    # By machine, the baselines of its kernels
    yardsticks: dict[str, Yardsticks] = field(default_factory=dict)
    _runs: dict[int, tuple[Run, ...]] = field(default_factory=dict, init=False, repr=False)

    def add(self, entry: BlockEntry | AbandonedEntry) -> None:
        match entry:
            case YardsticksEntry():
                self.yardsticks[entry.yardsticks.machine] = entry.yardsticks
            case RepeatEntry(seed=seed):
                again = seed in self.repeats
                _expect(not again, f"the repeat with seed {seed} begins a second time")
                self.repeats[seed] = RepeatHistory(entry)
            case AbandonedEntry(seed=seed):
                over = f"the repeat with seed {seed} is over already"
                _expect(self._under_way(seed).final is None, over)
                del self.repeats[seed]
            case _:
                self._under_way(entry.seed).add(self.entry, entry)

    def _under_way(self, seed: int) -> RepeatHistory:
        _expect(seed in self.repeats, f"the repeat with seed {seed} has not begun")
        return self.repeats[seed]

    def complete(self, seed: int) -> bool:
        """Whether a repeat has been run to its end."""
        repeat = self.repeats.get(seed)
        return repeat is not None and repeat.final is not None

    @property
    def begun(self) -> list[list[RoundEntry]]:
        """The rounds of each run that has any, those that have not ended among them."""
        return [rounds for repeat in self.repeats.values() for rounds in repeat.rounds.values()]

    def spent(self, rounds: Sequence[RoundEntry]) -> float:
        """The share of a run's budget that its rounds have spent."""
        trials = sum(len(entry.trials) for entry in rounds)
        search_s = sum(entry.round.search_s for entry in rounds)
        known = self.entry.conditions
        return spent_share(trials, search_s, known["trials"], known.get("run_time_s"))

    @property
    def machines(self) -> dict[str, Mapping[str, Any]]:
        """By fingerprint, the machines that its repeats were measured on."""
        machines = [repeat.begun.machine for repeat in self.repeats.values()]
        return {fingerprint(machine): machine for machine in machines}

    def result(self, seeds: Sequence[int]) -> CaseResult:
        """What complete repeats came to, without verdicts."""
        entry, machines = self.entry, self.machines
        return CaseResult(
            case=entry.case,
            strategies=entry.strategies,
            runs=tuple(run for seed in seeds for run in self.runs(seed)),
            verdicts=(),
            version=entry.version,
            control=entry.control,
            programs=entry.programs,
            # The machine of the others lost its repeat to another one.
            yardsticks=tuple(one for name, one in self.yardsticks.items() if name in machines),
            definition=entry.definition,
        )

    def runs(self, seed: int) -> tuple[Run, ...]:
        """The runs of a complete repeat, in order of the arms."""
        if seed not in self._runs:
            try:
                self._runs[seed] = self._assembled(seed)
            except RecordError as error:
                raise ResumeError(f"its repeat with seed {seed} is no repeat: {error}") from None
        return self._runs[seed]

    def _assembled(self, seed: int) -> tuple[Run, ...]:
        repeat = self.repeats[seed]
        assert repeat.final is not None
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
                budget_trials=int(self.entry.conditions["trials"]),
                round_trials=int(self.entry.conditions["round_trials"]),
                flops=self.entry.flops,
                tasks=_tasks(self.entry.tasks, rounds),
                rounds=tuple(entry.round for entry in rounds),
                trials=tuple(trial for entry in rounds for trial in entry.trials),
                final=final,
                stopped=rounds[-1].stopped if rounds and self.spent(rounds) < 1.0 else "",
                before=repeat.begun.before,
                after=repeat.final.after,
                machine=fingerprint(repeat.begun.machine),
                leads=of_arm,
                leads_s=repeat.final.leads_s,
                last_check=repeat.rankings.get(strategy),
                caches=str(self.entry.conditions.get("caches", "warm")),
                run_time_s=self.entry.conditions.get("run_time_s"),
                checked=repeat.final.checked,
                peers=repeat.final.peers,
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
        checked=end.checked,
        peers=end.peers,
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


def case_histories(past: Past) -> dict[str, CaseHistory]:
    """Sort a journal's lines by case and repeat."""
    histories: dict[str, CaseHistory] = {}
    for line, entry in enumerate(past.entries, start=2):
        try:
            add_entry(histories, entry)
        except MisfitError as error:
            raise StorageError(
                f"bad journal {str(past.path)!r}, line {line}: {error}; it was changed: restore "
                "it, or measure again"
            ) from None
    return histories


def noise_of(entries: Iterable[NoiseEntry]) -> tuple[MachineNoise, ...]:
    """How steady machines were, as a result has it."""
    return tuple(
        MachineNoise(fingerprint(entry.machine), entry.moment, entry.observed, entry.trace)
        for entry in entries
    )


def add_entry(histories: dict[str, CaseHistory], entry: Entry) -> None:
    """Put one line of a journal where it belongs.

    Raises:
        MisfitError: It does not follow from the lines before it.
    """
    match entry:
        case EndEntry() | NoiseEntry():
            pass  # about the session, not about a case
        case SessionEntry():
            raise MisfitError("a session begins a second time")
        case CaseEntry(label=label):
            _expect(label not in histories, f"the case {label!r} begins a second time")
            budget = [entry.conditions.get(key) for key in ("trials", "round_trials")]
            is_known = all(isinstance(one, int) and one > 0 for one in budget)
            _expect(is_known, "the case's budget is missing")
            run_time_s = entry.conditions.get("run_time_s")
            is_known = run_time_s is None or (isinstance(run_time_s, float) and run_time_s > 0.0)
            _expect(is_known, f"expected seconds of run time, got {run_time_s!r}")
            histories[label] = CaseHistory(entry)
        case _:
            _expect(entry.label in histories, f"the case {entry.label!r} has not begun")
            histories[entry.label].add(entry)


def _expect_leads(case: CaseEntry, leads: Sequence[Sequence[Remeasurement]]) -> None:
    arms = len(case.strategies)
    _expect(len(leads) == arms, f"expected leads of {arms} arms, got {len(leads)}")


def _expect(condition: bool, otherwise: str) -> None:
    if not condition:
        raise MisfitError(otherwise)


class CaseJournal:
    """The journal's lines on one case: those that are there, and those to come."""

    def __init__(
        self,
        journal: Journal,
        history: CaseHistory | None,
        entry: CaseEntry,
        noise: list[NoiseEntry],
    ) -> None:
        self.label = entry.label
        self.measured_on: set[str] = set()  # machines whose baselines this session has measured
        self._journal = journal
        self._noise = noise
        if history is None:
            journal.append(entry)
            history = CaseHistory(entry)
        else:
            _check_same(history.entry, entry)
        self.history = history

    def append(self, entry: BlockEntry | NoiseEntry | AbandonedEntry) -> None:
        self._journal.append(entry)
        if isinstance(entry, YardsticksEntry):
            self.measured_on.add(entry.yardsticks.machine)
        if isinstance(entry, NoiseEntry):
            self._noise.append(entry)
        else:
            self.history.add(entry)


_SAME_CASE: Final = ("case", "version", "strategies", "control", "tasks")
"""Fields in which two beginnings of a case agree if what was measured of one is of the other."""


def is_same_case(past: CaseEntry, now: CaseEntry) -> bool:
    """Whether two beginnings are of the same programs under the same strategies."""
    return all(getattr(past, name) == getattr(now, name) for name in _SAME_CASE)


def changed_conditions(past: CaseEntry, now: CaseEntry) -> list[str]:
    """The conditions in which two beginnings differ, in order of their names."""
    names = sorted({*past.conditions, *now.conditions})
    return [name for name in names if past.conditions.get(name) != now.conditions.get(name)]


def goes_on(past: CaseEntry, now: CaseEntry) -> bool:
    """Whether a case can go on from the beginning of another day."""
    return is_same_case(past, now) and not changed_conditions(past, now)


def _check_same(past: CaseEntry, now: CaseEntry) -> None:
    """Refuse to go on with what was measured otherwise."""
    for name in _SAME_CASE:
        _check_equal(past.label, name, getattr(past, name), getattr(now, name))
    for name in changed_conditions(past, now):
        _check_equal(past.label, name, past.conditions.get(name), now.conditions.get(name))


def _check_equal(label: str, name: str, past: object, now: object) -> None:
    if past != now:
        raise ResumeError(f"{label} was measured with {name} {past!r} so far, and now has {now!r}")
