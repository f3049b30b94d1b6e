"""What a benchmark leaves behind: frozen records, from one trial up to a whole result.

Every later stage (statistics, reports, files, gates) reads these and nothing else, so a
saved result holds exactly what reproduces its tables. Standard library only: analysing a
result file takes neither TVM nor pytest. `codec` turns records into JSON and back.

Units are in the names: `_s` seconds, `_gflops` 10^9 floating-point operations a second.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, get_args

SCHEMA_VERSION: Final = 5

TrialStatus = Literal[
    "ok", "build-error", "build-timeout", "run-error", "run-timeout", "wrong-result"
]
TRIAL_STATUSES: Final[tuple[str, ...]] = get_args(TrialStatus)

Outcome = Literal["holds", "broken", "undecided"]
Reason = Literal[
    "within",
    "beyond",
    "nothing-to-compare",
    "other-machine",
    "straddles",
    "within-noise",
    "chance",
]
Prospect = Literal["no-interval", "unknown", "too-close", "too-many", "settles"]
Bound = Literal["value", "at-least", "at-most", "undefined"]


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
            beside it; None if not recorded, as before schema version 2.
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

    @property
    def search_s(self) -> float:
        """Seconds of this round that count as search time."""
        return self.propose_s + self.build_s + self.run_s + self.learn_s


@dataclass(frozen=True, slots=True)
class Remeasurement:
    """A run's winner measured again in a fresh process, in turn with the other arms' winners.

    The winner of a network is the network itself, compiled with the best program of each task.

    Attributes:
        trial: Index of the winning trial; None for a network, or if there is no valid trial.
        status: Status of the re-measurement.
        latencies_s: Seconds per kernel call, one entry a sample; empty unless `ok`.
        error: First line of the failure; empty if `ok`.
    """

    trial: int | None
    status: TrialStatus
    latencies_s: tuple[float, ...]
    error: str = ""

    @property
    def latency_s(self) -> float | None:
        """Mean of the faster half of the samples, or None if the winner could not be measured.

        Other work on a machine only ever slows a kernel down, often several samples in a row,
        and a median is off as soon as that is half of them: `docs/methodology.md` has figures.
        """
        if self.status != "ok":
            return None
        fastest = sorted(self.latencies_s)[: (len(self.latencies_s) + 1) // 2]
        return statistics.fmean(fastest)

    @property
    def variation(self) -> float | None:
        """Coefficient of variation: standard deviation over mean; None below two samples."""
        if len(self.latencies_s) < 2:
            return None
        return statistics.stdev(self.latencies_s) / statistics.fmean(self.latencies_s)


@dataclass(frozen=True, slots=True)
class MachineState:
    """What else the machine was doing, observed while the bench itself was at rest.

    Attributes:
        busy_cores: Cores' worth of time that went to anything but this bench.
        stolen_cores: Cores' worth of time that a virtual machine's host gave to others.
        load_1min: The operating system's load average, the bench's own load included; None
            where there is none.
        frequency_mhz: Current clock frequency, mean over cores; None if it cannot be read.
        busiest: The processes that took most, as `name share-of-a-core`, the greatest first.
    """

    busy_cores: float
    stolen_cores: float
    load_1min: float | None
    frequency_mhz: float | None
    busiest: tuple[str, ...] = ()


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
        stopped: Why the run ended before its budget; empty if it did not.
        before: The machine when the run began; None if not recorded.
        after: The machine after the winner's final measurement; None if not recorded.
        machine: What it was measured on, a key of the result's `machines`. All arms of a repeat
            have the same one; repeats may have different ones.
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

    @property
    def search_s(self) -> float:
        """Search time of the whole run in seconds."""
        return sum(r.search_s for r in self.rounds)

    @property
    def best_trials(self) -> tuple[Trial | None, ...]:
        """Per task the fastest valid trial, the earliest of equals; None where none is valid."""
        best: list[Trial | None] = [None] * len(self.tasks)
        for trial in self.trials:
            latency_s, task = trial.latency_s, self.task_of(trial)
            so_far = best[task]
            if latency_s is not None and (so_far is None or latency_s < (so_far.latency_s or 0.0)):
                best[task] = trial
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


@dataclass(frozen=True, slots=True)
class Estimate:
    """A ratio with its interval, or a bound where censoring leaves no number.

    Attributes:
        value: The point estimate, or the bound.
        low: Lower end of the interval.
        high: Upper end of the interval; infinity if the data sets no upper end.
        bound: `value` for an estimate; `at-least` / `at-most` if one side never reached the
            target, so `value` is only a bound; `undefined` if there was nothing to compare.
    """

    value: float
    low: float
    high: float
    bound: Bound = "value"


@dataclass(frozen=True, slots=True)
class ArmSummary:
    """One arm of a comparison over all its seeds.

    Attributes:
        strategy: The strategy's name.
        runs: Number of runs.
        reached: How many of them reached the fixed target.
        trials: Trials measured, all runs together.
        failed_trials: Of these, how many failed, whatever the reason.
        search_s: Mean search time of a run in seconds.
        propose_s: Of that, choosing candidates.
        build_s: Of that, compiling.
        run_s: Of that, measuring.
        learn_s: Of that, updating models and policies.
        time_to_target_s: Expected search time until the fixed target is reached (ERT);
            infinity if no run reached it.
        trials_to_target: The same in trials.
        throughput_gflops: Geometric mean over the seeds of the winners' re-measured
            throughput; 0 if there is none.
    """

    strategy: str
    runs: int
    reached: int
    trials: int
    failed_trials: int
    search_s: float
    propose_s: float
    build_s: float
    run_s: float
    learn_s: float
    time_to_target_s: float
    trials_to_target: float
    throughput_gflops: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """A challenger against the reference arm on one case.

    Attributes:
        case: The case's id.
        target_gflops: The fixed target that S and S_trials are counted to.
        reference: The arm compared against.
        challenger: The arm under test.
        search_ratio: S, expected time to the fixed target, challenger over reference.
        search_ratio_paper: S_paper, where each reference run's own best is the target.
        search_ratio_trials: S_trials, S counted in trials.
        throughput_ratio: Final throughput, challenger over reference.
    """

    case: str
    target_gflops: float
    reference: ArmSummary
    challenger: ArmSummary
    search_ratio: Estimate
    search_ratio_paper: Estimate
    search_ratio_trials: Estimate
    throughput_ratio: Estimate


@dataclass(frozen=True, slots=True)
class Advice:
    """The effect that an undecided gate's repeats could show, and how many would settle it.

    Attributes:
        prospect: The use of more repeats. `no-interval`: there are fewer than three, and no
            interval to speak of. `unknown`: they narrow the interval, by how much cannot be
            told. `too-close`: no number settles a figure between limit and noise threshold.
            `too-many`: it would take more than anybody runs. `settles`: `repeats_needed` do.
        detectable: The true figure that these repeats show to hold with a chance of 80%; None
            if too little is known.
        repeats_needed: Repeats that settle the gate with a chance of 80%, if the true figure
            is the one that was seen; None unless `settles`.
    """

    prospect: Prospect
    detectable: float | None = None
    repeats_needed: int | None = None


@dataclass(frozen=True, slots=True)
class Gate:
    """One limit and how a figure stands to it.

    Attributes:
        metric: The figure, e.g. `search_ratio` or `throughput_ratio`.
        limit: The worst value that is good enough: the largest search ratio, the smallest
            throughput ratio.
        outcome: `holds`, `broken` or `undecided`.
        reason: Why. It holds `within` the limit. It is broken `beyond` limit, noise and chance,
            or because there was `nothing-to-compare`, or nothing but figures of an
            `other-machine`. It is undecided if its interval `straddles` the limit or is beyond
            it `within-noise`, or if `chance` may have done it.
        estimate: The figure with its interval.
        repeats: Seeds that it stands on.
        noise: Share by which the figure may miss its limit without being called broken.
        family: How many gates were judged together, over which false alarms are shared out.
        p_value: Probability to see a figure this bad by chance if it were exactly good
            enough; None where the interval made the question idle.
        advice: The use of more repeats; None unless undecided.
    """

    metric: str
    limit: float
    outcome: Outcome
    reason: Reason
    estimate: Estimate
    repeats: int
    noise: float
    family: int = 1
    p_value: float | None = None
    advice: Advice | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A comparison with its gates; `outcome` is the worst of them, None without gates."""

    comparison: Comparison
    gates: tuple[Gate, ...] = ()

    @property
    def outcome(self) -> Outcome | None:
        """`broken` if any gate is, else `undecided` if any is, else `holds`."""
        outcomes = {gate.outcome for gate in self.gates}
        for outcome in ("broken", "undecided", "holds"):
            if outcome in outcomes:
                return outcome
        return None


