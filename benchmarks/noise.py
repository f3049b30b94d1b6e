"""What a latency is worth here: the same kernel twice, known differences, noise over time.

    python benchmarks/noise.py [--measurements 10] [--json FILE] [--figures FOLDER]

- One kernel as two arms, again and again in fresh processes, by the former final measurement (10
  samples of 100 ms, each after 0.3 s of rest) and by slices: as they are by default, for the
  seconds that the former took, and for 2 s. Whatever the ratio is but 1 is noise.
- Kernels whose work differs by 1, 2 and 5%, and whether an arm is favoured by its place.
- One kernel for 20 s: how far it scatters, and for how long.

25 minutes at full size. With `--json`, the same command goes on where it was interrupted.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from noise_report import OPERATORS, OTHER_PERCENT, draw_figures, report
from notebook import Notebook
from searched import bests, searched

from pytest_ansorbench import workloads
from pytest_ansorbench.measure.local.engine import LocalEngine, local_engine
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.records import Remeasurement
from pytest_ansorbench.stats.paired_ratio import NeighbourRatios

if TYPE_CHECKING:
    from pytest_ansorbench.workloads.case import Check

FORMER: Final = SideBySide.of_samples(10)
WAYS: Final[Mapping[str, SideBySide]] = {
    "former": FORMER,
    "default": SideBySide(),
    # Seconds of the former measurement of two arms, without compiling.
    "equal": SideBySide(
        precision=0.0, turns=Span(30, 30), sets=Span(1, 1000), most_s=10 * 2 * (0.1 + 0.3)
    ),
    # Three sets are through in less on a quiet machine; on a busy one, what has begun by then
    # takes up to half a second more.
    "cheap": SideBySide(precision=0.0, turns=Span(20, 20), sets=Span(3, 3), most_s=1.6),
}

PIECES: Final = 100
"""Of the kernel that others of known work are compared with."""
PIECE: Final = 64
"""Rows and columns of the matrices of a piece, which stay in a core's first cache."""
VECTOR: Final = 16
PLACE_EFFORT: Final = SideBySide(precision=0.0, turns=Span(20, 20), sets=Span(3, 3))
LINEUPS: Final[Mapping[str, tuple[Sequence[int], SideBySide]]] = {
    "work": ((PIECES, *(PIECES + percent for percent in OTHER_PERCENT)), SideBySide()),
    "forward": ((PIECES, PIECES + OTHER_PERCENT[-1]), PLACE_EFFORT),
    "backward": ((PIECES + OTHER_PERCENT[-1], PIECES), PLACE_EFFORT),
}

MEMORY_S: Final = 20.0
MEMORY_SLICE_S: Final = 0.003


