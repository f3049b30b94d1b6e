"""Why a network takes longer than its tasks add up to.

    python benchmarks/end_to_end.py [--case ID,ID] [--trials N | --result RESULT] [--json FILE]

Tunes each network by random search with N trials a task, or takes the schedules of each run in
RESULT, and compiles it with the best programs. Then, in turn: whole inferences; inferences in which
an instrument of TVM's virtual machine times every call; each task alone, as in a search, over and
over on the same arguments (warm caches); alone after 64 MB were copied (cold caches); and alone
after what precedes a call in the network, as an engine with `caches="network"` times it. What an
inference takes beyond the sum of warm tasks is then either within the calls, which find the caches
as the other tasks left them, or between them. The instrument is a Python function, which adds some
microseconds to each call.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from tabulate import tabulate

from pytest_ansorbench import workloads
from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.arguments import Arguments, shapes_of
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.measure.local.caches import Predecessors
from pytest_ansorbench.measure.local.compiled import (
    KERNEL_ENTRY,
    compile_module,
    compile_program,
    evaluate,
    tensors_on,
)
from pytest_ansorbench.measure.local.engine import LocalEngine
from pytest_ansorbench.measure.local.machine import describe_machine
from pytest_ansorbench.search import Search
from pytest_ansorbench.storage import describe_commit, read_result
from pytest_ansorbench.strategies import Registry
from pytest_ansorbench.winners import winners_of
from pytest_ansorbench.workloads.networks.apply import with_schedules

if TYPE_CHECKING:
    from tvm.runtime import Module
    from tvm.target import Target

    from pytest_ansorbench.search.task_search import Best
    from pytest_ansorbench.strategies.candidate import Candidate
    from pytest_ansorbench.workloads.case import NetworkCase, Task

TURNS: Final = 10
INFERENCES_A_TURN: Final = 10
FLUSH_BYTES: Final = 64 << 20
CALLS_AS_IN_NETWORK: Final = 5
"""Calls a turn, each of which is timed alone."""
ALONE_S: Final = 0.01
"""How long a warm task is repeated for one sample."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--case", default="resnet18-n1-s224,mobilenetv2-n1-s224,resnet50-n1-s224")
    parser.add_argument("--trials", type=int, default=8, help="trials a task (default: 8)")
    parser.add_argument("--result", type=Path, help="whose schedules to take, of each run")
    parser.add_argument("--json", type=Path, help="file for the figures")
    given = parser.parse_args()
    record = {"machine": describe_machine(), "commit": describe_commit(Path.cwd())}
    target = resolve_target(None)
    register_intrinsics(target)
    # TVM's own default is half of the cores.
    os.environ["TVM_NUM_THREADS"] = str(target.attrs["num-cores"])
    rows = []
    for run in recorded(given.result) if given.result else random_runs(given, target):
        rows.append({"case": run.title, **measured(run.case, run.tasks, target)})
        print(report(rows[-1]), end="\n\n")
    if given.json:
        given.json.write_text(json.dumps({**record, "rows": rows}, indent=1) + "\n")


@dataclass(frozen=True)
class Tuned:
    """A task, and the best program that was found for it.

    Attributes:
        task: The task.
        best: The program.
        latency_s: Its latency, as far as is known.
    """

    task: Task
    best: Best | Candidate
    latency_s: float


@dataclass(frozen=True)
class TunedNetwork:
    """A network, and what a run made of each of its tasks."""

    title: str
    case: NetworkCase
    tasks: Sequence[Tuned]


def recorded(path: Path) -> Iterator[TunedNetwork]:
    """The networks of a result, as each of its runs tuned them.

    Raises:
        SystemExit: A run has no valid trial of a task.
    """
    winners = winners_of(read_result(path))
    for (case_id, arm, seed), of_run in groupby(
        winners, key=lambda one: (one.case, one.strategy, one.seed)
    ):
        case, found = workloads.get(case_id), [*of_run]
        tasks = case.tasks()
        if len(found) < len(tasks):
            raise SystemExit(f"{path}: {case_id} by {arm} has no valid trial of some task")
        tuned = [Tuned(tasks[one.place], one.candidate(), one.latency_s) for one in found]
        yield TunedNetwork(f"{case_id} by {arm}, seed {seed}", case, tuned)


def random_runs(given: argparse.Namespace, target: Target) -> Iterator[TunedNetwork]:
    """Networks tuned at random."""
    for case_id in given.case.split(","):
        case = workloads.get(case_id)
        yield TunedNetwork(case_id, case, tuned_at_random(case, target, given.trials))


