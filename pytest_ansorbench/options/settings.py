"""All that decides how cases are run, compared and reported, as one frozen record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_ansorbench.budget import Budget, Trials
from pytest_ansorbench.cluster.settings import ClusterSettings
from pytest_ansorbench.measure.remote.settings import RemoteSettings
from pytest_ansorbench.measure.rounds import Rounds
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.measure.toolchain import Toolchain
from pytest_ansorbench.options.declarations import OPTIONS
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.limits import Allowance, Limits
from pytest_ansorbench.stats.looks import Looks

if TYPE_CHECKING:
    from pytest_ansorbench.records import Implementation, Shard
    from pytest_ansorbench.report import Grouping, Layout, Output, WantedUnit

Order = Literal["interleaved", "sequential"]
Scheduler = Literal["gradient", "round-robin", "predicted-gain"]


@dataclass(frozen=True)
class ExperimentSettings:
    """How often, in which order and with which seeds strategies are run.

    Attributes:
        scheduler: How rounds are shared out among the tasks of a network.
        repeats: Runs of each strategy, each with a seed of its own; or as many as gates need.
        time_limit_s: When the last repeat should be over, from the start on; None for no limit.
        seed: Seed of the first repeat; the others count up from it.
        order: Whether arms take turns by rounds or by whole runs.
        final_precision: Half the width of the intervals at which final measurements are precise
            enough, as a share.
        final_turns: Slices of each winner in one set of processes.
        final_sets: Sets of fresh processes of a final measurement.
        final_samples: Samples of 100 ms of each winner, instead of slices; None for slices.
        noise_check_s: Seconds of a look at how steady the machine is, at a session's start and
            end; 0 for none.
        roofline: Whether kernels are held against what the machine can do at most.
        reference_kernels: Other implementations that they are held against.
    """

    scheduler: Scheduler = "gradient"
    repeats: int | Looks = 5
    time_limit_s: float | None = None
    seed: int = 0
    order: Order = "interleaved"
    final_precision: float = SideBySide.precision
    final_turns: Span = SideBySide.turns
    final_sets: Span = SideBySide.sets
    final_samples: int | None = None
    noise_check_s: float = 2.0
    roofline: bool = False
    reference_kernels: tuple[Implementation, ...] = ()

    @property
    def final(self) -> SideBySide:
        """How winners are measured against each other."""
        if self.final_samples is not None:
            return SideBySide.of_samples(self.final_samples)
        return SideBySide(
            precision=self.final_precision, turns=self.final_turns, sets=self.final_sets
        )


@dataclass(frozen=True)
class TableSettings:
    """How the table looks.

    Attributes:
        columns: Keys of its columns; None for the usual ones.
        sort: Key that its cases are sorted by; None for the order of execution.
        group_by: Which of its rows stand together; None for those of a case.
        time_unit: What its times are told in.
        benchmark: Whether pytest-benchmark shows its own of the same runs.
    """

    columns: tuple[str, ...] | None = None
    sort: str | None = None
    group_by: Grouping | None = None
    time_unit: WantedUnit = "auto"
    benchmark: bool = False

    @property
    def layout(self) -> Layout:
        """The same, with what is usual where nothing was asked for."""
        from pytest_ansorbench.report import Layout

        usual = Layout()
        return Layout(
            self.columns, self.sort or usual.sort, self.group_by or usual.group_by, self.time_unit
        )


@dataclass(frozen=True)
class FileSettings:
    """Where results are written.

    Attributes:
        json: File to write the result to; None for none.
        report: Formats and files of reports at the end of the session.
        github: Whether a step of GitHub Actions gets a summary.
        save: Name to store the result under; None for not at all.
        autosave: Whether to store the result under commit and time.
        storage: Folder for stored results and journals.
        learn: Folder that measured programs are added to, for the user's own model; None for
            none.
    """

    json: Path | None = None
    report: tuple[Output, ...] = ()
    github: Literal["auto", "off"] = "auto"
    save: str | None = None
    autosave: bool = False
    storage: Path = field(default=Path(".ansor_bench"))
    learn: Path | None = None


@dataclass(frozen=True)
class BaselineSettings:
    """The earlier result to compare with, and what may get worse.

    Attributes:
        compare: Name, number or path of the result; None for none.
        compare_fail: By how much figures may get worse, as they were given.
        any_machine: Whether seconds are compared with those of other machines too.
    """

    compare: str | None = None
    compare_fail: tuple[Allowance, ...] = ()
    any_machine: bool = False

    @property
    def allowances(self) -> tuple[Allowance, ...]:
        """The allowances of cases in force: of two on the same figure, the last counts."""
        return self._in_force(of_suite=False)

    @property
    def suite_allowances(self) -> tuple[Allowance, ...]:
        """Those of all cases together."""
        return self._in_force(of_suite=True)

    def _in_force(self, *, of_suite: bool) -> tuple[Allowance, ...]:
        given = [one for one in self.compare_fail if one.of_suite == of_suite]
        return tuple({allowance.metric: allowance for allowance in given}.values())


@dataclass(frozen=True)
class KernelSettings:
    """Kernels of a result that are made again in place of searches.

    Attributes:
        result: Name, number or path of the result; None for searches.
        against: Interpreter whose toolchain is the reference; None for recorded latencies, or with
            variants for today's toolchain.
        variants: Other ways to compile than today's.
        rounds: Sets of processes that each kernel is measured in.
    """

    result: str | None = None
    against: str | None = None
    variants: tuple[Toolchain, ...] = ()
    rounds: Rounds = field(default_factory=Rounds)


@dataclass(frozen=True)
class Settings:
    """All that decides how cases are run, compared and reported.

    Attributes:
        strategies: Names of the arms; the first is the reference.
        cases: Ids of the cases to run; empty for all that were collected.
        shard: Which part of the session to run; None for all of it.
        shard_by: Name, number or path of a result whose seconds balance the parts; None for trials.
        budget: Trials of a run and of a round.
        experiment: How often, in which order and with which seeds strategies are run.
        target: TVM target as JSON or kind, None for this machine's CPU.
        engine: How candidates are built and run.
        remote: Where they are run, if not here.
        cluster: Whose workers carry repeats out, if not this process.
        criteria: How runs are compared and judged.
        limits: Limits of figures.
        suite_limits: Limits of figures over all cases.
        control: Whether the reference is run a second time, as a control.
        strict: Whether an undecided gate fails its test.
        table: How the table looks.
        files: Where results are written.
        baseline: The earlier result to compare with.
        resume: Journal to go on from; None for a new one.
        replay: Result files to take the runs from; empty for live searches.
        kernels: Kernels to make again in place of searches.
        reference: Name, number or path of an earlier result whose runs of the reference are used
            again; None for new runs.
        toolchains: Other interpreters that arms such as `default@old` are searched by.
    """

    strategies: tuple[str, ...] = ("default", "optimized")
    cases: tuple[str, ...] = ()
    shard: Shard | None = None
    shard_by: str | None = None
    budget: Budget = field(default_factory=Budget)
    experiment: ExperimentSettings = field(default_factory=ExperimentSettings)
    target: str | None = None
    engine: EngineSettings = field(default_factory=EngineSettings)
    remote: RemoteSettings = field(default_factory=RemoteSettings)
    cluster: ClusterSettings = field(default_factory=ClusterSettings)
    criteria: Criteria = field(default_factory=Criteria)
    limits: Limits = field(default_factory=Limits)
    suite_limits: Limits = field(default_factory=Limits)
    control: bool = False
    strict: bool = False
    table: TableSettings = field(default_factory=TableSettings)
    files: FileSettings = field(default_factory=FileSettings)
    baseline: BaselineSettings = field(default_factory=BaselineSettings)
    resume: str | None = None
    replay: tuple[Path, ...] = ()
    kernels: KernelSettings = field(default_factory=KernelSettings)
    reference: str | None = None
    toolchains: tuple[Toolchain, ...] = ()

    @property
    def has_suite_gates(self) -> bool:
        """Whether the session has a gate on all cases together."""
        return bool(self.suite_limits or self.baseline.suite_allowances)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Settings:
        """The defaults, except for some fields.

        Args:
            values: By path of the field, e.g. `engine.build_timeout_s`.
        """
        settings = cls()
        for path, value in values.items():
            settings = _with(settings, path, value)
        repeats = settings.experiment.repeats
        looks = repeats if isinstance(repeats, Looks) else None
        return replace(settings, criteria=replace(settings.criteria, looks=looks))

    def to_json(self) -> dict[str, Any]:
        """The settings as flat JSON values, for the record."""
        return {option.recorded: _json_value(value_at(self, option.field)) for option in OPTIONS}


def value_at(record: Any, path: str) -> Any:
    """The value of a field by its path, e.g. `engine.build_timeout_s`; None for no limit."""
    name, _, rest = path.partition(".")
    value = record.get(name) if isinstance(record, Limits) else getattr(record, name)
    return value_at(value, rest) if rest else value


def _with(record: Any, path: str, value: Any) -> Any:
    """The record with another value of a field."""
    if isinstance(record, Limits):
        others = {key: limit for key, limit in record.items() if key != path}
        return Limits(others if value is None else {**others, path: value})
    name, _, rest = path.partition(".")
    changed = _with(getattr(record, name), rest, value) if rest else value
    return replace(record, **{name: changed})


def _json_value(value: Any) -> Any:
    if isinstance(value, Path):
        return value.as_posix()
    if isinstance(value, Trials):
        return str(value) if value.per_task else value.number
    if isinstance(value, tuple):
        return [_json_value(item) for item in value]
    return value if isinstance(value, str | int | float | None) else str(value)
