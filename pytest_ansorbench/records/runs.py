"""What one run leaves behind: trials, rounds, its winner measured again."""

from __future__ import annotations

import itertools
import math
import operator
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, get_args

from pytest_ansorbench.records.checks import (
    MOST_SECONDS,
    SECONDS,
    are_latencies,
    ascend,
    check,
    check_samples,
    check_seconds,
)
from pytest_ansorbench.records.yardsticks import Implementation

TrialStatus = Literal[
    "ok", "build-error", "build-timeout", "run-error", "run-timeout", "wrong-result"
]
TRIAL_STATUSES: Final[tuple[str, ...]] = get_args(TrialStatus)

_MOST_FLOPS: Final = 10**24
_MOST_CALLS: Final = 10**9


@dataclass(frozen=True, slots=True)
class Trial:
    """One candidate, built and measured on hardware, valid or failed.

    Attributes:
        round: The round it was proposed in, from 1.
        index: Its place in the run, from 0.
        status: `ok`, or what went wrong.
        latencies_s: Seconds per kernel call, one entry a sample; empty unless `ok`.
        sketch: Index into its task's `sketches`, the structure it was sampled from; -1 if from
            none of them, as a strategy with schedules of its own may propose.
        search_s: Search time of the run at the moment this trial was done.
        error: First line of the failure; empty if `ok`.
        build_s: Seconds from the start of its compilation to its end, while others compile
            beside it; None if not recorded.
        run_s: Seconds to measure and check it, 0 if it did not get that far; None if not
            recorded.
        peak_memory_mb: Largest resident memory of its process, what it shares with others
            included; None if not recorded.
    """

    #: Written as one list a field: a million trials fit into a file that is read in seconds.
    BY_COLUMN: ClassVar[bool] = True

    round: int
    index: int
    status: TrialStatus
    latencies_s: tuple[float, ...]
    sketch: int
    search_s: float
    error: str = ""
    build_s: float | None = None
    run_s: float | None = None
    peak_memory_mb: float | None = None

    @property
    def latency_s(self) -> float | None:
        """Median of the samples, or None for a failed trial."""
        if self.status != "ok":
            return None
        # Most trials have a single sample, and reports ask a million times.
        samples = self.latencies_s
        return samples[0] if len(samples) == 1 else statistics.median(samples)


@dataclass(frozen=True, slots=True)
class Round:
    """One batch of one task: propose, build, run, learn; with the seconds each phase took.

    Attributes:
        index: Place in the run, from 1.
        propose_s: Seconds to choose the candidates.
        build_s: Seconds to compile them.
        run_s: Seconds to measure them.
        learn_s: Seconds to update database, cost model and policies.
        decisions: What the strategy's policies report of this round, JSON values only.
        restarts: How often in it the process that candidates are forked from died and was
            started anew, which the clock counts.
        task: Index into the run's `tasks`, the one that it searched.
    """

    index: int
    propose_s: float
    build_s: float
    run_s: float
    learn_s: float
    decisions: Mapping[str, Any] = field(default_factory=dict)
    restarts: int = 0
    task: int = 0

    def __post_init__(self) -> None:
        check_seconds(self, "propose_s", "build_s", "run_s", "learn_s")

    @property
    def search_s(self) -> float:
        """Seconds of this round that count as search time."""
        return self.propose_s + self.build_s + self.run_s + self.learn_s


