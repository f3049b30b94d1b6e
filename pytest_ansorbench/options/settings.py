"""All that decides how cases are run, compared and reported, as one frozen record."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from pytest_ansorbench.budget import Budget, Trials
from pytest_ansorbench.stats.limits import Limits

CheckScope = Literal["winners", "all"]

Order = Literal["interleaved", "sequential"]
Scheduler = Literal["gradient", "round-robin"]


@dataclass(frozen=True)
class Settings:
    """All that decides how cases are run, compared and reported.

    Attributes:
        strategies: Names of the arms; the first is the reference.
        cases: Ids of the cases to run; empty for all that were collected.
        trials: Trials of one run.
        round_trials: Trials of one round; None for what `Budget` makes of it.
        scheduler: How rounds are shared out among the tasks of a network.
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
    trials: Trials = field(default=Trials(128))
    round_trials: int | None = None
    scheduler: Scheduler = "gradient"
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
    def budget(self) -> Budget:
        """Trials of a run and of a round."""
        return Budget(self.trials, self.round_trials)

    @property
    def limits(self) -> Limits:
        """Limits of figures."""
        limits = {
            "search_ratio": self.max_search_ratio,
            "throughput_ratio": self.min_throughput_ratio,
        }
        return Limits({key: limit for key, limit in limits.items() if limit is not None})

    def to_json(self) -> dict[str, Any]:
        """The settings as JSON values, for the record."""
        return {each.name: _json_value(getattr(self, each.name)) for each in fields(self)}


def _json_value(value: Any) -> Any:
    if isinstance(value, Path):
        return value.as_posix()
    if isinstance(value, Trials):
        return str(value) if value.per_task else value.number
    return [_json_value(each) for each in value] if isinstance(value, tuple) else value
