"""The command that makes models faster: tune."""

from __future__ import annotations

import argparse
import gc
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.cli.exits import BROKEN, HOLDS, UNDECIDED, Refusal, parsed
from pytest_ansorbench.cli.formats import terminal
from pytest_ansorbench.cli.models import add_rewrite, add_shapes, case_given
from pytest_ansorbench.cli.offers import strategies_given
from pytest_ansorbench.options.declarations import (
    TUNING_OPTIONS,
    TUNING_REWRITE,
    TUNING_STRATEGY,
    TUNING_TRIALS,
    Option,
    flag_of,
)

if TYPE_CHECKING:
    from pytest_ansorbench.bench import Progress
    from pytest_ansorbench.options.settings import Settings
    from pytest_ansorbench.records import Result
    from pytest_ansorbench.tuning import Tuning

_PREFIX: Final = "--ansor-"
_AGAINST: Final = flag_of("experiment.reference_kernels")


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    tune = commands.add_parser(
        "tune",
        help="make a model faster: search, then write a database, a library and a report",
        description="Searches for faster schedules of a model, and writes a folder with them: a "
        "database of MetaSchedule's, a compiled library with a script that loads it, a report. A "
        "second call with the same folder goes on where the first ended, however it ended, and "
        "other models learn from what is there.",
        epilog="exit codes: 0 tuned, 1 no schedule of a case works, 2 usage or tool error, 3 "
        "interrupted: the same command goes on",
    )
    tune.add_argument(
        "cases",
        nargs="+",
        metavar="MODEL|CASE",
        help="a model's file: .onnx, .tflite, or .pt2 as torch.export.save writes it; id of a "
        "shipped case, e.g. resnet18-n1-s224; or module:function, which returns a model",
    )
    tune.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder for everything, e.g. tuned",
    )
    add_shapes(tune)
    tune.add_argument(
        "--trials",
        metavar="N[/task]",
        help="programs to measure in all, those of earlier calls included, or e.g. 16/task for as "
        f"many for each task of a model (default: {TUNING_TRIALS}, or what --time-limit allows)",
    )
    tune.add_argument(
        "--time-limit",
        metavar="TIME",
        help="search time of this call for each model, after which no round begins, e.g. 10m; what "
        "was found is compiled and measured after it (default: none)",
    )
    tune.add_argument(
        "--strategy",
        default=TUNING_STRATEGY,
        metavar="NAME",
        help="strategy that searches, by its name or as module:NAME (default: %(default)s)",
    )
    add_rewrite(tune, TUNING_REWRITE)
    tune.add_argument(
        "--against",
        metavar="LIBRARY,LIBRARY",
        help="libraries to measure in turn with the result, e.g. onnxruntime,openvino,torch "
        "(default: none)",
    )
    for option in TUNING_OPTIONS:
        tune.add_argument(
            _flag(option),
            dest=option.keyword,
            metavar=option.metavar,
            # argparse reads a doubled percent sign as a single one.
            help=_without_prefix(option.help_text).replace("%", "%%"),
        )
    tune.set_defaults(run=_tune)


def _tune(given: argparse.Namespace) -> int:
    from pytest_ansorbench.packed import PackedError
    from pytest_ansorbench.search import ResumeError
    from pytest_ansorbench.sessions import REFUSALS, why
    from pytest_ansorbench.storage import StorageError, UnwritableError
    from pytest_ansorbench.tuning import Tuning, check_linker
    from pytest_ansorbench.workloads import OpenShape
    from pytest_ansorbench.workloads.networks.network import Network

    gc.enable()  # a search is long, and makes garbage
    if "," in given.strategy:
        raise Refusal(f"bad --strategy {given.strategy!r}: expected one, e.g. {TUNING_STRATEGY}")
    [strategy] = strategies_given([given.strategy])
    settings = _settings(given, strategy.name)
    cases = [case_given(word, given.shape, given.rewrite) for word in given.cases]
    for case in cases:
        if isinstance(case, Network) and given.rewrite != "none":
            _tell(f"{case.id}: taken as it is; --rewrite is for a model's file or module")
    folder: Path = given.output
    if folder.exists() and not folder.is_dir():
        raise Refusal(f"bad -o {str(folder)!r}: expected a folder, e.g. tuned")
    try:
        command = shlex.join(_words(given))
        tuning = Tuning(
            cases, strategy, settings, folder, root=Path.cwd(), tell=_tell, command=command
        )
    except ValueError as error:  # of two cases with one id
        raise Refusal(str(error)) from None
    with closing(tuning):
        try:
            check_linker(settings.remote)
            return _tuned(tuning, folder)
        except KeyboardInterrupt:
            if tuning.has_begun:
                # The journal has it all.
                with suppress(PackedError, StorageError):
                    tuning.write_database(tuning.best())
            _tell("interrupted: the same command goes on; with fewer --trials it ends at once")
            return UNDECIDED
        except ResumeError as error:
            raise Refusal(f"bad -o {str(folder)!r}: {error}; choose another folder") from None
        except UnwritableError as error:
            raise Refusal(str(error)) from None
        except OpenShape:
            raise  # `main` says which --shape closes it
        except REFUSALS as error:
            raise Refusal(_without_prefix(why(error, tuning.at_work))) from None