def main() -> None:
    """Measure what is missing, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--measurements", type=int, default=10, help="of a figure (default: 10)")
    parser.add_argument("--json", type=Path, help="keep everything measured here, and go on there")
    parser.add_argument("--figures", type=Path, metavar="FOLDER", help="draw them there")
    given = parser.parse_args()
    notebook = Notebook(given.json)
    with local_engine(None, EngineSettings()) as engine:
        measure_noise(engine, notebook, given.measurements)
        measure_work(engine, notebook, given.measurements)
        notebook.fill(partial(trace, engine), part="memory")
    print(report(notebook.pieces))
    if given.figures:
        draw_figures(notebook.pieces, given.figures)


def measure_noise(engine: LocalEngine, notebook: Notebook, measurements: int) -> None:
    """One kernel as two arms, by each way; the ways take turns, so that drifts meet all alike."""
    subjects = {operator: subject(engine, notebook, operator) for operator in OPERATORS}
    names = list(WAYS)
    for number in range(measurements):
        start = number % len(names)
        for operator, (program, check) in subjects.items():
            for way in names[start:] + names[:start]:
                both = partial(side_by_side, engine, [program, program], check, WAYS[way])
                notebook.fill(both, part="noise", operator=operator, way=way, number=number)


def subject(engine: LocalEngine, notebook: Notebook, operator: str) -> tuple[Program, Check | None]:
    """A tuned kernel of an operator: the one that was measured before, or a new one."""
    from tvm.ir import load_json, save_json
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo

    case = workloads.get(operator)
    [task] = case.tasks()

    def tuned() -> dict[str, Any]:
        [best] = bests(searched(case, [task], "random", engine, 24, 12))
        return {"program": save_json(best.mod)}

    mod = load_json(notebook.fill(tuned, part="tuning", operator=operator)["program"])
    return Program.kernel(mod, ArgInfo.from_prim_func(task.mod["main"])), task.check


def side_by_side(
    engine: LocalEngine, programs: Sequence[Program], check: Check | None, effort: SideBySide
) -> dict[str, Any]:
    """One fresh measurement, without compiling anything before.

    Returns:
        `levels_s`, each arm's latency; `log_ratios`, of each arm but the first to the first;
        `half_widths` of their intervals, None where there is none; `logs`, per arm, set and turn,
        of which they were made, empty for the former method.

    Raises:
        SystemExit: A program failed.
    """
    arms = []
    for arm in engine.measure_side_by_side(programs, check, effort):
        if arm.status != "ok":
            raise SystemExit(f"a kernel failed: {arm.status} {arm.error}")
        # As it was before there were sets: the mean of the faster half of the samples.
        former = Remeasurement(None, arm.status, arm.latencies_s)
        arms.append(former if effort == FORMER else arm)
    levels_s = [arm.latency_s or math.nan for arm in arms]
    pairs = [NeighbourRatios.of(arm, arms[0]) for arm in arms[1:]]
    widths = [math.inf if pair is None else pair.half_width() for pair in pairs]
    return {
        "levels_s": levels_s,
        "log_ratios": [
            math.log(level_s / levels_s[0]) if pair is None else pair.log_ratio
            for level_s, pair in zip(levels_s[1:], pairs, strict=True)
        ],
        "half_widths": [width if math.isfinite(width) else None for width in widths],
        "logs": [[[round(log, 5) for log in logs] for logs in pair.logs] for pair in pairs if pair],
    }


def piecework(pieces: int, cores: int) -> Program:
    """A kernel whose work is known: equal pieces, one after the other, on each of its threads.

    A piece adds a product of two small matrices to a thread's own output. Floating-point sums
    must not be reordered, so no compiler can merge two pieces.

    Args:
        pieces: Of each thread's part of the output.
        cores: How many parts the output has.
    """
    from tvm import IRModule, te
    from tvm.s_tir import Schedule
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo

    left = te.placeholder((PIECE, PIECE), "float32", name="left")
    right = te.placeholder((PIECE, PIECE), "float32", name="right")
    piece = te.reduce_axis((0, pieces), name="piece")
    k = te.reduce_axis((0, PIECE), name="k")
    output = te.compute(
        (cores, PIECE, PIECE),
        lambda part, i, j: te.sum(left[i, k] * right[k, j], axis=[piece, k]),
        name="products",
    )
    func = te.create_prim_func([left, right, output])
    func = func.with_attr("global_symbol", "main").with_attr("tirx.noalias", True)
    schedule = Schedule(IRModule({"main": func}))
    block = schedule.get_sblock("products")
    part, i, j, one, inner = schedule.get_loops(block)
    schedule.reorder(part, one, i, inner, j)
    schedule.parallel(part)
    schedule.vectorize(schedule.split(j, [None, VECTOR])[1])
    schedule.decompose_reduction(block, one)
    return Program.kernel(schedule.mod, ArgInfo.from_prim_func(func))


def pieceworks(engine: LocalEngine, pieces: Sequence[int]) -> list[Program]:
    """Some kernels of known work as this engine takes them."""
    return [piecework(one, int(engine.target.attrs["num-cores"])) for one in pieces]


def measure_work(engine: LocalEngine, notebook: Notebook, measurements: int) -> None:
    """Kernels of known work, in line-ups that ought not to matter."""
    for number in range(measurements):
        for lineup, (pieces, effort) in LINEUPS.items():
            measure = partial(side_by_side, engine, pieceworks(engine, pieces), None, effort)
            notebook.fill(measure, part="work", lineup=lineup, number=number)


def trace(engine: LocalEngine) -> dict[str, Any]:
    """One kernel in short slices, without a break, in one process.

    Raises:
        SystemExit: It does not compile.
    """
    [built] = engine.build(pieceworks(engine, [PIECES]), None)
    worker = built.handle
    if worker is None:
        raise SystemExit(f"a kernel does not compile: {built.error}")
    worker.make_arguments()
    worker.first_call()
    latencies_s, started_s = [], []
    calls = 10
    for _ in range(3):
        [latency_s] = worker.time(calls)
        calls = max(1, round(MEMORY_SLICE_S / latency_s))
    end_s = time.monotonic() + MEMORY_S
    while time.monotonic() < end_s:
        started_s.append(time.monotonic())
        worker.allow(30.0)
        [latency_s] = worker.time(calls)
        latencies_s.append(float(f"{latency_s:.6g}"))
    engine.discard(built)
    period_s = (started_s[-1] - started_s[0]) / (len(started_s) - 1)
    return {"period_s": period_s, "latencies_s": latencies_s}


if __name__ == "__main__":
    main()
