"""The commands on landscapes: landscape record, check, replay."""

from __future__ import annotations

import argparse
import gc
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.cli.exits import BROKEN, HOLDS, UNDECIDED, Refusal, parsed
from pytest_ansorbench.cli.offers import strategies_given
from pytest_ansorbench.cli.stored import add_storage, check_outputs

if TYPE_CHECKING:
    from pytest_ansorbench.landscapes.recording import Advance
    from pytest_ansorbench.records import Run
    from pytest_ansorbench.strategies import Strategy


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    landscape = commands.add_parser(
        "landscape",
        help="record sub-spaces of tasks as a whole, and search what was recorded",
        description="A landscape is a part of a task's design space, every point of it measured. "
        "Searches of decisions run on it in seconds, without TVM.",
    )
    actions = landscape.add_subparsers(required=True, metavar="ACTION")
    _add_record(actions)

    check = actions.add_parser(
        "check",
        help="say what is wrong with landscapes",
        description="Says what is wrong with landscape files: what is missing, was changed, or "
        "cannot be. Of files without a fault it shows what there is to find in them.",
        epilog="exit codes: 0 nothing, 1 something",
    )
    check.add_argument("files", nargs="+", type=Path, metavar="FILE")
    check.add_argument(
        "--programs",
        action="store_true",
        help="make programs of some points anew and compare them, which takes TVM",
    )
    check.set_defaults(run=_check)

    replay = actions.add_parser(
        "replay",
        help="search landscapes, and write a result",
        description="Searches landscapes by several strategies, without TVM, and writes a result "
        "like that of a session, marked as from landscapes. Its seconds are recorded ones of "
        "building and running.",
    )
    replay.add_argument("files", nargs="+", type=Path, metavar="FILE")
    replay.add_argument(
        "--strategy",
        required=True,
        metavar="NAME,NAME",
        help="searches of decisions, the reference first, e.g. grid,autotvm,draft; one of yours as "
        "module:NAME, e.g. my_search:BOLD",
    )
    replay.add_argument("--trials", type=int, default=128, help="of a run (default: %(default)s)")
    replay.add_argument(
        "--repeats", type=int, default=5, help="runs of each strategy (default: %(default)s)"
    )
    replay.add_argument(
        "--run-time",
        metavar="TIME",
        help="recorded seconds of a run after which no round begins, e.g. 2m (default: none)",
    )
    replay.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE", help="e.g. replayed.json.gz"
    )
    replay.set_defaults(run=_replay)


def _add_record(actions: argparse._SubParsersAction[Any]) -> None:
    record = actions.add_parser(
        "record",
        help="measure a sub-space of operators as a whole",
        description="Chooses some decisions of each sketch and measures all of their "
        "combinations. What was measured is kept: the same command goes on after an interruption.",
        epilog="exit codes: 0 recorded, 2 usage or tool error, 3 interrupted",
    )
    record.add_argument(
        "cases", nargs="+", metavar="CASE", help="operator, e.g. matmul-b1-m512-n512-k512"
    )
    record.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    record.add_argument(
        "--points",
        type=int,
        default=3_000,
        help="points of each, at most (default: %(default)s)",
    )
    record.add_argument(
        "--seed", type=int, default=0, help="of the choice of points (default: %(default)s)"
    )
    record.add_argument("--target", metavar="TARGET", help="TVM's target (default: this CPU)")
    record.add_argument(
        "--license",
        default="CC0-1.0",
        metavar="SPDX",
        help="what the files may be used under (default: %(default)s)",
    )
    add_storage(
        record, "folder that may have the machine's peak, of a session with --ansor-roofline"
    )
    record.set_defaults(run=_record)


def _record(given: argparse.Namespace) -> int:
    from pytest_ansorbench.cli.models import case_given
    from pytest_ansorbench.landscapes.checking import LICENSES
    from pytest_ansorbench.landscapes.programs import UnrecordableError
    from pytest_ansorbench.landscapes.recording import Effort, record
    from pytest_ansorbench.landscapes.records import MOST_POINTS
    from pytest_ansorbench.sessions import REFUSALS, engine_of, why
    from pytest_ansorbench.storage import StorageError
    from pytest_ansorbench.tuning import settings_of

    _check_positive(given, "points")
    if given.points > MOST_POINTS:
        raise Refusal(f"bad --points {given.points}: expected at most {MOST_POINTS}, e.g. 3000")
    if given.seed < 0:
        raise Refusal(f"bad --seed {given.seed}: expected 0 or more")
    if given.license not in LICENSES:
        raise Refusal(f"bad --license {given.license!r}: expected one of {', '.join(LICENSES)}")
    gc.enable()  # it is long, and makes garbage
    cases = [case_given(word, ()) for word in given.cases]
    effort = Effort(points=given.points, seed=given.seed, license=given.license)
    case = cases[0]
    try:
        with engine_of(settings_of({"target": given.target})) as engine:
            for case in cases:
                path = record(
                    case,
                    engine,
                    effort,
                    given.output,
                    storage=given.storage,
                    root=Path.cwd(),
                    tell=_tell_advance,
                )
                print(f"written to {path}", flush=True)
    except (StorageError, UnrecordableError) as error:
        raise Refusal(str(error)) from None
    except REFUSALS as error:
        raise Refusal(why(error, case.id).replace("--ansor-", "--")) from None
    except KeyboardInterrupt:
        print("interrupted: the same command goes on", file=sys.stderr)
        return UNDECIDED
    return HOLDS


