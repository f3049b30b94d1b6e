"""Every option, declared once: flag, ini twin, marker keyword, parser, field, help and default.

pytest asks for all of them at the start of every session, with `--ansor-bench` or without. So
this module imports none of the records that the options set: a parser does when it is called, and
a default is told here as users type it (a test compares it with the record that has it). Options of
limits come from the table of figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.options import values
from pytest_ansorbench.stats.figures import FIGURES, Figure

if TYPE_CHECKING:
    import pytest

NEWEST: Final = "newest"
"""Meaning of `--ansor-compare` and `--ansor-resume` without a value."""
TUNING_TRIALS: Final = "64/task"
"""Of `tune`, unless trials or a time limit are given."""
TUNING_STRATEGY: Final = "draft+transfer"
"""That `tune` searches with."""
TUNING_REWRITE: Final = "fast-math"
"""What becomes of a model before `tune` searches."""


@dataclass(frozen=True)
class Option:
    """One setting as users give it.

    Attributes:
        field: The field of `Settings` that it sets, by its path, e.g. `engine.check`.
        usage: The flag as help shows it, without its prefix: `build-timeout SECONDS`, or `strict`
            for one without a value.
        help: Its effect, without the default.
        parse: Turns what the user gave into the field's value, or raises ValueError with a
            message that says what was expected.
        default: The default as users type it, or in words; empty if there is nothing to say of it.
        per_test: Whether the marker takes it.
        bare: Value of the flag without a value; None if it needs one.
        repeatable: Whether the flag may be given several times.
        record_as: Its key in recorded settings, if that is not the field's name.
    """

    field: str
    usage: str
    help: str
    parse: Callable[[object], Any] = values.yes_or_no
    default: str = ""
    per_test: bool = False
    bare: str | None = None
    repeatable: bool = False
    record_as: str = ""

    @property
    def flag(self) -> str:
        return f"--ansor-{self.usage.partition(' ')[0]}"

    @property
    def keyword(self) -> str:
        """In the marker."""
        return self.usage.partition(" ")[0].replace("-", "_")

    @property
    def metavar(self) -> str | None:
        """Placeholder of the value; None for a flag without one."""
        return self.usage.partition(" ")[2] or None

    @property
    def ini(self) -> str:
        """In the ini file, and in pytest's option namespace."""
        return f"ansor_{self.keyword}"

    @property
    def recorded(self) -> str:
        """In the settings that a result records."""
        return self.record_as or self.field.rpartition(".")[2]

    @property
    def help_text(self) -> str:
        return f"{self.help} (default: {self.default})" if self.default else self.help


def limit_options(figures: Iterable[Figure]) -> tuple[Option, ...]:
    """The options of the limits that figures can have."""
    return tuple(
        Option(
            f"limits.{figure.key}",
            f"{figure.limit_word} RATIO",
            f"gate: fail if the {figure.name} is {_worse(figure)} this; none takes a marker's gate "
            "away",
            values.limit,
            default="no gate",
            per_test=True,
            record_as=figure.limit_word.replace("-", "_"),
        )
        for figure in figures
        if figure.limit_word and figure.per_case
    )


def suite_limit_options(figures: Iterable[Figure]) -> tuple[Option, ...]:
    """The options of the limits that figures can have over all cases."""
    return tuple(
        Option(
            f"suite_limits.{figure.key}",
            f"{figure.suite_word} RATIO",
            f"gate of all cases together, a test of its own: fail if their {figure.name} is "
            f"{_worse(figure)} this",
            values.limit,
            default="no gate",
            record_as=figure.suite_keyword,
        )
        for figure in figures
        if figure.suite_word
    )


def _worse(figure: Figure) -> str:
    return "above" if figure.sense == "smaller" else "below"


LIMIT_OPTIONS: Final = limit_options(FIGURES.values())

