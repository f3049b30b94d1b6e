"""Commands about the schedules that results keep: schedule, export."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.cli.exits import HOLDS, Refusal
from pytest_ansorbench.cli.stored import (
    add_storage,
    check_outputs,
    listed,
    narrowed,
    read_stored,
)

if TYPE_CHECKING:
    from tvm.target import Target

    from pytest_ansorbench.winners import Winner


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    schedule = commands.add_parser(
        "schedule",
        help="print the schedule that a search came to",
        description="Prints the winning schedule of a run: its trace, and the scheduled program "
        "as TVMScript. Of several runs, that of the fastest kernel.",
    )
    schedule.add_argument("result", help="name, number or file of a result")
    schedule.add_argument(
        "case", nargs="?", help="id of one of its cases; not needed if there is one only"
    )
    schedule.add_argument("--strategy", metavar="NAME", help="of this arm only")
    schedule.add_argument("--seed", metavar="N", help="of this repeat only")
    schedule.add_argument(
        "--task", metavar="TASK", help="name of a network's task, or its id as `tasks` lists it"
    )
    schedule.add_argument(
        "--only", choices=("trace", "program"), help="print this alone (default: both)"
    )
    add_storage(schedule)
    schedule.set_defaults(run=_schedule)

    export = commands.add_parser(
        "export",
        help="write the best schedules to a database that stock TVM compiles with",
        description="Writes the fastest schedules of each task to a new database of "
        "MetaSchedule's, over all runs and arms of the given results. With TVM: "
        "database = ms.database.JSONDatabase(work_dir=DIR).",
    )
    export.add_argument(
        "results",
        nargs="+",
        metavar="RESULT",
        help="name, number or file of a result, or the file of a journal (.jsonl, .jsonl.gz), "
        "which has the schedules of all trials",
    )
    export.add_argument(
        "--database", type=Path, required=True, metavar="DIR", help="folder to make it in"
    )
    export.add_argument("--case", metavar="ID", help="of this case only")
    export.add_argument("--strategy", metavar="NAME", help="of this arm only")
    export.add_argument(
        "--top",
        type=int,
        default=1,
        metavar="K",
        help="schedules of each task (default: %(default)s)",
    )
    add_storage(export)
    export.set_defaults(run=_export)
    _add_import(commands)


def _add_import(commands: argparse._SubParsersAction[Any]) -> None:
    imported = commands.add_parser(
        "import",
        help="read a database of stock TVM's as a result",
        description="Reads tuning logs, a JSON database of MetaSchedule's, as a result with one "
        "arm: schedule prints its schedules, kernels measures them beside those of other arms. "
        "Records say neither when they were measured nor on what, so it has no search time.",
    )
    imported.add_argument(
        "--database", type=Path, required=True, metavar="DIR", help="its work_dir"
    )
    imported.add_argument(
        "--case",
        metavar="ID,ID",
        help="look for tasks of these cases (default: the operators of Ansor's paper)",
    )
    imported.add_argument(
        "--strategy", default="imported", metavar="NAME", help="of the arm (default: %(default)s)"
    )
    imported.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE", help="file to write"
    )
    imported.set_defaults(run=_import)


def _import(given: argparse.Namespace) -> int:
    from pytest_ansorbench.environment import check_toolchain
    from pytest_ansorbench.report.render.text import printable
    from pytest_ansorbench.storage import write_result
    from pytest_ansorbench.strategies.registry import check_strategy_name
    from pytest_ansorbench.winners import import_database
    from pytest_ansorbench.winners.database import DATABASE_FILES
    from pytest_ansorbench.workloads import OPERATORS, UnknownCase, get

    try:
        names = given.case.split(",") if given.case else ()
        cases = [get(name.strip()) for name in names] or OPERATORS
    except UnknownCase as error:
        raise Refusal(f"bad --case: {error}") from None
    check_strategy_name(given.strategy)
    check_outputs([given.output], (given.database / name for name in DATABASE_FILES))
    check_toolchain()
    imported = import_database(given.database, cases, given.strategy)
    for line in imported.dropped:
        print(f"left out: {printable(line)}")
    if not imported.records:
        raise Refusal(
            f"bad --database {str(given.database)!r}: none of its {imported.left_out} records "
            "is of a task of these cases; name them with --case"
        )
    write_result(imported.result, given.output)
    print(
        f"{given.output}: cases: {len(imported.result.cases)}, records: {imported.records}, "
        f"left out: {imported.left_out}"
    )
    return HOLDS


def _schedule(given: argparse.Namespace) -> int:
    from pytest_ansorbench.environment import check_toolchain
    from pytest_ansorbench.packed import PackedError
    from pytest_ansorbench.report.render.text import code_lines, printable
    from pytest_ansorbench.report.wording import plain_text
    from pytest_ansorbench.winners import NO_SCHEDULES, Script, winners_of

    path, result = read_stored(given.storage, given.result)
    found = [*winners_of(result)]
    if not found:
        raise Refusal(f"bad result file {str(path)!r}: {NO_SCHEDULES}")
    found = _of_case(found, given.case)
    found = narrowed(found, "--strategy", given.strategy, lambda one: one.strategy)
    found = narrowed(found, "--seed", given.seed, lambda one: str(one.seed))
    winner = min(_of_task(found, given.task), key=lambda one: one.latency_s)
    check_toolchain()
    try:
        script = Script.of(winner)
    except PackedError as error:
        raise Refusal(f"bad result file {str(path)!r}: {winner.case}: {error}") from None
    head = f"# {winner.case}, {winner.strategy}, seed {winner.seed}, {winner.task.name}: "
    speed = f"{plain_text(1e3 * winner.latency_s)} ms, {plain_text(winner.gflops)} GFLOP/s"
    print(printable(head + speed))
    if given.only != "program":
        print("", "# the schedule, as calls of tvm.s_tir.Schedule", sep="\n")
        print(*code_lines(script.trace, 0), sep="\n")
    if given.only != "trace":
        print("", "# the scheduled program", *code_lines(script.program, 0), sep="\n")
    return HOLDS


def _export(given: argparse.Namespace) -> int:
    from pytest_ansorbench.packed import PackedError
    from pytest_ansorbench.report.render.text import printable
    from pytest_ansorbench.search import ResumeError
    from pytest_ansorbench.winners import NO_SCHEDULES, export_database

    if given.top < 1:
        raise Refusal(f"bad --top {given.top}: expected at least 1, e.g. 1")
    try:
        found = [one for source in given.results for one in _sourced(given.storage, source)]
        if not found:
            raise Refusal(f"bad RESULT {', '.join(given.results)}: {NO_SCHEDULES}")
        found = narrowed(found, "--case", given.case, lambda one: one[0].case)
        found = narrowed(found, "--strategy", given.strategy, lambda one: one[0].strategy)
        exported = export_database(found, given.database, top=given.top)
    except (PackedError, ResumeError) as error:
        raise Refusal(f"bad RESULT {', '.join(given.results)}: {error}") from None
    for line in exported.left_out:
        print(f"left out: {printable(line)}")
    print(
        f"{given.database}: programs: {exported.workloads}, schedules: {exported.records}; "
        f"ms.database.JSONDatabase(work_dir={str(given.database)!r}) reads it"
    )
    return HOLDS


def _sourced(storage: Path, source: str) -> Iterator[tuple[Winner, Target]]:
    """The winners of a result, or the trials of a journal, with their targets."""
    from pytest_ansorbench.bench.history import case_histories
    from pytest_ansorbench.environment import MisfitError, check_toolchain, resolve_target
    from pytest_ansorbench.storage import fingerprint, is_journal, read_journal
    from pytest_ansorbench.storage.entries import RepeatEntry
    from pytest_ansorbench.winners import tuned_in, winners_of

    check_toolchain()
    if is_journal(Path(source)):
        past = read_journal(Path(source))
        ended = [
            history.result([*filter(history.complete, history.repeats)])
            for history in case_histories(past).values()
        ]
        machines = {fingerprint(one.machine): one.machine for one in past.of(RepeatEntry)}
        winners = tuned_in(past, ended)
    else:
        _, result = read_stored(storage, source)
        machines, winners = dict(result.machines), winners_of(result)
    targets: dict[str, Target] = {}
    for winner in winners:
        if winner.machine not in targets:
            target = str(machines[winner.machine].get("target"))
            try:
                targets[winner.machine] = resolve_target(target)
            except MisfitError as error:
                raise Refusal(f"bad RESULT {source!r}: its {error}") from None
        yield winner, targets[winner.machine]


def _of_case(found: Sequence[Winner], case: str | None) -> list[Winner]:
    if case is None and len({one.case for one in found}) > 1:
        raise Refusal(f"expected a case, one of: {listed(one.case for one in found)}")
    return narrowed(found, "case", case, lambda one: one.case)


def _of_task(found: Sequence[Winner], task: str | None) -> list[Winner]:
    names = dict.fromkeys(f"{one.place} {one.task.name}" for one in found)
    if task is None and len(names) > 1:
        raise Refusal(f"expected --task, one of: {', '.join(names)}")
    if task is None:
        return [*found]
    of_task = [one for one in found if task in (one.task.name, str(one.place))]
    if not of_task:
        raise Refusal(f"bad --task {task!r}: expected one of: {', '.join(names)}")
    return of_task
