"""Command line, ini file and marker, brought together into one frozen `Settings`.

Each option is declared once, in `OPTIONS`: its flag `--ansor-x-y`, its ini twin `ansor_x_y`
and, where it makes sense for a single test, its marker keyword `x_y`. The command line beats
the marker, the marker beats the ini file, the ini file beats the default.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import pytest

#: MetaSchedule's own `num_trials_per_iter`.
STOCK_ROUND_TRIALS: Final = 64
#: Rounds that a small budget is divided into, so that every strategy gets to learn.
ROUNDS_OF_SMALL_BUDGET: Final = 8

Order = Literal["interleaved", "sequential"]


class SettingError(ValueError):
    """A value that an option does not take; the message names it and shows a good one."""


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
        build_workers: Processes that compile; None for one per core.
        build_timeout_s: Seconds a candidate may take to compile.
        run_timeout_s: Seconds a candidate may take to be measured.
        final_samples: Samples of each winner's final measurement.
        tolerance: Share of throughput that a target stays below what it is derived from.
        confidence: Confidence level of intervals.
        max_search_ratio: Gate: largest allowed S; None for no gate.
        min_throughput_ratio: Gate: smallest allowed throughput ratio; None for no gate.
        strict: Whether an undecided gate fails its test.
        columns: Columns of the table; None for the usual ones.
        sort: What the table's cases are sorted by; None for the order of execution.
        json: File to write the result to; None for none.
        save: Name to store the result under; None for not at all.
        storage: Folder for stored results.
    """

    strategies: tuple[str, ...] = ("default", "etc")
    cases: tuple[str, ...] = ()
    trials: int = 128
    round_trials: int | None = None
    repeats: int = 3
    seed: int = 0
    order: Order = "interleaved"
    target: str | None = None
    build_workers: int | None = None
    build_timeout_s: float = 30.0
    run_timeout_s: float = 30.0
    final_samples: int = 10
    tolerance: float = 0.01
    confidence: float = 0.95
    max_search_ratio: float | None = None
    min_throughput_ratio: float | None = None
    strict: bool = False
    columns: tuple[str, ...] | None = None
    sort: str | None = None
    json: Path | None = None
    save: str | None = None
    storage: Path = field(default=Path(".ansor_bench"))

    @property
    def trials_per_round(self) -> int:
        """Trials of one round, with the default worked out."""
        if self.round_trials is not None:
            return self.round_trials
        return min(STOCK_ROUND_TRIALS, max(1, self.trials // ROUNDS_OF_SMALL_BUDGET))

    def to_json(self) -> dict[str, Any]:
        """The settings as JSON values, for the record."""
        values = asdict(self)
        return {
            key: str(value) if isinstance(value, Path) else value for key, value in values.items()
        }


def _words(value: object) -> tuple[str, ...]:
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list | tuple):
        raise ValueError("expected names separated by commas, e.g. default,etc")
    names = tuple(str(word).strip() for word in words)
    if not all(names) or len(set(names)) != len(names):
        raise ValueError("expected different names separated by commas, e.g. default,etc")
    return names


def _whole_number(least: int, example: int) -> Callable[[object], int]:
    def parse(value: object) -> int:
        try:
            number = int(value) if isinstance(value, int | str) else None
        except ValueError:
            number = None
        if number is None or isinstance(value, bool) or number < least:
            raise ValueError(f"expected a whole number of at least {least}, e.g. {example}")
        return number

    return parse


def _number(
    accepts: Callable[[float], bool], wanted: str, example: str
) -> Callable[[object], float]:
    def parse(value: object) -> float:
        try:
            number = float(value) if isinstance(value, int | float | str) else math.nan
        except ValueError:
            number = math.nan
        if isinstance(value, bool) or not math.isfinite(number) or not accepts(number):
            raise ValueError(f"expected {wanted}, e.g. {example}")
        return number

    return parse


def _choice(*choices: str) -> Callable[[object], str]:
    def parse(value: object) -> str:
        if value not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}")
        return str(value)

    return parse


def _yes_or_no(value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off"):
        return False
    raise ValueError("expected true or false")


def _text(example: str) -> Callable[[object], str]:
    def parse(value: object) -> str:
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"expected some text, e.g. {example}")
        return value.strip()

    return parse


def _path(value: object) -> Path:
    if not isinstance(value, str | Path) or not str(value).strip():
        raise ValueError("expected a path, e.g. result.json")
    return Path(value)


def _columns(value: object) -> tuple[str, ...]:
    # The report package brings tabulate with it, which a session without a bench does not need.
    from pytest_ansorbench.report import parse_columns

    return parse_columns(str(value))


def _sort(value: object) -> str:
    from pytest_ansorbench.report import parse_sort

    return parse_sort(str(value))


_positive = _number(lambda x: x > 0, "a number above 0", "30")
_share = _number(lambda x: 0 <= x < 1, "a share from 0 up to 1", "0.01")
_level = _number(lambda x: 0 < x < 1, "a level between 0 and 1", "0.95")


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
    """

    setting: str
    word: str
    parse: Callable[[object], Any]
    help: str
    metavar: str | None
    per_test: bool = False

    @property
    def flag(self) -> str:
        """On the command line."""
        return f"--ansor-{self.word}"

    @property
    def ini(self) -> str:
        """In the ini file."""
        return f"ansor_{self.word.replace('-', '_')}"

    @property
    def keyword(self) -> str:
        """In the marker."""
        return self.word.replace("-", "_")

    @property
    def dest(self) -> str:
        """Attribute of pytest's option namespace."""
        return f"ansor_{self.word.replace('-', '_')}"