OPTIONS: Final = (
    Option(
        "strategies",
        "strategy NAME,NAME",
        "strategies to run, the reference first",
        values.words,
        default="default,optimized",
        per_test=True,
    ),
    Option("cases", "case ID,ID", "run only the cases with these ids", values.ids, default="all"),
    Option(
        "shard",
        "shard I/N",
        "run only shard I of N, by cases and repeats; no gate fails a test: ansor-bench merge "
        "judges all shards together",
        values.by("records", "Shard.parse"),
    ),
    Option(
        "shard_by",
        "shard-by RESULT",
        "with --ansor-shard: balance shards by the seconds that cases took in this result, by "
        "name, number or path; give all shards the same",
        values.text("main"),
        default="trials",
    ),
    Option(
        "budget.trials",
        "trials N[/task]",
        "trials of a run, or e.g. 16/task for 16 per task of a network",
        values.by("budget", "Trials.parse"),
        default="128",
        per_test=True,
    ),
    Option(
        "budget.run_time_s",
        "run-time TIME",
        "search time of a run, after which it begins no round, e.g. 60s; trials end it before if "
        "they are given too",
        values.duration,
        default="none",
        per_test=True,
    ),
    Option(
        "budget.round_trials",
        "round N",
        "trials of one round",
        values.whole_number(1, 16),
        default="64, at most an eighth of the budget; for a network half of a task's share",
        per_test=True,
    ),
    Option(
        "experiment.scheduler",
        "scheduler gradient|balanced|round-robin",
        "which task of a network comes next: the steepest curve, the same with half of the mean "
        "rounds for each at least, or each in turn; a strategy may have its own",
        values.choice("gradient", "balanced", "round-robin"),
        default="gradient, or balanced for ansor-bench tune",
        per_test=True,
    ),
    Option(
        "experiment.repeats",
        "repeats N|N+MORE|LEAST:MOST",
        "runs of each strategy, one seed each; 5+10 repeats 5 times, and up to 10 times more "
        "while a gate may yet be broken; auto, auto:12 or 3:12 until gates are settled, at least "
        "and at most so often",
        values.repeats,
        default="5+10",
        per_test=True,
    ),
    Option(
        "experiment.time_limit_s",
        "time-limit TIME",
        "begin no repeat that would end later than this after the start, except the first of "
        "a case, e.g. 45m, 2h or 900 for seconds",
        values.duration,
        default="none",
    ),
    Option(
        "experiment.seed",
        "seed N",
        "seed of the first repeat",
        values.whole_number(0, 0),
        default="0",
    ),
    Option(
        "experiment.noise_check_s",
        "noise-check SECONDS",
        "seconds to measure the machine's noise, before the first search and at the end; 0 "
        "for none",
        values.not_negative,
        default="2",
    ),
    Option(
        "experiment.roofline",
        "roofline",
        "measure the machine's peak and show how much of it kernels reach",
    ),
    Option(
        "experiment.reference_kernels",
        "reference-kernels LIBRARY,LIBRARY",
        "baselines to compare kernels with: torch, torch-compile, onnxruntime, openvino and numpy "
        "take turns with the winners; untuned is TVM without a schedule, first the first candidate "
        "of its rules",
        values.implementations,
        default="none",
    ),
    Option(
        "target",
        "target TARGET",
        "TVM target, LLVM or CUDA, as JSON or a name",
        values.text('\'{"kind": "llvm", "mcpu": "znver4", "num-cores": 2}\''),
        default="this machine's CPU",
    ),
    Option(
        "remote.tracker",
        "rpc HOST:PORT:KEY",
        "measure on a device of this TVM tracker, for its --ansor-target; programs are "
        "compiled here. Whoever reaches a server can run code there: see docs/machines.md",
        values.by("measure.remote.settings", "DeviceAddress.parse_tracker"),
        default="this machine",
        record_as="rpc",
    ),
    Option(
        "remote.server",
        "rpc-server HOST:PORT",
        "measure on the device whose RPC server listens here, without a tracker",
        values.by("measure.remote.settings", "DeviceAddress.parse_server"),
        default="this machine",
        record_as="rpc_server",
    ),
    Option(
        "remote.linker",
        "linker COMMAND",
        "command of a C compiler that links shared libraries for the device",
        values.text("aarch64-linux-gnu-gcc"),
        default="cc, or for another architecture that of its triple",
    ),
    Option(
        "remote.patience_s",
        "rpc-wait SECONDS",
        "seconds to wait for a device that is free",
        values.positive,
        default="60",
        record_as="rpc_wait_s",
    ),
    Option(
        "cluster.address",
        "cluster HOST:PORT|local:N",
        "have repeats carried out by the workers of this Dask scheduler that declare the "
        "resource ansor_bench=1, or by N workers started here. Schedulers and workers run "
        "what they are sent: see docs/machines.md",
        values.by("cluster.settings", "ClusterAddress.parse"),
        default="this process",
        record_as="cluster",
    ),
    Option(
        "cluster.patience_s",
        "cluster-wait SECONDS",
        "seconds to wait for a scheduler, and for a worker that fits",
        values.positive,
        default="60",
        record_as="cluster_wait_s",
    ),
    Option(
        "engine.build_workers",
        "build-workers N",
        "candidates that compile at a time",
        values.whole_number(1, 2),
        default="one per core",
    ),
    Option(
        "engine.build_timeout_s",
        "build-timeout SECONDS",
        "seconds a candidate may take to compile, at most: draft gives up sooner",
        values.positive,
        default="30",
    ),
    Option(
        "engine.run_timeout_s",
        "run-timeout SECONDS",
        "seconds a candidate may take to be measured",
        values.positive,
        default="30",
    ),
    Option(
        "engine.memory_limit_mb",
        "memory-limit MB",
        "megabytes a candidate may allocate, compiling and running",
        values.whole_number(1, 4096),
        default="4096",
    ),
    Option(
        "engine.check",
        "check winners|all",
        "check the output of each candidate that would be the best so far, or of all",
        values.choice("winners", "all"),
        default="winners",
    ),
    Option(
        "engine.caches",
        "caches warm|cold|network",
        "state of the caches before a timed call: after calls on the same arguments, emptied, "
        "or as in the network around a task",
        values.choice("warm", "cold", "network"),
        default="warm, or cold with --ansor-flush-cache; ansor-bench tune takes network for "
        "networks on CPUs that are no RPC device's",
    ),
    Option(
        "engine.flush_cache_mb",
        "flush-cache MB",
        "megabytes to copy before each timed call, to empty the caches",
        values.whole_number(0, 64),
        default="0, or 64 with --ansor-caches cold",
    ),
    Option(
        "engine.cores",
        "cores N,N",
        "cores to build and run on, each kernel thread pinned to one of its own",
        values.cores,
        default="one CPU of each usable core, or TVM's own placement",
    ),
    Option(
        "experiment.final_precision",
        "final-precision SHARE",
        "measure winners side by side until the ratio of their latencies is known to this "
        "much either way, e.g. 0.5%",
        values.precision,
        default="0.005",
        per_test=True,
    ),
    Option(
        "experiment.final_turns",
        "final-turns LEAST:MOST",
        "slices of each winner in one set of processes, at least and at most",
        values.by("measure.side_by_side", "Span.parse"),
        default="15:60",
        per_test=True,
    ),
    Option(
        "experiment.final_sets",
        "final-sets LEAST:MOST",
        "sets of fresh processes in which winners are measured, at least and at most",
        values.by("measure.side_by_side", "Span.parse"),
        default="4:8",
        per_test=True,
    ),
    Option(
        "experiment.final_samples",
        "final-samples N",
        "measure winners in samples of 100 ms with rests between them, instead of slices",
        values.whole_number(1, 10),
        default="slices",
        per_test=True,
    ),
    Option(
        "criteria.goal",
        "goal GOAL",
        "targets that S counts the time to: way:80% for all from 80% of the reference's gain to "
        "its end, or one target: a share of that gain such as 90%, or GFLOP/s such as 200",
        values.by("stats.goal", "Goal.parse"),
        default="way:60%",
    ),
    Option(
        "criteria.tolerance",
        "tolerance SHARE",
        "share of throughput that still counts as the same",
        values.share,
        default="0.01",
    ),
    Option(
        "criteria.progress",
        "progress confirmed|believed",
        "what S, targets and curves count: progress as measured again at the end of the "
        "repeat, or as the search saw it",
        values.choice("confirmed", "believed"),
        default="confirmed",
    ),
    Option(
        "criteria.confidence",
        "confidence LEVEL",
        "confidence level of intervals",
        values.level,
        default="0.95",
    ),
    Option(
        "criteria.noise",
        "noise SHARE",
        "share by which a figure may miss its limit without failing a test",
        values.share,
        default="0.01",
    ),
    Option(
        "criteria.false_alarms",
        "false-alarms CHANCE",
        "chance that a session fails in which everything is as good as its limit",
        values.level,
        default="0.01",
    ),
    *LIMIT_OPTIONS,
    *suite_limit_options(FIGURES.values()),
    Option(
        "control",
        "control",
        "run the reference a second time, as if it were a challenger: its difference is noise",
    ),
    Option("strict", "strict", "fail a test whose gate is undecided", per_test=True),
    Option(
        "table.columns",
        "columns NAME,NAME",
        "columns of the table; an unknown name makes it list all",
        values.by("report.columns", "parse_columns"),
        default="the usual ten",
    ),
    Option(
        "table.sort",
        "sort NAME",
        "what to sort cases by",
        values.by("report.table", "parse_sort"),
        default="order of execution",
    ),
    Option(
        "table.group_by",
        "group-by case|family|network|strategy",
        "which rows of the table stand together, with their sums: those of a case, a family "
        "(an operator or a network), a network, or a strategy",
        values.by("report.table", "parse_grouping"),
        default="`case`",
    ),
    Option(
        "table.time_unit",
        "time-unit auto|s|ms|us",
        "unit of the times in the table; auto for that in which the longest is at least 1",
        values.by("report.table", "parse_time_unit"),
        default="auto",
    ),
    Option(
        "table.benchmark",
        "benchmark-table",
        "let pytest-benchmark show its table of the same runs as well",
    ),
    Option(
        "files.json",
        "json PATH",
        "write the whole result to this file, compressed if its name ends in .gz",
        values.path,
    ),
    Option(
        "files.report",
        "report FORMAT[:PATH]",
        "write a whole report at the end, as markdown, html, csv, json or latex, below the "
        "table or to a file, e.g. html:pr.html; may be given several times",
        values.outputs,
        repeatable=True,
    ),
    Option("files.save", "save NAME", "store the result under this name", values.text("main")),
    Option("files.autosave", "autosave", "store the result under the commit's id and the time"),
    Option(
        "files.storage",
        "storage DIR",
        "folder for stored results and journals",
        values.path,
        default=".ansor_bench",
    ),
    Option(
        "files.learn",
        "learn DIR",
        "add all measured programs to this folder, and train the models in it that "
        "draft+transfer begins with",
        values.path,
        default="not at all",
    ),
    Option(
        "baseline.compare",
        "compare NAME|NUM|PATH",
        "compare with a stored result, by name or number, or with a result file; without a "
        "value with the newest stored one",
        values.text("main"),
        bare=NEWEST,
    ),
    Option(
        "baseline.compare_fail",
        "compare-fail METRIC:LIMIT",
        "fail a test whose figure got worse since --ansor-compare by more than this, e.g. "
        "throughput_ratio:3%, or suite_search_ratio:5% for all cases together; may be given "
        "several times",
        values.allowances,
        per_test=True,
        repeatable=True,
    ),
    Option(
        "baseline.any_machine",
        "any-machine",
        "compare seconds and GFLOP/s with results of other machines too",
    ),
    Option(
        "resume",
        "resume RUN",
        "continue an interrupted session, by the number or path of its journal; without a "
        "value the newest unfinished one",
        values.text("0007"),
        bare=NEWEST,
    ),
    Option(
        "replay",
        "replay PATH",
        "run no search; judge the runs of this result file by today's settings; may be given "
        "several times",
        values.paths,
        repeatable=True,
    ),
    Option(
        "reference",
        "reference RESULT",
        "use the reference's runs of this result, by name, number or path, where case, "
        "budget, settings, machine and packages are the same; only their first rounds are run "
        "again",
        values.text("0007"),
    ),
    Option(
        "toolchains",
        "toolchain NAME=PYTHON",
        "interpreter of another environment with pytest-ansorbench; its TVM searches the arm "
        "STRATEGY@NAME; may be given several times",
        values.toolchains("parse_interpreter", "NAME=PATH, e.g. old=.venv-old/bin/python"),
        repeatable=True,
    ),
    Option(
        "kernels.result",
        "kernels RESULT",
        "run no search; rebuild the kernels of this result with today's toolchain and judge "
        "their throughput ratios; by name, number or path",
        values.text("0007"),
        record_as="kernels",
    ),
    Option(
        "kernels.against",
        "against PYTHON",
        "with --ansor-kernels: interpreter of another environment with pytest-ansorbench, "
        "whose TVM builds the reference; without it recorded latencies of the same machine and "
        "caches are the reference",
        values.text(".venv-main/bin/python"),
    ),
    Option(
        "kernels.variants",
        "variant NAME:KEY=VALUE,...",
        "with --ansor-kernels: compile in another way as well; a key with a dot is an option "
        "of TVM's PassContext, any other an attribute of the target, e.g. "
        "avx2:mcpu=x86-64-v3; may be given several times",
        values.toolchains("parse_variant", "NAME:KEY=VALUE,..., e.g. avx2:mcpu=x86-64-v3"),
        repeatable=True,
    ),
    Option(
        "kernels.sets",
        "kernel-sets N|auto",
        "with --ansor-kernels: sets of fresh processes for each kernel; auto is 8 to 24, "
        "until its ratio is known to 1%",
        values.by("measure.process_sets", "ProcessSets.parse"),
        default="auto",
        record_as="kernel_sets",
    ),
    Option("debug", "debug", "show the whole traceback where a case cannot be run"),
)