@dataclass(frozen=True, slots=True)
class Remeasurement:
    """A program of a run measured again in fresh processes, in turn with those of other arms.

    Slices at the same place of two re-measurements of one repeat belong to the same turn: they
    are neighbours in time. The winner of a network is the network itself, compiled with the best
    program of each task.

    Attributes:
        trial: Index of its trial; None for a network, or if there is no valid trial.
        status: Status of the re-measurement.
        latencies_s: Seconds per kernel call, one entry a slice; empty unless `ok`.
        error: First line of the failure; empty if `ok`.
        sets: The set of processes that each slice was measured in, counted from 0; empty if
            not recorded.
        places: Each slice's place in the order of all slices of the measurement, from 0; empty
            if not recorded.
    """

    trial: int | None
    status: TrialStatus
    latencies_s: tuple[float, ...]
    error: str = ""
    sets: tuple[int, ...] = ()
    places: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_samples(self.status, self.latencies_s)
        slices, sets, places = len(self.latencies_s), self.sets, self.places
        expected = f"none, or as many as there are latencies, {slices}"
        check(len(sets) in (0, slices), "sets", sets, expected)
        check(len(places) in (0, slices), "places", places, expected)
        in_order = not sets or (sets[0] == 0 and ascend(sets, operator.le))
        check(in_order, "sets", sets, "sets in order, counted from 0")
        in_order = not places or (places[0] >= 0 and ascend(places))
        check(in_order, "places", places, "different places in ascending order, from 0")

    @property
    def latency_s(self) -> float | None:
        """Median over the sets of the median slice, or None if it could not be measured.

        Without sets the mean of the faster half of the samples:
        other work on a machine only ever slows a kernel down, often several samples in a row,
        and a median of few is off as soon as that is half of them.
        """
        if self.status != "ok":
            return None
        if not self.sets:
            fastest = sorted(self.latencies_s)[: (len(self.latencies_s) + 1) // 2]
            return statistics.fmean(fastest)
        by_set: dict[int, list[float]] = {}
        for number, latency_s in zip(self.sets, self.latencies_s, strict=True):
            by_set.setdefault(number, []).append(latency_s)
        return statistics.median(statistics.median(slices) for slices in by_set.values())

    @property
    def variation(self) -> float | None:
        """Coefficient of variation: standard deviation over mean; None below two samples."""
        if len(self.latencies_s) < 2:
            return None
        return statistics.stdev(self.latencies_s) / statistics.fmean(self.latencies_s)


@dataclass(frozen=True, slots=True)
class Peer:
    """A case in another library, measured in turn with the winners of a repeat.

    Attributes:
        implementation: Whose it is.
        version: Version of the library; empty if it is not installed.
        final: As of a winner.
    """

    implementation: Implementation
    version: str
    final: Remeasurement


@dataclass(frozen=True, slots=True)
class TaskRanking:
    """The fastest few of a task, measured against each other before the run named its winner.

    Attributes:
        task: Index into the run's `tasks`.
        compared: The programs, the fastest trial first; slices at the same place belong to the
            same turn.
        crowned: Index of the trial that won.
    """

    task: int
    compared: tuple[Remeasurement, ...]
    crowned: int


@dataclass(frozen=True, slots=True)
class LastRanking:
    """The last check of a run, as its strategy wants it, on the run's clock.

    Attributes:
        check_s: Seconds it took, builds included.
        tasks: The tasks that were checked, in order of measurement.
    """

    check_s: float
    tasks: tuple[TaskRanking, ...]

    def __post_init__(self) -> None:
        check_seconds(self, "check_s")


@dataclass(frozen=True, slots=True)
class GpuState:
    """What a GPU's clocks were at some moment; None for what is not known.

    Attributes:
        sm_mhz: Clock of its multiprocessors.
        memory_mhz: Clock of its memory.
        temperature_c: Degrees Celsius.
        power_w: Watts that it draws.
        held_down_by: What keeps its clocks from being higher, in words; `idle` among them.
    """

    sm_mhz: float | None = None
    memory_mhz: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    held_down_by: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class MachineState:
    """How the machine was, and what else it did while the bench itself was at rest.

    Attributes:
        busy_cores: Cores' worth of time that went to anything but this bench.
        stolen_cores: Cores' worth of time that a virtual machine's host gave to others.
        load_1min: The operating system's load average, the bench's own load included; None
            where there is none.
        frequency_mhz: Current clock frequency, mean over cores; None if it cannot be read.
        busiest: The processes that took most, as `name share-of-a-core`, the greatest first.
        gpu: The GPU that measures; None if none does.
        exchanged_bytes_s: Bytes per second that each core reads of what another has just written;
            None if it was not measured.
    """

    busy_cores: float
    stolen_cores: float
    load_1min: float | None
    frequency_mhz: float | None
    busiest: tuple[str, ...] = ()
    gpu: GpuState | None = field(default=None, metadata={"since": 14})
    exchanged_bytes_s: float | None = field(default=None, metadata={"since": 15})


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """One tensor program of a case, as a run searched it.

    Attributes:
        name: Its name within the case.
        weight: How often the case calls it.
        flops: Floating-point operations of one call.
        sketches: A short fingerprint per sketch, in order of the design space; none if the run
            never came to it.
    """

    name: str
    weight: int
    flops: int
    sketches: tuple[str, ...]

    def __post_init__(self) -> None:
        expected = f"from 1 to {_MOST_CALLS:.0e}"
        check(1 <= self.weight <= _MOST_CALLS, "weight", self.weight, expected)
        expected = f"from 0 to {_MOST_FLOPS:.0e}"
        check(0 <= self.flops <= _MOST_FLOPS, "flops", self.flops, expected)


@dataclass(frozen=True, slots=True)
class Recording:
    """Where a run of another day comes from, that stands in for one of the session.

    Attributes:
        created: When the session that ran it began, UTC, ISO 8601.
        first_round_s: Seconds that its first round took when it was run again, with its seed, for
            the session that it stands in for: how today's machine compares.
        final: Its winner as measured at the time. The run's own `final` is the same kernel, made
            again from its schedule and measured beside the winners of today's arms.
    """

    created: str
    first_round_s: float
    final: Remeasurement | None


@dataclass(frozen=True, slots=True)
class Checked:
    """What kernels were called with, and what of that they wrote was compared.

    Attributes:
        inputs: Where they come from, e.g. `[-1, 1)`; empty if the case does not say.
        outputs: How many were compared with a reference.
        tasks: Where those of each task of a network come from; none for an operator.
    """

    inputs: str
    outputs: int
    tasks: tuple[str, ...] = field(default=(), metadata={"since": 13})


@dataclass(frozen=True, slots=True)
class Run:
    """One strategy on one case with one seed and one budget; its trajectory is its trials.

    Attributes:
        case: The case's id.
        strategy: The strategy's name.
        seed: Seed of everything random in the run.
        budget_trials: Trials the run was given.
        round_trials: Trials proposed a round.
        flops: Floating-point operations of one execution of the case.
        tasks: What was tuned; an operator has one task, a network some dozens.
        rounds: The rounds, in order.
        trials: The trials, in order of measurement.
        final: The winner measured again, if that took place.
        stopped: Why the run ended before its trials and its run time; empty if it did not.
        before: The machine when the run began; None if not recorded.
        after: The machine after the winner's final measurement; None if not recorded.
        leads: Every program that was ever the run's best, in order, measured again side by side at
            the end of the repeat with those of the other arms; of a network task by task. None if
            they were not.
        leads_s: Seconds that this took for all arms of the repeat together.
        machine: What it was measured on, a key of the result's `machines`. All arms of a repeat
            have the same one; repeats may have different ones.
        last_check: What crowned the winner of each task; None if the fastest trials won.
        caches: How the timed calls of its trials found the caches, as `EngineSettings` has it.
        schedules: Of each task the schedule that won, packed by `search.candidates.select`, and
            None if no trial of it is valid. A network's were built together at the end. None
            if not recorded.
        recorded: Where it comes from, if it was not run by this session; its rounds, trials and
            leads are as measured then.
        run_time_s: Seconds of search after which no round began; None if trials alone ended it.
        checked: What its winner was called with, and how much of its output was compared. None if
            not recorded.
        peers: Other libraries, measured in turn with its winner.
        landscape: Fingerprint of the landscape that it searched, whose latencies and seconds are
            of the day when that was recorded, and its seconds without those of the search itself;
            empty if it measured programs.
    """

    case: str
    strategy: str
    seed: int
    budget_trials: int
    round_trials: int
    flops: int
    tasks: tuple[TaskRecord, ...]
    rounds: tuple[Round, ...]
    trials: tuple[Trial, ...]
    final: Remeasurement | None = None
    stopped: str = ""
    before: MachineState | None = None
    after: MachineState | None = None
    machine: str = ""
    leads: tuple[Remeasurement, ...] | None = None
    leads_s: float = 0.0
    last_check: LastRanking | None = None
    caches: str = "warm"
    schedules: tuple[str | None, ...] | None = None
    recorded: Recording | None = None
    run_time_s: float | None = None
    checked: Checked | None = field(default=None, metadata={"since": 13})
    peers: tuple[Peer, ...] = field(default=(), metadata={"since": 14})
    landscape: str = field(default="", metadata={"since": 14})

    def __post_init__(self) -> None:
        check(1 <= self.flops <= _MOST_FLOPS, "flops", self.flops, f"from 1 to {_MOST_FLOPS:.0e}")
        check(bool(self.tasks), "tasks", self.tasks, "at least one task")
        for index, round_ in enumerate(self.rounds):
            self._check_index(f"rounds[{index}].task", round_.task, "tasks")
        if not _all_fit(self.trials, len(self.rounds)):
            for index, trial in enumerate(self.trials):
                at = f"trials[{index}]"
                known = 1 <= trial.round <= len(self.rounds)
                expected = f"one of the run's {len(self.rounds)} rounds, from 1"
                check(known, f"{at}.round", trial.round, expected)
                check(trial.index == index, f"{at}.index", trial.index, "its place, from 0")
                check_times(trial, at)
        for index, lead in enumerate(self.leads or ()):
            self._check_index(f"leads[{index}].trial", lead.trial, "trials")
        check_seconds(self, "leads_s")
        if (recorded := self.recorded) is not None:
            is_timed = bool(self.rounds) and self.rounds[0].search_s > 0.0
            check(is_timed, "rounds", self.rounds, "a first round that took time")
            fits, expected = 0.0 < recorded.first_round_s <= MOST_SECONDS, "seconds above 0"
            check(fits, "recorded.first_round_s", recorded.first_round_s, expected)
        fits = self.run_time_s is None or self.run_time_s > 0.0
        check(fits, "run_time_s", self.run_time_s, "null, or seconds above 0")
        fits = self.schedules is None or len(self.schedules) == len(self.tasks)
        expected = f"null, or one for each of the run's {len(self.tasks)} tasks"
        check(fits, "schedules", self.schedules, expected)
        for index, ranking in enumerate(self.last_check.tasks if self.last_check else ()):
            at = f"last_check.tasks[{index}]"
            self._check_index(f"{at}.task", ranking.task, "tasks")
            self._check_index(f"{at}.crowned", ranking.crowned, "trials")
            is_valid = self.trials[ranking.crowned].status == "ok"
            check(is_valid, f"{at}.crowned", ranking.crowned, "a valid trial")

    def _check_index(self, where: str, index: int | None, of: str) -> None:
        count = len(getattr(self, of))
        known = index is not None and 0 <= index < count
        check(known, where, index, f"one of the run's {count} {of}, from 0")

    @property
    def search_s(self) -> float:
        """Search time of the whole run in seconds, the last check included."""
        check_s = self.last_check.check_s if self.last_check else 0.0
        return sum(r.search_s for r in self.rounds) + check_s

    @property
    def best_trials(self) -> tuple[Trial | None, ...]:
        """Per task the trial that won; None where none is valid.

        That is the one that the last check crowned, or else the fastest valid one, the earliest
        of equals.
        """
        best: list[Trial | None] = [None] * len(self.tasks)
        best_s = [math.inf] * len(self.tasks)
        for trial in self.trials:
            latency_s, task = trial.latency_s, self.task_of(trial)
            if latency_s is not None and latency_s < best_s[task]:
                best[task], best_s[task] = trial, latency_s
        for ranking in self.last_check.tasks if self.last_check else ():
            best[ranking.task] = self.trials[ranking.crowned]
        return tuple(best)

    @property
    def estimated_s(self) -> float | None:
        """Latency of the case by its tasks: each one's best times its weight, added up.

        So do Ansor and MetaSchedule see a network
        (https://arxiv.org/abs/2006.06762, section 6.1). None while a task has no valid trial.
        """
        total_s = 0.0
        for task, trial in zip(self.tasks, self.best_trials, strict=True):
            if trial is None or trial.latency_s is None:
                return None
            total_s += task.weight * trial.latency_s
        return total_s

    def task_of(self, trial: Trial) -> int:
        """Index of the task that a trial of this run is of."""
        return self.rounds[trial.round - 1].task

    @property
    def failed_trials(self) -> int:
        """How many trials gave no latency."""
        return len(self.trials) - sum([t.status == "ok" for t in self.trials])


def check_times(trial: Trial, at: str) -> None:
    """Check the seconds of a trial, which is `at` this place of its record."""
    search_s = trial.search_s
    check(0.0 <= search_s <= MOST_SECONDS, f"{at}.search_s", search_s, SECONDS)
    check_samples(trial.status, trial.latencies_s, f"{at}.latencies_s")


def _all_fit(trials: Sequence[Trial], rounds: int) -> bool:
    """Whether all of many trials fit, told several times as fast as one by one."""
    of_rounds = [trial.round for trial in trials]
    if of_rounds and not 1 <= min(of_rounds) <= max(of_rounds) <= rounds:
        return False
    if [trial.index for trial in trials] != [*range(len(trials))]:
        return False
    times = [trial.search_s for trial in trials]
    valid = [trial.latencies_s for trial in trials if trial.status == "ok"]
    samples = list(itertools.chain.from_iterable(valid))
    total = sum(map(len, map(operator.attrgetter("latencies_s"), trials)))
    if not all(valid) or total != len(samples) or not are_latencies(samples):
        return False
    return not times or (min(times) >= 0.0 and max(times) <= MOST_SECONDS)