@dataclass(frozen=True, slots=True)
class CaseResult:
    """All that was measured on one case: every arm's runs, and the verdicts over them.

    Attributes:
        case: The case's id.
        strategies: Names of the arms; the first is the reference.
        runs: Every run of every arm.
        verdicts: One per challenger, in order of `strategies`.
        version: A hash of the case's programs: other versions of a case are other cases.
            Empty if not recorded.
        control: The arm that is the reference over again; None if there is none.
    """

    case: str
    strategies: tuple[str, ...]
    runs: tuple[Run, ...]
    verdicts: tuple[Verdict, ...]
    version: str = ""
    control: str | None = None

    @property
    def machines(self) -> tuple[str, ...]:
        """Fingerprints of the machines that its runs were measured on, in order of appearance."""
        return tuple(dict.fromkeys(run.machine for run in self.runs))

    def runs_of(self, strategy: str) -> tuple[Run, ...]:
        """The runs of one arm."""
        return tuple(run for run in self.runs if run.strategy == strategy)


@dataclass(frozen=True, slots=True)
class Result:
    """A whole session, as `--ansor-json` and `--ansor-save` write it.

    Attributes:
        schema_version: Version of this layout.
        created: UTC time of the session's start, ISO 8601.
        machines: By fingerprint, the machines that cases were measured on: hardware, operating
            system and versions of the tools that decide a result.
        commit: State of the working tree, as pytest-benchmark records it.
        settings: The settings the session ran under.
        cases: Results in order of execution.
    """

    schema_version: int
    created: str
    machines: Mapping[str, Any]
    commit: Mapping[str, Any]
    settings: Mapping[str, Any]
    cases: tuple[CaseResult, ...]
