"""Every option, declared once: flag, ini twin, marker keyword, parser, field and help.

Defaults stand in the records whose fields the options set (`settings`). Options of limits come
from the table of figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from pytest_ansorbench.measure.settings import DEFAULT_CACHES, FLUSH_CACHE_MB
from pytest_ansorbench.options import values
from pytest_ansorbench.stats.figures import FIGURES, Figure

NEWEST: Final = "newest"
"""Meaning of `--ansor-compare` and `--ansor-resume` without a value."""


@dataclass(frozen=True)
class Option:
    """One setting as users give it.

    Attributes:
        field: The field of `Settings` that it sets, by its path, e.g. `engine.check`.
        word: Name without prefix, with dashes: `--ansor-WORD`.
        parse: Turns what the user gave into the field's value, or raises ValueError with a
            message that says what was expected.
        help: Its effect, without the default.
        metavar: Placeholder in the help text; None for a flag without a value.
        default: The default in words, with `{}` for the field's own; empty if there is nothing
            to say of it.
        per_test: Whether the marker takes it.
        bare: Value of the flag without a value; None if it needs one.
        repeatable: Whether the flag may be given several times.
        record_as: Its key in recorded settings, if that is not the field's name.
    """

    field: str
    word: str
    parse: Callable[[object], Any]
    help: str
    metavar: str | None
    default: str = "{}"
    per_test: bool = False
    bare: str | None = None
    repeatable: bool = False
    record_as: str = ""

    @property
    def flag(self) -> str:
        """On the command line."""
        return f"--ansor-{self.word}"

    @property
    def ini(self) -> str:
        """In the ini file, and in pytest's option namespace."""
        return f"ansor_{self.keyword}"

    @property
    def keyword(self) -> str:
        """In the marker."""
        return self.word.replace("-", "_")

    @property
    def recorded(self) -> str:
        """In the settings that a result records."""
        return self.record_as or self.field.rpartition(".")[2]


def limit_options(figures: Iterable[Figure]) -> tuple[Option, ...]:
    """The options of the limits that figures can have."""
    options = []
    for figure in figures:
        if figure.limit is not None:
            side = "above" if figure.sense == "smaller" else "below"
            options.append(
                Option(
                    field=f"limits.{figure.key}",
                    word=figure.limit.word,
                    parse=values.limit,
                    help=f"gate: fail if the {figure.name} is {side} this; none takes a marker's "
                    "gate away",
                    metavar="RATIO",
                    default="no gate",
                    per_test=True,
                    record_as=figure.limit.word.replace("-", "_"),
                )
            )
    return tuple(options)


def suite_limit_options(figures: Iterable[Figure]) -> tuple[Option, ...]:
    """The options of the limits that figures can have over all cases."""
    return tuple(
        Option(
            field=f"suite_limits.{figure.key}",
            word=figure.suite_word,
            parse=values.limit,
            help=f"gate of all cases together, a test of its own: fail if their {figure.name} is "
            f"{'above' if figure.sense == 'smaller' else 'below'} this",
            metavar="RATIO",
            default="no gate",
            record_as=figure.suite_keyword,
        )
        for figure in figures
        if figure.suite_word
    )


LIMIT_OPTIONS: Final = limit_options(FIGURES.values())

