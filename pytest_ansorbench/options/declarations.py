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


@dataclass(frozen=True)
class Option:
    """One setting as users give it.

    Attributes:
        field: The field of `Settings` that it sets, by its path, e.g. `engine.check`.
        help: Its effect, without the default.
        parse: Turns what the user gave into the field's value, or raises ValueError with a
            message that says what was expected.
        metavar: Placeholder in the help text; None for a flag without a value.
        word: Name without prefix, with dashes, if it is not that of the field.
        default: The default as users type it, or in words; empty if there is nothing to say of it.
        per_test: Whether the marker takes it.
        bare: Value of the flag without a value; None if it needs one.
        repeatable: Whether the flag may be given several times.
        record_as: Its key in recorded settings, if that is not the field's name.
    """

    field: str
    help: str
    parse: Callable[[object], Any] = values.yes_or_no
    metavar: str | None = None
    word: str = ""
    default: str = ""
    per_test: bool = False
    bare: str | None = None
    repeatable: bool = False
    record_as: str = ""

    @property
    def keyword(self) -> str:
        """In the marker."""
        return self.word.replace("-", "_") or self.field.rpartition(".")[2]

    @property
    def flag(self) -> str:
        return f"--ansor-{self.keyword.replace('_', '-')}"

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
            f"gate: fail if the {figure.name} is {_worse(figure)} this; none takes a marker's gate "
            "away",
            values.limit,
            "RATIO",
            word=figure.limit_word,
            default="no gate",
            per_test=True,
            record_as=figure.limit_word.replace("-", "_"),
        )
        for figure in figures
        if figure.limit_word
    )


