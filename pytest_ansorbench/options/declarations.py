"""Every option, declared once: flag, ini twin, marker keyword, parser and help."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from pytest_ansorbench.options import values

NEWEST: Final = "newest"
"""What `--ansor-compare` and `--ansor-resume` mean without a value."""


@dataclass(frozen=True)
class Option:
    """One setting as users give it.

    Attributes:
        setting: Its field in `Settings`.
        word: Name without prefix, with dashes: `--ansor-WORD`.
        parse: Turns what the user gave into the field's value, or raises ValueError with a
            message that says what was expected.
        help: Help text.
        metavar: Placeholder in the help text; None for a flag without a value.
        per_test: Whether the marker takes it.
        bare: Value of the flag without a value; None if it needs one.
        repeatable: Whether the flag may be given several times.
    """

    setting: str
    word: str
    parse: Callable[[object], Any]
    help: str
    metavar: str | None
    per_test: bool = False
    bare: str | None = None
    repeatable: bool = False

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


OPTIONS: Final = (
    Option(
        "strategies",
        "strategy",
        values.words,
        "strategies to run, the reference first (default: default,optimized)",
        "NAME,NAME",
        per_test=True,
    ),
    Option(
        "cases", "case", values.words, "run only the cases with these ids (default: all)", "ID,ID"
    ),
    Option(
        "trials",
        "trials",
        values.trials,
        "trials of one run, or e.g. 16/task for so many times the number of a network's tasks "
        "(default: 128)",
        "N[/task]",
        per_test=True,
    ),
    Option(
        "round_trials",
        "round",
        values.whole_number(1, 16),
        "trials of one round (default: 64, or if that is less an eighth of the budget; for a "
        "network half of a task's share)",
        "N",
        per_test=True,
    ),
    Option(
        "scheduler",
        "scheduler",
        values.choice("gradient", "round-robin"),
        "which task of a network comes next: that from which most is expected, or each in turn "
        "(default: gradient)",
        "NAME",
        per_test=True,
    ),
    Option(
        "repeats",
        "repeats",
        values.whole_number(1, 5),
        "runs of each strategy, each with its own seed (default: 5)",
        "N",
        per_test=True,
    ),
    Option("seed", "seed", values.whole_number(0, 0), "seed of the first repeat (default: 0)", "N"),
    Option(
        "order",
        "order",
        values.choice("interleaved", "sequential"),
        "let strategies take turns round by round, or run one after the other "
        "(default: interleaved)",
        "ORDER",
        per_test=True,
    ),
    Option(
        "target",
        "target",
        values.text('\'{"kind": "llvm", "mcpu": "znver4", "num-cores": 2}\''),
        "TVM target, an LLVM one, as JSON (default: this machine's CPU)",
        "TARGET",
    ),
    Option(
        "build_workers",
        "build-workers",
        values.whole_number(1, 2),
        "candidates that compile at a time (default: one per core)",
        "N",
    ),
    Option(
        "build_timeout_s",
        "build-timeout",
        values.positive,
        "seconds a candidate may take to compile (default: 30)",
        "SECONDS",
    ),
    Option(
        "run_timeout_s",
        "run-timeout",
        values.positive,
        "seconds a candidate may take to be measured (default: 30)",
        "SECONDS",
    ),
    Option(
        "memory_limit_mb",
        "memory-limit",
        values.whole_number(1, 4096),
        "megabytes a candidate may allocate, compiling and running (default: 4096)",
        "MB",
    ),
    Option(
        "check",
        "check",
        values.choice("winners", "all"),
        "compare with the reference the output of each candidate that would be the best so "
        "far, or of every one that is measured (default: winners)",
        "WHICH",
    ),
    Option(
        "flush_cache_mb",
        "flush-cache",
        values.whole_number(0, 64),
        "megabytes to copy before each timed call, to empty the caches (default: 0, warm caches)",
        "MB",
    ),
    Option(
        "cores",
        "cores",
        values.cores,
        "cores to build and run on, each kernel thread pinned to one of its own (default: "
        "TVM's own placement)",
        "N,N",
    ),
    Option(
        "final_samples",
        "final-samples",
        values.whole_number(1, 10),
        "samples of each winner's final measurement (default: 10)",
        "N",
        per_test=True,
    ),
    Option(
        "goal",
        "goal",
        values.goal,
        "what S counts the time to: the median of the reference's final throughput, a share of "
        "its gain such as 90%%, or GFLOP/s such as 200 (default: median)",
        "GOAL",
        per_test=True,
    ),
    Option(
        "tolerance",
        "tolerance",
        values.share,
        "share of throughput that still counts as the same (default: 0.01)",
        "SHARE",
    ),
    Option(
        "confidence",
        "confidence",
        values.level,
        "confidence level of intervals (default: 0.95)",
        "LEVEL",
    ),
    Option(
        "noise",
        "noise",
        values.share,
        "share by which a figure may miss its limit without failing a test (default: 0.01)",
        "SHARE",
    ),
    Option(
        "false_alarms",
        "false-alarms",
        values.level,
        "chance that a session fails in which everything is as good as its limit (default: 0.01)",
        "CHANCE",
    ),
    Option(
        "max_search_ratio",
        "max-search-ratio",
        values.ratio,
        "gate: fail if the search ratio S is above this (default: no gate)",
        "RATIO",
        per_test=True,
    ),
    Option(
        "min_throughput_ratio",
        "min-throughput-ratio",
        values.ratio,
        "gate: fail if the throughput ratio is below this (default: no gate)",
        "RATIO",
        per_test=True,
    ),
    Option(
        "control",
        "control",
        values.yes_or_no,
        "run the reference a second time as a control, as if it were a challenger: what it shows "
        "is noise",
        None,
    ),
    Option(
        "strict",
        "strict",
        values.yes_or_no,
        "fail a test whose gate is undecided",
        None,
        per_test=True,
    ),
    Option(
        "columns",
        "columns",
        values.columns,
        "columns of the table; an unknown name makes it list all (default: the usual ten)",
        "NAME,NAME",
    ),
    Option(
        "sort", "sort", values.sort, "what to sort cases by (default: order of execution)", "NAME"
    ),
    Option("json", "json", values.path, "write the whole result to this file", "PATH"),
    Option("save", "save", values.text("main"), "store the result under this name", "NAME"),
    Option(
        "autosave",
        "autosave",
        values.yes_or_no,
        "store the result under the commit's id and the time",
        None,
    ),
    Option(
        "storage",
        "storage",
        values.path,
        "folder for stored results and journals (default: .ansor_bench)",
        "DIR",
    ),
    Option(
        "compare",
        "compare",
        values.text("main"),
        "compare with a stored result, by its name or number, or with a result file (default: "
        "the newest stored one)",
        "NAME|NUM|PATH",
        bare=NEWEST,
    ),
    Option(
        "compare_fail",
        "compare-fail",
        values.allowances,
        "fail a test whose figure got worse since --ansor-compare by more than this, e.g. "
        "search_ratio:5%%; may be given several times",
        "METRIC:LIMIT",
        per_test=True,
        repeatable=True,
    ),
    Option(
        "any_machine",
        "any-machine",
        values.yes_or_no,
        "compare seconds and GFLOP/s with results of other machines too",
        None,
    ),
    Option(
        "resume",
        "resume",
        values.text("0007"),
        "go on with an interrupted run, by the number or path of its journal (default: the "
        "newest that is not finished)",
        "RUN",
        bare=NEWEST,
    ),
    Option(
        "replay",
        "replay",
        values.paths,
        "run no search, but take the runs from this result file, again by today's settings; may "
        "be given several times",
        "PATH",
        repeatable=True,
    ),
)
