"""All that decides how cases are run, compared and reported, as one frozen record."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from pytest_ansorbench.budget import UNLIMITED_TRIALS, Budget, Trials
from pytest_ansorbench.cluster.settings import ClusterSettings
from pytest_ansorbench.measure.process_sets import ProcessSets
from pytest_ansorbench.measure.remote.settings import RemoteSettings
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.measure.toolchain import Toolchain
from pytest_ansorbench.options.declarations import OPTIONS, Option
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.limits import Allowance, Limits
from pytest_ansorbench.stats.looks import USUAL, Looks

if TYPE_CHECKING:
    from pytest_ansorbench.records import Implementation, Shard
    from pytest_ansorbench.report.render.outputs import Output
    from pytest_ansorbench.report.table import Grouping, Layout, WantedUnit

Scheduler = Literal["gradient", "balanced", "round-robin"]


@dataclass(frozen=True)
class ExperimentSettings:
    """How often and with which seeds strategies are run."""

    scheduler: Scheduler = "gradient"
    repeats: int | Looks = USUAL
    time_limit_s: float | None = None
    seed: int = 0  # of the first repeat; the others count up from it
    final_precision: float = SideBySide.precision
    final_turns: Span = SideBySide.turns
    final_sets: Span = SideBySide.sets
    final_samples: int | None = None  # None for slices
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
    """How the table looks; None for what is usual."""

    columns: tuple[str, ...] | None = None
    sort: str | None = None
    group_by: Grouping | None = None
    time_unit: WantedUnit = "auto"
    benchmark: bool = False  # whether pytest-benchmark shows its own of the same runs

    @property
    def layout(self) -> Layout:
        from pytest_ansorbench.report.table import Layout

        usual = Layout()
        return Layout(
            self.columns, self.sort or usual.sort, self.group_by or usual.group_by, self.time_unit
        )


@dataclass(frozen=True)
class FileSettings:
    """Where results are written; None for not at all."""

    json: Path | None = None
    report: tuple[Output, ...] = ()
    save: str | None = None
    autosave: bool = False
    storage: Path = field(default=Path(".ansor_bench"))
    learn: Path | None = None


@dataclass(frozen=True)
class BaselineSettings:
    """The earlier result to compare with, and what may get worse."""

    compare: str | None = None
    compare_fail: tuple[Allowance, ...] = ()  # as they were given
    any_machine: bool = False

    @property
    def allowances(self) -> tuple[Allowance, ...]:
        """The allowances of cases in force: of two on the same figure, the last counts."""
        return self._in_force(of_suite=False)

    @property
    def suite_allowances(self) -> tuple[Allowance, ...]:
        return self._in_force(of_suite=True)

    def _in_force(self, *, of_suite: bool) -> tuple[Allowance, ...]:
        given = [one for one in self.compare_fail if one.of_suite == of_suite]
        return tuple({allowance.metric: allowance for allowance in given}.values())


@dataclass(frozen=True)
class KernelSettings:
    """Kernels of a result that are made again in place of searches; None for searches."""

    result: str | None = None
    against: str | None = None  # the interpreter whose toolchain is the reference
    variants: tuple[Toolchain, ...] = ()
    sets: ProcessSets = field(default_factory=ProcessSets)


@dataclass(frozen=True)
class Settings:
    """All that decides how cases are run, compared and reported; see the options of the fields."""

    strategies: tuple[str, ...] = ("default", "optimized")  # the reference first
    cases: tuple[str, ...] = ()  # all, if none is named
    shard: Shard | None = None
    shard_by: str | None = None
    budget: Budget = field(default_factory=Budget)
    experiment: ExperimentSettings = field(default_factory=ExperimentSettings)
    target: str | None = None
    engine: EngineSettings = field(default_factory=EngineSettings)
    remote: RemoteSettings = field(default_factory=RemoteSettings)
    cluster: ClusterSettings = field(default_factory=ClusterSettings)
    criteria: Criteria = field(default_factory=lambda: Criteria(looks=USUAL))
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
    debug: bool = False

    @property
    def has_suite_gates(self) -> bool:
        return bool(self.suite_limits or self.baseline.suite_allowances)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Settings:
        """The defaults, except for some fields, by their paths, e.g. `engine.build_timeout_s`."""
        settings = cls()
        for path, value in values.items():
            settings = _with(settings, path, value)
        if settings.budget.run_time_s is not None and "budget.trials" not in values:
            settings = _with(settings, "budget.trials", Trials(UNLIMITED_TRIALS))
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


_OF_THE_SESSION: Final = ("files.", "baseline.", "table.", "kernels.", "resume", "replay", "debug")
"""Fields that say where results go and how they look, or that another session began."""


def command_line(settings: Mapping[str, Any]) -> str:
    """The command, for a POSIX shell, that runs a recorded session again.

    Keys that no option has are left out, as those of older versions; so are defaults. PYTHON stands
    for interpreters, whose paths no result tells. Empty for searches of landscapes, which were no
    session.
    """
    if "landscapes" in settings:
        return ""
    words = ["pytest", "--ansor-bench"]
    run_time_s = settings.get("run_time_s")  # with which trials have another default
    defaults = {**Settings.of({"budget.run_time_s": run_time_s}).to_json(), "run_time_s": None}
    for option in OPTIONS:
        if option.field.startswith(_OF_THE_SESSION) or option.recorded not in settings:
            continue
        value = settings[option.recorded]
        if value != defaults[option.recorded]:
            words += _words(option, value)
    return shlex.join(words)


def _words(option: Option, value: Any) -> Iterator[str]:
    if option.metavar is None:
        if value:
            yield option.flag
        return
    values = value if option.repeatable and isinstance(value, list) else [value]
    for one in values:
        yield option.flag
        if isinstance(one, list):
            yield ",".join(map(str, one))
        else:
            given = "none" if one is None else str(one)
            yield f"{given}=PYTHON" if option.field == "toolchains" else given