def _tuned(tuning: Tuning, folder: Path) -> int:
    from pytest_ansorbench.report.sections import Report
    from pytest_ansorbench.report.tuning import tuned_lines

    result = tuning.search(_progress())
    best = tuning.best()
    tuning.write_database(best)
    _tell("compiling")
    written = tuning.write(result, tuning.compiled(result, best))
    print(terminal().render(Report.of(tuned_lines(result, tuning.rewritten))))
    print(f"written to {folder}: a database of MetaSchedule's, {', '.join(written)}")
    return HOLDS if _all_work(result) else BROKEN


def _all_work(result: Result) -> bool:
    runs = (run for case in result.cases for run in case.runs)
    return all(run.final is not None and run.final.status == "ok" for run in runs)


def _settings(given: argparse.Namespace, strategy: str) -> Settings:
    from pytest_ansorbench.budget import Trials
    from pytest_ansorbench.options import values
    from pytest_ansorbench.options.refusals import in_options
    from pytest_ansorbench.tuning import settings_of

    found: dict[str, Any] = {"strategies": (strategy,)}
    if given.time_limit is not None:
        found["budget.run_time_s"] = parsed("--time-limit", given.time_limit, values.duration)
    if given.trials is not None or given.time_limit is None:
        found["budget.trials"] = parsed("--trials", given.trials or TUNING_TRIALS, Trials.parse)
    if given.against is not None:
        against = parsed("--against", given.against, values.implementations)
        found["experiment.reference_kernels"] = against
    for option in TUNING_OPTIONS:
        text = getattr(given, option.keyword)
        if text is not None:
            found[option.field] = parsed(_flag(option), text, option.parse)
    try:
        return settings_of(found)
    except ValueError as error:
        raise Refusal(_without_prefix(in_options(error))) from None


def _words(given: argparse.Namespace) -> Iterator[str]:
    """The command that was given, word by word."""
    yield from ("ansor-bench", "tune", *given.cases, "-o", str(given.output))
    for shape in given.shape:
        yield from ("--shape", shape)
    for flag, value in (
        ("--trials", given.trials),
        ("--time-limit", given.time_limit),
        ("--strategy", given.strategy),
        ("--rewrite", given.rewrite),
        ("--against", given.against),
        *((_flag(option), getattr(given, option.keyword)) for option in TUNING_OPTIONS),
    ):
        if value is not None:
            yield from (flag, value)


def _progress() -> Progress:
    """What shows progress on standard error: a live display on a terminal, else lines."""
    from pytest_ansorbench.report.progress import LiveLine, LiveTable, TrialLog

    def write(text: str) -> None:
        print(text, end="", file=sys.stderr, flush=True)

    if not sys.stderr.isatty():
        return TrialLog(_tell)
    try:
        return LiveTable(write, coloured=not os.environ.get("NO_COLOR"))
    except ImportError:
        return LiveLine(write)


def _tell(line: str) -> None:
    from pytest_ansorbench.report.render.text import printable

    print(printable(line), file=sys.stderr, flush=True)


def _flag(option: Option) -> str:
    return _without_prefix(option.flag)


def _without_prefix(text: str) -> str:
    """Options as this command calls them."""
    return text.replace(_AGAINST, "--against").replace(_PREFIX, "--")