OPTIONS: Final = (
    Option(
        "strategies",
        "strategy",
        _words,
        "strategies to run, the reference first (default: default,etc)",
        "NAME,NAME",
        per_test=True,
    ),
    Option("cases", "case", _words, "run only the cases with these ids (default: all)", "ID,ID"),
    Option(
        "trials",
        "trials",
        _whole_number(1, 128),
        "trials of one run (default: 128)",
        "N",
        per_test=True,
    ),
    Option(
        "round_trials",
        "round",
        _whole_number(1, 16),
        "trials of one round (default: 64, or an eighth of a smaller budget)",
        "N",
        per_test=True,
    ),
    Option(
        "repeats",
        "repeats",
        _whole_number(1, 5),
        "runs of each strategy, each with its own seed (default: 3)",
        "N",
        per_test=True,
    ),
    Option("seed", "seed", _whole_number(0, 0), "seed of the first repeat (default: 0)", "N"),
    Option(
        "order",
        "order",
        _choice("interleaved", "sequential"),
        "let strategies take turns round by round, or run one after the other "
        "(default: interleaved)",
        "ORDER",
        per_test=True,
    ),
    Option(
        "target",
        "target",
        _text('\'{"kind": "llvm", "mcpu": "znver4", "num-cores": 2}\''),
        "TVM target, an LLVM one, as JSON (default: this machine's CPU)",
        "TARGET",
    ),
    Option(
        "build_workers",
        "build-workers",
        _whole_number(1, 2),
        "processes that compile candidates (default: one per core)",
        "N",
    ),
    Option(
        "build_timeout_s",
        "build-timeout",
        _positive,
        "seconds a candidate may take to compile (default: 30)",
        "SECONDS",
    ),
    Option(
        "run_timeout_s",
        "run-timeout",
        _positive,
        "seconds a candidate may take to be measured (default: 30)",
        "SECONDS",
    ),
    Option(
        "final_samples",
        "final-samples",
        _whole_number(1, 10),
        "samples of each winner's final measurement (default: 10)",
        "N",
        per_test=True,
    ),
    Option(
        "tolerance",
        "tolerance",
        _share,
        "share of throughput that still counts as the same (default: 0.01)",
        "SHARE",
        per_test=True,
    ),
    Option(
        "confidence",
        "confidence",
        _level,
        "confidence level of intervals (default: 0.95)",
        "LEVEL",
        per_test=True,
    ),
    Option(
        "max_search_ratio",
        "max-search-ratio",
        _positive,
        "gate: fail if the search ratio S is above this (default: no gate)",
        "RATIO",
        per_test=True,
    ),
    Option(
        "min_throughput_ratio",
        "min-throughput-ratio",
        _positive,
        "gate: fail if the throughput ratio is below this (default: no gate)",
        "RATIO",
        per_test=True,
    ),
    Option(
        "strict", "strict", _yes_or_no, "fail a test whose gate is undecided", None, per_test=True
    ),
    Option(
        "columns",
        "columns",
        _columns,
        "columns of the table; an unknown name makes it list all (default: the usual ten)",
        "NAME,NAME",
    ),
    Option("sort", "sort", _sort, "what to sort cases by (default: order of execution)", "NAME"),
    Option("json", "json", _path, "write the whole result to this file", "PATH"),
    Option("save", "save", _text("main"), "store the result under this name", "NAME"),
    Option("storage", "storage", _path, "folder for stored results (default: .ansor_bench)", "DIR"),
)

_BY_KEYWORD: Final = {option.keyword: option for option in OPTIONS if option.per_test}


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
        if option.metavar is None:
            group.addoption(
                option.flag, action="store_true", default=None, dest=option.dest, help=option.help
            )
        else:
            group.addoption(option.flag, metavar=option.metavar, dest=option.dest, help=option.help)
        parser.addini(option.ini, f"ini twin of {option.flag}: {option.help}", default=None)


def resolve(config: pytest.Config, marker: Mapping[str, Any] | None = None) -> Settings:
    """Settings of the session, or of one test if its marker's keywords are given.

    Args:
        config: pytest's configuration, with the options of `add_options`.
        marker: Keywords of the test's `ansor_bench` marker.

    Returns:
        The settings.

    Raises:
        SettingError: A value is not accepted, a marker keyword is unknown, or the budget is
            smaller than a round.
    """
    marker = marker or {}
    for keyword in marker:
        if keyword not in _BY_KEYWORD:
            raise SettingError(
                f"bad marker keyword {keyword!r}: expected some of {', '.join(_BY_KEYWORD)}, "
                "e.g. ansor_bench(trials=1000)"
            )
    values: dict[str, Any] = {}
    for option in OPTIONS:
        source, value = _given(config, marker, option)
        if value is not None:
            values[option.setting] = _parsed(option, source, value)
    settings = Settings(**values)
    if settings.trials < settings.trials_per_round:
        raise SettingError(
            f"bad --ansor-trials {settings.trials}: expected at least one round of "
            f"{settings.trials_per_round}, e.g. {settings.trials_per_round}; "
            f"or make rounds smaller with --ansor-round"
        )
    return settings


def _given(config: pytest.Config, marker: Mapping[str, Any], option: Option) -> tuple[str, object]:
    """Where the value in force comes from, and that value; None if nobody set it."""
    value = config.getoption(option.dest)
    if value is not None:
        return option.flag, value
    if option.per_test and marker.get(option.keyword) is not None:
        return f"marker keyword {option.keyword}", marker[option.keyword]
    value = config.getini(option.ini)
    return f"ini option {option.ini}", value if value != "" else None


def _parsed(option: Option, source: str, value: object) -> Any:
    try:
        return option.parse(value)
    except ValueError as error:
        message = str(error)
        if not message.startswith("bad "):
            message = f"bad {source} {value!r}: {message}"
        raise SettingError(message) from None