def tuned_at_random(case: NetworkCase, target: Target, trials: int) -> list[Tuned]:
    """The tasks of a network after so many random trials each.

    Raises:
        SystemExit: A task has no valid trial.
    """
    tasks = case.tasks()
    with LocalEngine(target) as engine:
        search = Search(
            case,
            tasks,
            Registry().get("random"),
            engine,
            seed=0,
            budget_trials=trials * len(tasks),
            round_trials=max(1, trials // 2),
        )
        while not search.finished:
            search.step()
    print(f"{case.id}: {len(search.trials)} trials", file=sys.stderr)
    lacking = [tuned.task.name for tuned in search.tasks if tuned.best is None]
    if lacking:
        raise SystemExit(f"no valid trial of {', '.join(lacking)}: give more --trials")
    return [
        Tuned(tuned.task, tuned.best, tuned.best.latency_s)
        for tuned in search.tasks
        if tuned.best is not None
    ]


@dataclass
class Calls:
    """An instrument: what each call of one inference after the other takes.

    Attributes:
        seconds: Per function, of every call.
    """

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def __call__(self, _: object, name: str, before: bool, *arguments: object) -> int:
        """Is called before and after; 0 tells the machine to go on."""
        now = time.perf_counter()
        if before:
            self._started = now
        else:
            self.seconds[name].append(now - self._started)
        return 0


@dataclass
class Alone:
    """A task's best program by itself, with arguments of its own."""

    kernel: Module
    arguments: Arguments
    predecessors: Predecessors

    @classmethod
    def of(cls, tuned: Tuned, target: Target) -> Alone:
        """Compile it."""
        arguments = Arguments(shapes_of(tuned.best.args_info), None)
        assert tuned.task.surroundings is not None
        return cls(
            compile_module(tuned.best.mod, target),
            arguments,
            Predecessors(arguments.arrays, tuned.task.surroundings),
        )

    def seconds(self, number: int, flush_bytes: int) -> float:
        """Mean of so many calls."""
        tensors = tensors_on(self.arguments.arrays)
        [each] = evaluate(self.kernel, KERNEL_ENTRY, tensors, number, 1, flush_bytes=flush_bytes)
        return each

    def seconds_as_in_network(self) -> list[float]:
        """Of single calls, each after what precedes it in its network."""
        before = self.predecessors.registered()
        return evaluate(
            self.kernel,
            KERNEL_ENTRY,
            tensors_on(self.arguments.arrays),
            1,
            CALLS_AS_IN_NETWORK,
            before=before,
        )


def measured(case: NetworkCase, tasks: Sequence[Tuned], target: Target) -> dict[str, Any]:
    """All figures of one network, in seconds; medians over the turns."""
    import tvm

    found = [tuned.best.mod for tuned in tasks]
    program = with_schedules(case.program(), [tuned.task for tuned in tasks], found)
    plain, instrumented = (compile_program(program, target) for _ in range(2))
    calls = Calls()
    instrumented.set_instrument(calls)
    tensors = [tvm.runtime.tensor(array) for array in case.arguments()]
    alone = [Alone.of(tuned, target) for tuned in tasks]
    often = [max(1, round(ALONE_S / tuned.latency_s)) for tuned in tasks]
    whole: list[float] = []
    warm, cold, as_network = ([[] for _ in tasks] for _ in range(3))
    plain["main"](*tensors)
    for _ in range(TURNS):
        for _ in range(INFERENCES_A_TURN):
            started = time.perf_counter()
            plain["main"](*tensors)
            whole.append(time.perf_counter() - started)
        for _ in range(INFERENCES_A_TURN):
            instrumented["main"](*tensors)
        for index, kernel in enumerate(alone):
            warm[index].append(kernel.seconds(often[index], 0))
            cold[index].append(kernel.seconds(1, FLUSH_BYTES))
            as_network[index] += kernel.seconds_as_in_network()
    inferences = TURNS * INFERENCES_A_TURN
    of_tasks = [
        {
            "task": tuned.task.name,
            "weight": tuned.task.weight,
            "warm_s": tuned.task.weight * median(warm[index]),
            "within_s": _an_inference(calls.seconds.pop(tuned.task.name), inferences),
            "cold_s": tuned.task.weight * median(cold[index]),
            "as_network_s": tuned.task.weight * median(as_network[index]),
        }
        for index, tuned in enumerate(tasks)
    ]
    return {
        "end_to_end_s": median(whole),
        "machine_calls_s": sum(_an_inference(s, inferences) for s in calls.seconds.values()),
        "tasks": of_tasks,
    }


def _an_inference(seconds: Sequence[float], inferences: int) -> float:
    """Median over the inferences of what all calls of a function take together."""
    calls = len(seconds) // inferences
    return median(sum(seconds[i * calls : (i + 1) * calls]) for i in range(inferences))


def report(row: dict[str, Any]) -> str:
    """The tasks that gain or lose most, and the sums."""
    columns = ("warm_s", "within_s", "as_network_s", "cold_s")
    ranked = sorted(row["tasks"], key=lambda task: task["warm_s"] - task["within_s"])
    table = [
        [task["task"], task["weight"], *(f"{1e3 * task[column]:.3f}" for column in columns)]
        for task in ranked[:5]
    ]
    rest = [sum(task[column] for task in ranked[5:]) for column in columns]
    table.append([f"{len(ranked[5:])} more", "", *(f"{1e3 * seconds:.3f}" for seconds in rest)])
    sums = [sum(task[column] for task in ranked) for column in columns]
    table.append(["all", "", *(f"{1e3 * seconds:.3f}" for seconds in sums)])
    machine_ms = 1e3 * row["machine_calls_s"]
    lines = tabulate(
        table,
        headers=[
            "task",
            "weight",
            "alone, warm (ms)",
            "within (ms)",
            "alone, as within (ms)",
            "alone, cold (ms)",
        ],
        colalign=("left", *["right"] * 5),
        disable_numparse=True,
    )
    return (
        f"{row['case']}: {1e3 * row['end_to_end_s']:.3f} ms end to end, {machine_ms:.3f} ms of an "
        f"instrumented inference in calls of the virtual machine itself\n{lines}"
    )


if __name__ == "__main__":
    main()
