"""Why a network takes longer than its tasks add up to.

    python benchmarks/end_to_end.py [--case ID,ID] [--trials N]

Tunes each network by random search with N trials a task, and compiles it with the best programs.
Then, in turn: whole inferences; inferences in which an instrument of TVM's virtual machine times
every call; each task alone, as in a search, over and over on the same arguments (warm caches);
alone after 64 MB were copied (cold caches); and alone after what precedes a call in the network, as
an engine with `caches="network"` times it. What an inference takes beyond the sum of warm tasks is
then either within the calls, which find the caches as the other tasks left them, or between them.
The instrument is a Python function, which adds some microseconds to each call.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from searched import bests, searched
from tabulate import tabulate

from pytest_ansorbench import workloads
from pytest_ansorbench.measure.arguments import Arguments, shapes_of
from pytest_ansorbench.measure.local.caches import Predecessors
from pytest_ansorbench.measure.local.compiled import evaluate
from pytest_ansorbench.measure.local.engine import local_engine
from pytest_ansorbench.measure.local.lowering import (
    KERNEL_ENTRY,
    compile_module,
    network_executable,
)
from pytest_ansorbench.measure.local.places import tensors_on
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.workloads.networks.apply import with_schedules

if TYPE_CHECKING:
    from tvm.runtime import Module
    from tvm.target import Target

    from pytest_ansorbench.search.task_search import Best
    from pytest_ansorbench.workloads.case import NetworkCase, Task

TURNS: Final = 10
INFERENCES_A_TURN: Final = 10
FLUSH_BYTES: Final = 64 << 20
CALLS_AS_IN_NETWORK: Final = 5
"""Calls a turn, each of which is timed alone."""
ALONE_S: Final = 0.01
"""How long a warm task is repeated for one sample."""
COLUMNS: Final = {
    "warm_s": "alone, warm (ms)",
    "within_s": "within (ms)",
    "as_network_s": "alone, as within (ms)",
    "cold_s": "alone, cold (ms)",
}


def main() -> None:
    """Tune, measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--case", default="resnet18-n1-s224,mobilenetv2-n1-s224,resnet50-n1-s224")
    parser.add_argument("--trials", type=int, default=8, help="trials a task (default: 8)")
    given = parser.parse_args()
    for case_id in given.case.split(","):
        case = workloads.get(case_id)
        tasks = case.tasks()
        with local_engine(None, EngineSettings()) as engine:
            trials, round_trials = given.trials * len(tasks), max(1, given.trials // 2)
            found = bests(searched(case, tasks, "random", engine, trials, round_trials))
        # TVM's own default is half of the cores.
        os.environ["TVM_NUM_THREADS"] = str(engine.target.attrs["num-cores"])
        print(report(case_id, measured(case, tasks, found, engine.target)), end="\n\n")


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
    def of(cls, task: Task, best: Best, target: Target) -> Alone:
        """Compile it."""
        arguments = Arguments(shapes_of(best.args_info), None)
        assert task.surroundings is not None
        predecessors = Predecessors(arguments.inputs, task.surroundings)
        return cls(compile_module(best.mod, target), arguments, predecessors)

    def seconds(self, number: int, samples: int = 1, **how: Any) -> list[float]:
        """Means of so many calls."""
        tensors = tensors_on(self.arguments.arrays)
        return evaluate(self.kernel, KERNEL_ENTRY, tensors, number, samples, **how)


def measured(
    case: NetworkCase, tasks: Sequence[Task], found: Sequence[Best], target: Target
) -> dict[str, Any]:
    """All figures of one network, in seconds; medians over the turns."""
    import tvm
    from tvm import relax

    program = with_schedules(case.program(), tasks, [best.mod for best in found])
    plain, instrumented = (
        relax.VirtualMachine(network_executable(program, target), tvm.cpu()) for _ in range(2)
    )
    calls = Calls()
    instrumented.set_instrument(calls)
    tensors = [tvm.runtime.tensor(array) for array in case.arguments()]
    alone = [Alone.of(task, best, target) for task, best in zip(tasks, found, strict=True)]
    often = [max(1, round(ALONE_S / best.latency_s)) for best in found]
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
            before = kernel.predecessors.registered()
            warm[index] += kernel.seconds(often[index])
            cold[index] += kernel.seconds(1, flush_bytes=FLUSH_BYTES)
            as_network[index] += kernel.seconds(1, CALLS_AS_IN_NETWORK, before=before)
    inferences = TURNS * INFERENCES_A_TURN
    of_tasks = [
        {
            "task": task.name,
            "weight": task.weight,
            "warm_s": task.weight * median(warm[index]),
            "within_s": an_inference(calls.seconds.pop(task.name), inferences),
            "cold_s": task.weight * median(cold[index]),
            "as_network_s": task.weight * median(as_network[index]),
        }
        for index, task in enumerate(tasks)
    ]
    return {
        "end_to_end_s": median(whole),
        "machine_calls_s": sum(an_inference(s, inferences) for s in calls.seconds.values()),
        "tasks": of_tasks,
    }


def an_inference(seconds: Sequence[float], inferences: int) -> float:
    """Median over the inferences of what all calls of a function take together."""
    calls = len(seconds) // inferences
    return median(sum(seconds[i * calls : (i + 1) * calls]) for i in range(inferences))


def report(case: str, figures: dict[str, Any]) -> str:
    """The tasks that gain or lose most, and the sums."""
    ranked = sorted(figures["tasks"], key=lambda task: task["warm_s"] - task["within_s"])
    rows = [[task["task"], task["weight"], *_ms([task])] for task in ranked[:5]]
    rows += [[f"{len(ranked[5:])} more", "", *_ms(ranked[5:])], ["all", "", *_ms(ranked)]]
    headings = ["task", "weight", *COLUMNS.values()]
    aligned = ("left", *["right"] * 5)
    table = tabulate(rows, headings, colalign=aligned, disable_numparse=True)
    machine_ms = 1e3 * figures["machine_calls_s"]
    return (
        f"{case}: {1e3 * figures['end_to_end_s']:.3f} ms end to end, {machine_ms:.3f} ms of an "
        f"instrumented inference in calls of the virtual machine itself\n{table}"
    )


def _ms(tasks: Sequence[dict[str, Any]]) -> list[str]:
    return [f"{1e3 * sum(task[column] for task in tasks):.3f}" for column in COLUMNS]


if __name__ == "__main__":
    main()