OPTIONS: Final = (
    Option(
        "strategies",
        "strategy",
        values.words,
        "strategies to run, the reference first",
        "NAME,NAME",
        per_test=True,
    ),
    Option(
        "cases",
        "case",
        values.words,
        "run only the cases with these ids",
        "ID,ID",
        default="all",
    ),
    Option(
        "shard",
        "shard",
        values.shard,
        "run only the I-th of N parts of the session, shared out by cases and repeats; no gate "
        "fails a test, since ansor-bench merge puts the parts together and judges them",
        "I/N",
        default="",
    ),
    Option(
        "shard_by",
        "shard-by",
        values.text("main"),
        "with --ansor-shard: balance the parts by the seconds that cases took in this result; give "
        "all parts the same, by name, number or path",
        "RESULT",
        default="trials",
    ),
    Option(
        "budget.trials",
        "trials",
        values.trials,
        "trials of one run, or e.g. 16/task for 16 times the number of a network's tasks",
        "N[/task]",
        per_test=True,
    ),
    Option(
        "budget.round_trials",
        "round",
        values.whole_number(1, 16),
        "trials of one round",
        "N",
        default="64, or if that is less an eighth of the budget; for a network half of a task's "
        "share",
        per_test=True,
    ),
    Option(
        "experiment.scheduler",
        "scheduler",
        values.choice("gradient", "round-robin", "predicted-gain"),
        "which task of a network comes next, unless the strategy has a say in it: that with the "
        "steepest curve, each in turn, or that which the strategy predicts to gain most a second",
        "gradient|round-robin|predicted-gain",
        per_test=True,
    ),
    Option(
        "experiment.repeats",
        "repeats",
        values.repeats,
        "runs of each strategy, each with its own seed; auto, auto:12 or 3:12 for as many as gates "
        "need, at least and at most",
        "N|LEAST:MOST",
        per_test=True,
    ),
    Option(
        "experiment.time_limit_s",
        "time-limit",
        values.duration,
        "begin no repeat that would end later than this after the start, except the first of a "
        "case, e.g. 45m, 2h or 900 for seconds",
        "TIME",
        default="none",
    ),
    Option(
        "experiment.seed",
        "seed",
        values.whole_number(0, 0),
        "seed of the first repeat",
        "N",
    ),
    Option(
        "experiment.order",
        "order",
        values.choice("interleaved", "sequential"),
        "let strategies take turns round by round, or run one after the other",
        "interleaved|sequential",
        per_test=True,
    ),
    Option(
        "experiment.noise_check_s",
        "noise-check",
        values.not_negative,
        "seconds to look at how steady the machine is, before the first search and at the end; "
        "0 for not at all",
        "SECONDS",
    ),
    Option(
        "experiment.roofline",
        "roofline",
        values.yes_or_no,
        "measure what the machine can do at most, some seconds the first time, and tell how much "
        "of it kernels reach",
        None,
        default="",
    ),
    Option(
        "experiment.reference_kernels",
        "reference-kernels",
        values.implementations,
        "time other implementations of each case before it is searched, and tell how much faster "
        "its kernels are: PyTorch's, NumPy's, or TVM's without a search",
        "torch,numpy,untuned",
        default="none",
    ),
    Option(
        "target",
        "target",
        values.text('\'{"kind": "llvm", "mcpu": "znver4", "num-cores": 2}\''),
        "TVM target, an LLVM one, as JSON",
        "TARGET",
        default="this machine's CPU",
    ),
    Option(
        "remote.tracker",
        "rpc",
        values.tracker,
        "measure on a device that TVM's tracker at this address hands out under this key; programs "
        "are compiled here, for the --ansor-target that the device is. Whoever reaches a server "
        "can run what they like there: see docs/machines.md",
        "HOST:PORT:KEY",
        default="this machine",
        record_as="rpc",
    ),
    Option(
        "remote.server",
        "rpc-server",
        values.server,
        "measure on the device whose RPC server listens here, without a tracker",
        "HOST:PORT",
        default="this machine",
        record_as="rpc_server",
    ),
    Option(
        "remote.linker",
        "linker",
        values.text("aarch64-linux-gnu-gcc"),
        "command of a C compiler that links shared libraries for the device",
        "COMMAND",
    ),
    Option(
        "remote.patience_s",
        "rpc-wait",
        values.positive,
        "seconds to wait for a device that is free",
        "SECONDS",
        record_as="rpc_wait_s",
    ),
    Option(
        "cluster.address",
        "cluster",
        values.cluster,
        "have repeats carried out by the workers of this Dask scheduler that declare the resource "
        "ansor_bench=1, each repeat by one of them, or by N workers started on this machine. "
        "Schedulers and workers run what they are sent: see docs/machines.md",
        "HOST:PORT|local:N",
        default="this process",
        record_as="cluster",
    ),
    Option(
        "cluster.patience_s",
        "cluster-wait",
        values.positive,
        "seconds to wait for a scheduler, and for a worker that fits",
        "SECONDS",
        record_as="cluster_wait_s",
    ),
    Option(
        "engine.build_workers",
        "build-workers",
        values.whole_number(1, 2),
        "candidates that compile at a time",
        "N",
        default="one per core",
    ),
    Option(
        "engine.build_timeout_s",
        "build-timeout",
        values.positive,
        "seconds a candidate may take to compile",
        "SECONDS",
    ),
    Option(
        "engine.run_timeout_s",
        "run-timeout",
        values.positive,
        "seconds a candidate may take to be measured",
        "SECONDS",
    ),
    Option(
        "engine.memory_limit_mb",
        "memory-limit",
        values.whole_number(1, 4096),
        "megabytes a candidate may allocate, compiling and running",
        "MB",
    ),
    Option(
        "engine.check",
        "check",
        values.choice("winners", "all"),
        "compare with the reference the output of each candidate that would be the best so "
        "far, or of every one that is measured",
        "winners|all",
    ),
    Option(
        "engine.caches",
        "caches",
        values.choice("warm", "cold", "network"),
        "how a timed call finds the caches: after other calls on the same arguments, emptied, or "
        "as the network around a task leaves them",
        "warm|cold|network",
        default=f"{DEFAULT_CACHES}, or cold with a --ansor-flush-cache",
    ),
    Option(
        "engine.flush_cache_mb",
        "flush-cache",
        values.whole_number(0, 64),
        "megabytes to copy before each timed call, to empty the caches",
        "MB",
        default=f"{{}}, or {FLUSH_CACHE_MB} if they are to be cold",
    ),
    Option(
        "engine.cores",
        "cores",
        values.cores,
        "cores to build and run on, each kernel thread pinned to one of its own",
        "N,N",
        default="TVM's own placement",
    ),
    Option(
        "experiment.final_precision",
        "final-precision",
        values.precision,
        "measure winners side by side until the ratio of their latencies is known to this much "
        "either way, e.g. 0.5%, within the least and the most slices",
        "SHARE",
        per_test=True,
    ),
    Option(
        "experiment.final_turns",
        "final-turns",
        values.span,
        "slices of each winner in one set of processes, at least and at most",
        "LEAST:MOST",
        per_test=True,
    ),
    Option(
        "experiment.final_sets",
        "final-sets",
        values.span,
        "sets of fresh processes in which winners are measured, at least and at most",
        "LEAST:MOST",
        per_test=True,
    ),
    Option(
        "experiment.final_samples",
        "final-samples",
        values.whole_number(1, 10),
        "samples of 100 ms of each winner, with rests between them, instead of slices, whose "
        "precision, turns and sets then do not matter",
        "N",
        default="slices",
        per_test=True,
    ),
    Option(
        "criteria.goal",
        "goal",
        values.goal,
        "what S counts the time to: the way, a ladder of 32 targets from 10% of the reference's "
        "gain to its end, or from elsewhere, such as way:25% or way:25%:16; or one target: the "
        "median of the reference's final throughput, a share of its gain such as 90%, or GFLOP/s "
        "such as 200",
        "GOAL",
        per_test=True,
    ),
    Option(
        "criteria.tolerance",
        "tolerance",
        values.share,
        "share of throughput that still counts as the same",
        "SHARE",
    ),
    Option(
        "criteria.progress",
        "progress",
        values.choice("confirmed", "believed"),
        "what S, its targets and curves count: what a search had found when its leads are "
        "measured again at the end of the repeat, or what it saw of them",
        "confirmed|believed",
    ),
    Option(
        "criteria.confidence",
        "confidence",
        values.level,
        "confidence level of intervals",
        "LEVEL",
    ),
    Option(
        "criteria.noise",
        "noise",
        values.share,
        "share by which a figure may miss its limit without failing a test",
        "SHARE",
    ),
    Option(
        "criteria.false_alarms",
        "false-alarms",
        values.level,
        "chance that a session fails in which everything is as good as its limit",
        "CHANCE",
    ),
    *LIMIT_OPTIONS,
    *suite_limit_options(FIGURES.values()),
    Option(
        "control",
        "control",
        values.yes_or_no,
        "run the reference a second time as a control, as if it were a challenger: what it shows "
        "is noise",
        None,
        default="",
    ),
    Option(
        "strict",
        "strict",
        values.yes_or_no,
        "fail a test whose gate is undecided",
        None,
        default="",
        per_test=True,
    ),
    Option(
        "table.columns",
        "columns",
        values.columns,
        "columns of the table; an unknown name makes it list all",
        "NAME,NAME",
        default="the usual ten",
    ),
    Option(
        "table.sort",
        "sort",
        values.sort,
        "what to sort cases by",
        "NAME",
        default="order of execution",
    ),
    Option(
        "table.group_by",
        "group-by",
        values.grouping,
        "which rows of the table stand together: those of a case, of a family (an operator or a "
        "network), of a network, or of a strategy, with their sums",
        "case|family|network|strategy",
        default="`case`",
    ),
    Option(
        "table.time_unit",
        "time-unit",
        values.time_unit,
        "unit of the times in the table; auto for that in which the longest is at least 1",
        "auto|s|ms|us",
    ),
    Option(
        "table.benchmark",
        "benchmark-table",
        values.yes_or_no,
        "let pytest-benchmark show its table of the same runs as well",
        None,
        default="",
    ),
    Option(
        "files.json",
        "json",
        values.path,
        "write the whole result to this file",
        "PATH",
        default="",
    ),
    Option(
        "files.report",
        "report",
        values.outputs,
        "write a whole report at the end, as markdown, html, csv, json or latex, below the table "
        "or to a file, e.g. html:pr.html; may be given several times",
        "FORMAT[:PATH]",
        default="",
        repeatable=True,
    ),
    Option(
        "files.github",
        "github",
        values.choice("auto", "off"),
        "whether the verdicts and the table go to the summary of a step of GitHub Actions, where "
        "the session runs in one",
        "auto|off",
    ),
    Option(
        "files.save",
        "save",
        values.text("main"),
        "store the result under this name",
        "NAME",
        default="",
    ),
    Option(
        "files.autosave",
        "autosave",
        values.yes_or_no,
        "store the result under the commit's id and the time",
        None,
        default="",
    ),
    Option(
        "files.storage",
        "storage",
        values.path,
        "folder for stored results and journals",
        "DIR",
    ),
    Option(
        "files.learn",
        "learn",
        values.path,
        "add all measured programs to this folder, and train the model in it that "
        "draft+transfer begins with; the model of earlier benches is used if there is one",
        "DIR",
        default="not at all",
    ),
    Option(
        "baseline.compare",
        "compare",
        values.text("main"),
        "compare with a stored result, by its name or number, or with a result file; without a "
        "value with the newest stored one",
        "NAME|NUM|PATH",
        default="",
        bare=NEWEST,
    ),
    Option(
        "baseline.compare_fail",
        "compare-fail",
        values.allowances,
        "fail a test whose figure got worse since --ansor-compare by more than this, e.g. "
        "search_ratio:5%, or suite_search_ratio:5% for all cases together; may be given several "
        "times",
        "METRIC:LIMIT",
        default="",
        per_test=True,
        repeatable=True,
    ),
    Option(
        "baseline.any_machine",
        "any-machine",
        values.yes_or_no,
        "compare seconds and GFLOP/s with results of other machines too",
        None,
        default="",
    ),
    Option(
        "resume",
        "resume",
        values.text("0007"),
        "go on with an interrupted run, by the number or path of its journal; without a value "
        "with the newest that is not finished",
        "RUN",
        default="",
        bare=NEWEST,
    ),
    Option(
        "replay",
        "replay",
        values.paths,
        "run no search, but take the runs from this result file, again by today's settings; may "
        "be given several times",
        "PATH",
        default="",
        repeatable=True,
    ),
    Option(
        "reference",
        "reference",
        values.text("0007"),
        "use the reference's runs of this result again, by name, number or path, where case, "
        "budget, settings, machine and packages are the same; only their first rounds are run, to "
        "see how the machine compares, and their winners measured",
        "RESULT",
        default="",
    ),
    Option(
        "toolchains",
        "toolchain",
        values.interpreters,
        "the interpreter of another environment with pytest-ansorbench; the arm STRATEGY@NAME is "
        "searched by its TVM, in turn with the others, and measured side by side with them; may "
        "be given several times",
        "NAME=PYTHON",
        default="",
        repeatable=True,
    ),
    Option(
        "kernels.result",
        "kernels",
        values.text("0007"),
        "run no search, but make the kernels of this result again with today's toolchain, and hold "
        "them to the gates on throughput ratios; by name, number or path",
        "RESULT",
        default="",
        record_as="kernels",
    ),
    Option(
        "kernels.against",
        "against",
        values.text(".venv-main/bin/python"),
        "with --ansor-kernels: interpreter of another environment with pytest-ansorbench, whose "
        "TVM makes the same kernels; they are the reference, measured in turn with today's. "
        "Without it the recorded latencies are, on the same machine only",
        "PYTHON",
        default="",
    ),
    Option(
        "kernels.variants",
        "variant",
        values.variants,
        "with --ansor-kernels: compile in another way as well; a key with a dot is an option of "
        "TVM's PassContext, any other an attribute of the target, e.g. avx2:mcpu=x86-64-v3; may be "
        "given several times",
        "NAME:KEY=VALUE,...",
        default="",
        repeatable=True,
    ),
    Option(
        "kernels.rounds",
        "kernel-rounds",
        values.rounds,
        "with --ansor-kernels: sets of fresh processes for each kernel, or auto: 8 to 24, until "
        "its ratio is known to 1%",
        "N|auto",
        record_as="kernel_rounds",
    ),
)


def option_of(field: str) -> Option:
    """The option that sets a field of `Settings`, by the field's path."""
    return next(option for option in OPTIONS if option.field == field)


def flag_of(field: str) -> str:
    """The flag of the option that sets a field of `Settings`."""
    return option_of(field).flag