_BY_FIELD: Final = {option.field: option for option in OPTIONS}


def option_of(field: str) -> Option:
    """The option that sets a field of `Settings`, by the field's path."""
    return _BY_FIELD[field]


TUNING_OPTIONS: Final = tuple(
    option
    for option in OPTIONS
    if option.field.startswith(("target", "remote.", "cluster.", "engine."))
    or option.field in ("budget.round_trials", "experiment.scheduler", "experiment.seed")
)
"""Options of a bench that `tune` has too, without the prefix."""


def flag_of(field: str) -> str:
    """The flag of the option that sets a field of `Settings`."""
    return option_of(field).flag


def add_options(parser: pytest.Parser) -> None:
    """Declare all options to pytest, on the command line and in the ini file."""
    group = parser.getgroup("ansorbench", "benchmarking of tensor-program auto-tuners")
    group.addoption(
        "--ansor-bench",
        action="store_true",
        default=False,
        help="run tuning cases; without it they are skipped",
    )
    for option in OPTIONS:
        # argparse reads a doubled percent sign as a single one, ini files' help does not.
        doubled = option.help_text.replace("%", "%%")
        group.addoption(option.flag, dest=option.ini, help=doubled, **_argparse(option))
        parser.addini(option.ini, f"ini twin of {option.flag}: {option.help_text}", default=None)


def _argparse(option: Option) -> dict[str, Any]:
    """How the command line takes an option's value."""
    if option.metavar is None:
        return {"action": "store_true", "default": None}
    if option.bare is not None:
        return {"nargs": "?", "const": option.bare, "metavar": option.metavar}
    if option.repeatable:
        return {"action": "append", "metavar": option.metavar}
    return {"metavar": option.metavar}