def _tell_advance(now: Advance) -> None:
    from pytest_ansorbench.report.wording import counted

    is_live = sys.stderr.isatty()
    if now.done < now.points and not is_live and now.done % 100:
        return
    text = (
        f"{now.case}  {now.done}/{counted(now.points, now.unit)}, {now.failed} failed, "
        f"{now.left_s:.0f} s left"
    )
    end = "" if is_live and now.left_s else "\n"
    print(f"\r{text}\x1b[K" if is_live else text, end=end, file=sys.stderr, flush=True)


def _check(given: argparse.Namespace) -> int:
    from tabulate import tabulate

    from pytest_ansorbench.environment import check_toolchain
    from pytest_ansorbench.landscapes.card import Card
    from pytest_ansorbench.landscapes.checking import faults
    from pytest_ansorbench.landscapes.files import read_landscape
    from pytest_ansorbench.report.render.text import printable
    from pytest_ansorbench.report.wording import percent_text, throughput_text

    if given.programs:
        check_toolchain()
    found = [one for path in given.files for one in faults(path, programs=given.programs)]
    for one in found:
        print(printable(one))
    if found:
        return BROKEN
    cards = [Card.of(read_landscape(path)) for path in given.files]
    rows = [
        [
            printable(one.case),
            one.points,
            one.programs,
            one.failed,
            throughput_text(one.best_gflops),
            percent_text(one.median_share, 2),
            one.near,
            percent_text(one.noise, 2),
        ]
        for one in cards
    ]
    headers = [
        *("operator", "points", "programs", "failed", "fastest, GFLOP/s"),
        *("median", "within 5%", "noise"),
    ]
    print(tabulate(rows, headers, colalign=("left", *["right"] * 7)))
    cpus = ", ".join(sorted({one.cpu for one in cards}))
    print(f"{len(cards)} checked, of {printable(cpus)}: nothing is wrong")
    return HOLDS


def _replay(given: argparse.Namespace) -> int:
    from tabulate import tabulate

    from pytest_ansorbench.budget import Budget, Trials
    from pytest_ansorbench.landscapes.files import read_landscape
    from pytest_ansorbench.landscapes.replaying import Plan, replay
    from pytest_ansorbench.options import values
    from pytest_ansorbench.storage import write_result

    for name in ("trials", "repeats"):
        _check_positive(given, name)
    check_outputs([given.output], given.files)
    landscapes = {path: read_landscape(path) for path in given.files}
    by_fingerprint = {one.fingerprint: path for path, one in landscapes.items()}
    if len(by_fingerprint) < len(given.files):
        raise Refusal("bad FILE: expected each landscape once")
    run_time_s = None
    if given.run_time is not None:
        run_time_s = parsed("--run-time", given.run_time, values.duration)
    budget = Budget(Trials(given.trials), run_time_s=run_time_s)
    plan = Plan(given.trials, budget.a_round(1), given.repeats, run_time_s)
    runs: dict[str, list[tuple[Run, float]]] = defaultdict(list)
    gc.enable()
    result = replay(
        [*landscapes.values()],
        _strategies(given.strategy),
        plan,
        lambda run, proposing_s: runs[run.strategy].append((run, proposing_s)),
    )
    write_result(result, given.output)
    rows = [
        [
            name,
            sum(len(run.trials) for run, _ in of_arm) / len(of_arm),
            sum(run.search_s for run, _ in of_arm) / len(of_arm),
            sum(proposing_s for _, proposing_s in of_arm) / len(of_arm),
        ]
        for name, of_arm in runs.items()
    ]
    headers = ["strategy", "trials", "recorded seconds", "seconds proposing here"]
    print(tabulate(rows, headers, floatfmt=("", ".0f", ".1f", ".2f")))
    print(f"written to {given.output}: ansor-bench show {given.output}")
    return HOLDS


def _strategies(text: str) -> list[Strategy]:
    names = [name.strip() for name in text.split(",")]
    if len(set(names)) < len(names):
        raise Refusal(f"bad --strategy {text!r}: expected each once, e.g. draft,autotvm")
    return strategies_given(names)


def _check_positive(given: argparse.Namespace, name: str) -> None:
    value = getattr(given, name)
    if value < 1:
        raise Refusal(f"bad --{name} {value}: expected a number above 0, e.g. 128")