def suite_limit_options(figures: Iterable[Figure]) -> tuple[Option, ...]:
    """The options of the limits that figures can have over all cases."""
    return tuple(
        Option(
            f"suite_limits.{figure.key}",
            f"gate of all cases together, a test of its own: fail if their {figure.name} is "
            f"{_worse(figure)} this",
            values.limit,
            "RATIO",
            word=figure.suite_word,
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
        "strategies to run, the reference first",
        values.words,
        "NAME,NAME",
        word="strategy",
        default="default,optimized",
        per_test=True,
    ),
    Option(
        "cases",
        "run only the cases with these ids",
        values.words,
        "ID,ID",
        word="case",
        default="all",
    ),
    Option(
        "shard",
        "run only shard I of N, by cases and repeats; no gate fails a test: ansor-bench merge "
        "judges all shards together",
        values.shard,
        "I/N",
    ),
    Option(
        "shard_by",
        "with --ansor-shard: balance shards by the seconds that cases took in this result, by "
        "name, number or path; give all shards the same",
        values.text("main"),
        "RESULT",
        default="trials",
    ),
    Option(
        "budget.trials",
        "trials of a run, or e.g. 16/task for 16 per task of a network",
        values.trials,
        "N[/task]",
        default="128",
        per_test=True,
    ),
    Option(
        "budget.round_trials",
        "trials of one round",
        values.whole_number(1, 16),
        "N",
        word="round",
        default="64, at most an eighth of the budget; for a network half of a task's share",
        per_test=True,
    ),
    Option(
        "experiment.scheduler",
        "which task of a network comes next: the steepest curve, each in turn, or the largest "
        "gain a second that the strategy predicts; a strategy may have its own",
        values.choice("gradient", "round-robin", "predicted-gain"),
        "gradient|round-robin|predicted-gain",
        default="gradient",
        per_test=True,
    ),
    Option(
        "experiment.repeats",
        "runs of each strategy, one seed each; auto, auto:12 or 3:12 repeats until gates are "
        "settled, at least and at most so often",
        values.repeats,
        "N|LEAST:MOST",
        default="5",
        per_test=True,
    ),
    Option(
        "experiment.time_limit_s",
        "begin no repeat that would end later than this after the start, except the first of "
        "a case, e.g. 45m, 2h or 900 for seconds",
        values.duration,
        "TIME",
        word="time-limit",
        default="none",
    ),
    Option(
        "experiment.seed", "seed of the first repeat", values.whole_number(0, 0), "N", default="0"
    ),
    Option(
        "experiment.order",
        "alternate strategies round by round, or run them one after the other",
        values.choice("interleaved", "sequential"),
        "interleaved|sequential",
        default="interleaved",
        per_test=True,
    ),
    Option(
        "experiment.noise_check_s",
        "seconds to measure the machine's noise, before the first search and at the end; 0 "
        "for none",
        values.not_negative,
        "SECONDS",
        word="noise-check",
        default="2",
    ),
    Option(
        "experiment.roofline",
        "measure the machine's peak and show how much of it kernels reach",
    ),
    Option(
        "experiment.reference_kernels",
        "baselines to compare kernels with: PyTorch's, NumPy's, or TVM's without a search",
        values.implementations,
        "torch,numpy,untuned",
        default="none",
    ),
    Option(
        "target",
        "TVM target, an LLVM one, as JSON",
        values.text('\'{"kind": "llvm", "mcpu": "znver4", "num-cores": 2}\''),
        "TARGET",
        default="this machine's CPU",
    ),
    Option(
        "remote.tracker",
        "measure on a device of this TVM tracker, for its --ansor-target; programs are "
        "compiled here. Whoever reaches a server can run code there: see docs/machines.md",
        values.tracker,
        "HOST:PORT:KEY",
        word="rpc",
        default="this machine",
        record_as="rpc",
    ),
    Option(
        "remote.server",
        "measure on the device whose RPC server listens here, without a tracker",
        values.server,
        "HOST:PORT",
        word="rpc-server",
        default="this machine",
        record_as="rpc_server",
    ),
    Option(
        "remote.linker",
        "command of a C compiler that links shared libraries for the device",
        values.text("aarch64-linux-gnu-gcc"),
        "COMMAND",
        default="cc",
    ),
    Option(
        "remote.patience_s",
        "seconds to wait for a device that is free",
        values.positive,
        "SECONDS",
        word="rpc-wait",
        default="60",
        record_as="rpc_wait_s",
    ),
    Option(
        "cluster.address",
        "have repeats carried out by the workers of this Dask scheduler that declare the "
        "resource ansor_bench=1, or by N workers started here. Schedulers and workers run "
        "what they are sent: see docs/machines.md",
        values.cluster,
        "HOST:PORT|local:N",
        word="cluster",
        default="this process",
        record_as="cluster",
    ),
    Option(
        "cluster.patience_s",
        "seconds to wait for a scheduler, and for a worker that fits",
        values.positive,
        "SECONDS",
        word="cluster-wait",
        default="60",
        record_as="cluster_wait_s",
    ),
    Option(
        "engine.build_workers",
        "candidates that compile at a time",
        values.whole_number(1, 2),
        "N",
        default="one per core",
    ),
    Option(
        "engine.build_timeout_s",
        "seconds a candidate may take to compile",
        values.positive,
        "SECONDS",
        word="build-timeout",
        default="30",
    ),
    Option(
        "engine.run_timeout_s",
        "seconds a candidate may take to be measured",
        values.positive,
        "SECONDS",
        word="run-timeout",
        default="30",
    ),
    Option(
        "engine.memory_limit_mb",
        "megabytes a candidate may allocate, compiling and running",
        values.whole_number(1, 4096),
        "MB",
        word="memory-limit",
        default="4096",
    ),
    Option(
        "engine.check",
        "check the output of each candidate that would be the best so far, or of all",
        values.choice("winners", "all"),
        "winners|all",
        default="winners",
    ),
    Option(
        "engine.caches",
        "state of the caches before a timed call: after calls on the same arguments, emptied, "
        "or as in the network around a task",
        values.choice("warm", "cold", "network"),
        "warm|cold|network",
        default="warm, or cold with --ansor-flush-cache",
    ),
    Option(
        "engine.flush_cache_mb",
        "megabytes to copy before each timed call, to empty the caches",
        values.whole_number(0, 64),
        "MB",
        word="flush-cache",
        default="0, or 64 with --ansor-caches cold",
    ),
    Option(
        "engine.cores",
        "cores to build and run on, each kernel thread pinned to one of its own",
        values.cores,
        "N,N",
        default="TVM's own placement",
    ),
    Option(
        "experiment.final_precision",
        "measure winners side by side until the ratio of their latencies is known to this "
        "much either way, e.g. 0.5%",
        values.precision,
        "SHARE",
        default="0.005",
        per_test=True,
    ),
    Option(
        "experiment.final_turns",
        "slices of each winner in one set of processes, at least and at most",
        values.span,
        "LEAST:MOST",
        default="15:60",
        per_test=True,
    ),
    Option(
        "experiment.final_sets",
        "sets of fresh processes in which winners are measured, at least and at most",
        values.span,
        "LEAST:MOST",
        default="4:8",
        per_test=True,
    ),
    Option(
        "experiment.final_samples",
        "measure winners in samples of 100 ms with rests between them, instead of slices",
        values.whole_number(1, 10),
        "N",
        default="slices",
        per_test=True,
    ),
    Option(
        "criteria.goal",
        "targets that S counts the time to: way:25%:16 for a ladder of 16 from 25% of the "
        "reference's gain to its end, or one target: median for the reference's median end, a "
        "share of its gain such as 90%, or GFLOP/s such as 200",
        values.goal,
        "GOAL",
        default="way:10%:32",
        per_test=True,
    ),
    Option(
        "criteria.tolerance",
        "share of throughput that still counts as the same",
        values.share,
        "SHARE",
        default="0.01",
    ),
    Option(
        "criteria.progress",
        "what S, targets and curves count: progress as measured again at the end of the "
        "repeat, or as the search saw it",
        values.choice("confirmed", "believed"),
        "confirmed|believed",
        default="confirmed",
    ),
    Option(
        "criteria.confidence",
        "confidence level of intervals",
        values.level,
        "LEVEL",
        default="0.95",
    ),
    Option(
        "criteria.noise",
        "share by which a figure may miss its limit without failing a test",
        values.share,
        "SHARE",
        default="0.01",
    ),
    Option(
        "criteria.false_alarms",
        "chance that a session fails in which everything is as good as its limit",
        values.level,
        "CHANCE",
        default="0.01",
    ),
    *LIMIT_OPTIONS,
    *suite_limit_options(FIGURES.values()),
    Option(
        "control",
        "run the reference a second time, as if it were a challenger: its difference is noise",
    ),
    Option("strict", "fail a test whose gate is undecided", per_test=True),
    Option(
        "table.columns",
        "columns of the table; an unknown name makes it list all",
        values.columns,
        "NAME,NAME",
        default="the usual ten",
    ),
    Option(
        "table.sort", "what to sort cases by", values.sort, "NAME", default="order of execution"
    ),
    Option(
        "table.group_by",
        "which rows of the table stand together, with their sums: those of a case, a family "
        "(an operator or a network), a network, or a strategy",
        values.grouping,
        "case|family|network|strategy",
        default="`case`",
    ),
    Option(
        "table.time_unit",
        "unit of the times in the table; auto for that in which the longest is at least 1",
        values.time_unit,
        "auto|s|ms|us",
        default="auto",
    ),
    Option(
        "table.benchmark",
        "let pytest-benchmark show its table of the same runs as well",
        word="benchmark-table",
    ),
    Option(
        "files.json",
        "write the whole result to this file, compressed if its name ends in .gz",
        values.path,
        "PATH",
    ),
    Option(
        "files.report",
        "write a whole report at the end, as markdown, html, csv, json or latex, below the "
        "table or to a file, e.g. html:pr.html; may be given several times",
        values.outputs,
        "FORMAT[:PATH]",
        repeatable=True,
    ),
    Option(
        "files.github",
        "whether verdicts and table go to the step summary of GitHub Actions",
        values.choice("auto", "off"),
        "auto|off",
        default="auto",
    ),
    Option("files.save", "store the result under this name", values.text("main"), "NAME"),
    Option("files.autosave", "store the result under the commit's id and the time"),
    Option(
        "files.storage",
        "folder for stored results and journals",
        values.path,
        "DIR",
        default=".ansor_bench",
    ),
    Option(
        "files.learn",
        "add all measured programs to this folder, and train the models in it that "
        "draft+transfer begins with",
        values.path,
        "DIR",
        default="not at all",
    ),
    Option(
        "baseline.compare",
        "compare with a stored result, by name or number, or with a result file; without a "
        "value with the newest stored one",
        values.text("main"),
        "NAME|NUM|PATH",
        bare=NEWEST,
    ),
    Option(
        "baseline.compare_fail",
        "fail a test whose figure got worse since --ansor-compare by more than this, e.g. "
        "search_ratio:5%, or suite_search_ratio:5% for all cases together; may be given "
        "several times",
        values.allowances,
        "METRIC:LIMIT",
        per_test=True,
        repeatable=True,
    ),
    Option(
        "baseline.any_machine", "compare seconds and GFLOP/s with results of other machines too"
    ),
    Option(
        "resume",
        "continue an interrupted session, by the number or path of its journal; without a "
        "value the newest unfinished one",
        values.text("0007"),
        "RUN",
        bare=NEWEST,
    ),
    Option(
        "replay",
        "run no search; judge the runs of this result file by today's settings; may be given "
        "several times",
        values.paths,
        "PATH",
        repeatable=True,
    ),
    Option(
        "reference",
        "use the reference's runs of this result, by name, number or path, where case, "
        "budget, settings, machine and packages are the same; only their first rounds are run "
        "again",
        values.text("0007"),
        "RESULT",
    ),
    Option(
        "toolchains",
        "interpreter of another environment with pytest-ansorbench; its TVM searches the arm "
        "STRATEGY@NAME; may be given several times",
        values.interpreters,
        "NAME=PYTHON",
        word="toolchain",
        repeatable=True,
    ),
    Option(
        "kernels.result",
        "run no search; rebuild the kernels of this result with today's toolchain and judge "
        "their throughput ratios; by name, number or path",
        values.text("0007"),
        "RESULT",
        word="kernels",
        record_as="kernels",
    ),
    Option(
        "kernels.against",
        "with --ansor-kernels: interpreter of another environment with pytest-ansorbench, "
        "whose TVM builds the reference; without it recorded latencies are the reference, on "
        "the same machine only",
        values.text(".venv-main/bin/python"),
        "PYTHON",
    ),
    Option(
        "kernels.variants",
        "with --ansor-kernels: compile in another way as well; a key with a dot is an option "
        "of TVM's PassContext, any other an attribute of the target, e.g. "
        "avx2:mcpu=x86-64-v3; may be given several times",
        values.variants,
        "NAME:KEY=VALUE,...",
        word="variant",
        repeatable=True,
    ),
    Option(
        "kernels.rounds",
        "with --ansor-kernels: sets of fresh processes for each kernel; auto is 8 to 24, "
        "until its ratio is known to 1%",
        values.rounds,
        "N|auto",
        word="kernel-rounds",
        default="auto",
        record_as="kernel_rounds",
    ),
)

_BY_FIELD: Final = {option.field: option for option in OPTIONS}


def option_of(field: str) -> Option:
    """The option that sets a field of `Settings`, by the field's path."""
    return _BY_FIELD[field]


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
