"""All that decides how cases are run, compared and reported, as one frozen record."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

CheckScope = Literal["winners", "all"]

#: MetaSchedule's own `num_trials_per_iter`.
STOCK_ROUND_TRIALS: Final = 64
#: Rounds that a small budget is divided into, so that every strategy gets to learn.
ROUNDS_OF_SMALL_BUDGET: Final = 8

Order = Literal["interleaved", "sequential"]


@dataclass(frozen=True)
class Settings:
    """All that decides how cases are run, compared and reported.

    Attributes:
        strategies: Names of the arms; the first is the reference.
        cases: Ids of the cases to run; empty for all that were collected.
        trials: Trials of one run.
        round_trials: Trials of one round; None for 64, or an eighth of a smaller budget.
        repeats: Runs of each strategy, each with a seed of its own.
        seed: Seed of the first repeat; the others count up from it.
        order: Whether arms take turns by rounds or by whole runs.
        target: TVM target as JSON or kind, None for this machine's CPU.
        build_workers: Candidates that compile at a time; None for one per core.
        build_timeout_s: Seconds a candidate may take to compile.
        run_timeout_s: Seconds a candidate may take to be measured.
        memory_limit_mb: Megabytes a candidate may allocate, compiling and running.
        check: Which candidates' outputs are compared with the reference.
        flush_cache_mb: Megabytes to copy before each call, timed alone; 0 for warm caches.
        cores: Cores to build and run on; None for no pinning.
        final_samples: Samples of each winner's final measurement.
        goal: What S counts the time to, as `stats.Goal` parses it.
        tolerance: Share of throughput that a target stays below what it is derived from.
        confidence: Confidence level of intervals.
        noise: Share by which a figure may miss its limit without being broken.
        false_alarms: Chance that a session fails though everything is as good as its limit.
        max_search_ratio: Gate: largest allowed S; None for no gate.
        min_throughput_ratio: Gate: smallest allowed throughput ratio; None for no gate.
        control: Whether the reference is run a second time, as a control.
        strict: Whether an undecided gate fails its test.
        columns: Columns of the table; None for the usual ones.
        sort: What the table's cases are sorted by; None for the order of execution.
        json: File to write the result to; None for none.
        save: Name to store the result under; None for not at all.
        autosave: Whether to store the result under commit and time.
        storage: Folder for stored results and journals.
        compare: Stored result to compare with; None for none.
        compare_fail: By how much figures may get worse, as `stats.Allowance` parses them.
        any_machine: Whether seconds are compared with those of other machines too.
        resume: Journal to go on from; None for a new one.
        replay: Result files to take the runs from; empty for live searches.
    """

    strategies: tuple[str, ...] = ("default", "optimized")
    cases: tuple[str, ...] = ()
    trials: int = 128
    round_trials: int | None = None
    repeats: int = 5
    seed: int = 0
    order: Order = "interleaved"
    target: str | None = None
    build_workers: int | None = None
    build_timeout_s: float = 30.0
    run_timeout_s: float = 30.0
    memory_limit_mb: int = 4096
    check: CheckScope = "winners"
    flush_cache_mb: int = 0
    cores: tuple[int, ...] | None = None
    final_samples: int = 10
    goal: str = "median"
    tolerance: float = 0.01
    confidence: float = 0.95
    noise: float = 0.01
    false_alarms: float = 0.01
    max_search_ratio: float | None = None
    min_throughput_ratio: float | None = None
    control: bool = False
    strict: bool = False
    columns: tuple[str, ...] | None = None
    sort: str | None = None
    json: Path | None = None
    save: str | None = None
    autosave: bool = False
    storage: Path = field(default=Path(".ansor_bench"))
    compare: str | None = None
    compare_fail: tuple[str, ...] = ()
    any_machine: bool = False
    resume: str | None = None
    replay: tuple[Path, ...] = ()

    @property
    def trials_per_round(self) -> int:
        """Trials of one round, with the default worked out."""
        if self.round_trials is not None:
            return self.round_trials
        return min(STOCK_ROUND_TRIALS, max(1, self.trials // ROUNDS_OF_SMALL_BUDGET))

    def to_json(self) -> dict[str, Any]:
        """The settings as JSON values, for the record."""
        return {key: _json_value(value) for key, value in asdict(self).items()}


def _json_value(value: Any) -> Any:
    if isinstance(value, Path):
        return value.as_posix()
    return [_json_value(each) for each in value] if isinstance(value, tuple) else value
