"""What a latency is worth here: the same kernel twice, known differences, noise over time.

    python benchmarks/noise.py [--part noise,truth,memory,waiting] [--measurements 10] [--json FILE]
    python benchmarks/noise.py --json FILE --figures FOLDER

`noise` measures one kernel as two arms, again and again in fresh processes, by the former final
measurement (10 samples of 100 ms, each after 0.3 s of rest) and by slices: as they are by default,
for the seconds that the former took, and for 2 s. Whatever the ratio is but 1 is noise. `truth`
measures kernels whose work differs by 1, 2 and 5%, and looks for arms that are favoured by their
place, the length of their call, or their threads. `memory` measures one kernel for 20 s: how far
it scatters, and for how long. `waiting` compares slices, between which TVM's threads busy-wait,
with rested measurements in the same processes, and with threads that sleep at once.

25 minutes at full size. With `--json`, every piece is kept as soon as it is measured, and the same
command goes on where it was interrupted. With `--figures`, nothing is measured: tables and figures
are made from the file.
"""

from __future__ import annotations

import argparse
import base64
import json
import math
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from noise_report import OPERATORS, OTHER_PERCENT, draw_figures, report

from pytest_ansorbench import workloads
from pytest_ansorbench.environment import ToolchainError
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.local.engine import LocalEngine, local_engine
from pytest_ansorbench.measure.local.machine import describe_machine
from pytest_ansorbench.measure.local.worker import Worker
from pytest_ansorbench.measure.outcomes import MeasuredInTurn
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.records import Remeasurement
from pytest_ansorbench.search import Search
from pytest_ansorbench.stats.paired_ratio import NeighbourRatios
from pytest_ansorbench.storage import describe_commit
from pytest_ansorbench.strategies import Registry

if TYPE_CHECKING:
    from pytest_ansorbench.workloads.case import Check, Task

TRIALS: Final = 24
"""Of random search, for a kernel that is worth measuring."""

FORMER: Final = SideBySide.of_samples(10)
FORMER_S: Final = 10 * 2 * (0.1 + 0.3)
"""Seconds of the former measurement of two arms, without compiling."""
WAYS: Final[Mapping[str, SideBySide]] = {
    "former": FORMER,
    "default": SideBySide(),
    "equal": SideBySide(precision=0.0, turns=Span(30, 30), sets=Span(1, 1000), most_s=FORMER_S),
    # Three sets are through in less on a quiet machine; on a busy one, what has begun by then
    # takes up to half a second more.
    "cheap": SideBySide(precision=0.0, turns=Span(20, 20), sets=Span(3, 3), most_s=1.6),
}

PIECES: Final = 100
"""Of the kernel that others of known work are compared with."""
SHORT_PIECES: Final = 13
LONG_PIECES: Final = 1300
PIECE: Final = 64
"""Rows and columns of the matrices of a piece, which stay in a core's first cache."""
VECTOR: Final = 16
LINEUP_EFFORT: Final = SideBySide(precision=0.0, turns=Span(20, 20), sets=Span(3, 3))

MEMORY_S: Final = 20.0
MEMORY_SLICE_S: Final = 0.003

BLOCKS: Final = 8
BLOCK_TURNS: Final = 14
RESTED_TURNS: Final = 3
REST_S: Final = 0.3
WARM_UP_S: Final = 0.02
SLICE_S: Final = 0.005
SPIN_EFFORT: Final = SideBySide(precision=0.0, turns=Span(30, 30), sets=Span(1, 1))
SPIN_COUNT: Final = "TVM_THREAD_POOL_SPIN_COUNT"


def main() -> None:
    """Measure what is missing, and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--part",
        type=_parts,
        default=list(PARTS),
        metavar="PART,PART",
        help=f"parts, separated by commas (default: {','.join(PARTS)})",
    )
    parser.add_argument(
        "--measurements", type=_several, default=10, help="fresh ones of a figure (default: 10)"
    )
    parser.add_argument("--json", type=Path, help="keep everything measured here, and go on there")
    parser.add_argument(
        "--figures", type=Path, metavar="FOLDER", help="draw what --json has, measure nothing"
    )
    given = parser.parse_args()
    if given.figures and not (given.json and given.json.exists()):
        parser.error("--figures draws what an earlier run has measured: give its --json FILE")
    try:
        notebook = Notebook(given.json)
    except (OSError, ValueError) as error:
        parser.error(f"--json {given.json}: {error}")
    if given.figures:
        print(report(notebook.pieces, notebook.busy_cores))
        given.figures.mkdir(parents=True, exist_ok=True)
        for path in draw_figures(notebook.pieces, given.figures):
            print(path)
        return
    notebook.begin()
    try:
        with local_engine(None, EngineSettings()) as engine:
            notebook.note_load(engine.observe().busy_cores)
            for part in given.part:
                PARTS[part](engine, notebook, given.measurements)
            notebook.note_load(engine.observe().busy_cores)
    except (ToolchainError, EngineError) as error:
        raise SystemExit(f"error: {error}") from None
    print(report(notebook.pieces, notebook.busy_cores))


class Notebook:
    """What has been measured, piece by piece; on disk after each one, if there is a file.

    Attributes:
        pieces: JSON values; a piece is told by the part, and what of it, that it belongs to.
    """

    def __init__(self, path: Path | None) -> None:
        """Read what is there.

        Raises:
            OSError: The file cannot be read.
            ValueError: It is none of ours.
        """
        self._path = path
        self._record: dict[str, Any] = {"machine": describe_machine(), "sessions": [], "pieces": []}
        if path is not None and path.exists():
            try:
                record = json.loads(path.read_text(encoding="utf-8"))
            except ValueError:
                raise ValueError(
                    "expected a file that this benchmark wrote, it is no JSON"
                ) from None
            if not isinstance(record, dict) or record.keys() != self._record.keys():
                raise ValueError("expected a file that this benchmark wrote")
            self._record = record
        self.pieces: list[dict[str, Any]] = self._record["pieces"]

    @property
    def busy_cores(self) -> list[float]:
        """Cores that were busy with other work, before and after what each session measured."""
        sessions: list[dict[str, list[float]]] = self._record["sessions"]
        return [busy for session in sessions for busy in session["busy_cores"]]

    def begin(self) -> None:
        """Note that measuring starts, and with which code.

        Raises:
            SystemExit: What is there was measured on another machine.
        """
        if self._record["machine"] != describe_machine():
            raise SystemExit(
                f"{self._path} was measured on another machine, or with other versions: "
                "expected a file of this one, or a new one"
            )
        commit = describe_commit(Path(__file__).parent)  # before anyone edits it
        self._record["sessions"].append({"commit": commit, "busy_cores": []})

    def note_load(self, busy_cores: float) -> None:
        """Note how many cores were busy with other work."""
        self._record["sessions"][-1]["busy_cores"].append(busy_cores)
        self._write()

    def get(self, **key: Any) -> dict[str, Any] | None:
        """The piece with this key, if it has been measured."""
        return next((piece for piece in self.pieces if key.items() <= piece.items()), None)

    def fill(self, measure: Callable[[], Mapping[str, Any]], **key: Any) -> dict[str, Any]:
        """The piece with this key, measured now if it has not been."""
        piece = self.get(**key)
        if piece is None:
            started_s = time.monotonic()
            piece = {**key, **measure(), "seconds": round(time.monotonic() - started_s, 3)}
            self.pieces.append(piece)
            self._write()
            told = " ".join(str(value) for value in key.values())
            print(f"{told}: {piece['seconds']:.1f} s", file=sys.stderr, flush=True)
        return piece

    def _write(self) -> None:
        if self._path is None:
            return
        # An interruption leaves the old file or the new one, never half of one.
        unfinished = self._path.with_name(f"{self._path.name}.part")
        unfinished.write_text(json.dumps(self._record) + "\n", encoding="utf-8")
        os.replace(unfinished, self._path)


def measure_noise(engine: LocalEngine, notebook: Notebook, measurements: int) -> None:
    """One kernel as two arms, by each way; the ways take turns, so that drifts meet all alike."""
    subjects = {operator: subject(engine, notebook, operator) for operator in OPERATORS}
    names = list(WAYS)
    for measurement in range(measurements):
        start = measurement % len(names)
        for operator, (program, check) in subjects.items():
            for way in names[start:] + names[:start]:

                def both(
                    program: Program = program, check: Check | None = check, way: str = way
                ) -> Mapping[str, Any]:
                    return side_by_side(engine, [program, program], check, WAYS[way])

                notebook.fill(both, part="noise", operator=operator, way=way, number=measurement)


def subject(engine: LocalEngine, notebook: Notebook, operator: str) -> tuple[Program, Check | None]:
    """A tuned kernel of an operator: the one that was measured before, or a new one."""
    from tvm.ir import load_json
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo

    [task] = workloads.get(operator).tasks()
    piece = notebook.fill(
        lambda: {"program": packed(tuned(engine, operator, task))}, part="tuning", operator=operator
    )
    mod = load_json(zlib.decompress(base64.b85decode(piece["program"])).decode())
    return Program.kernel(mod, ArgInfo.from_prim_func(task.mod["main"])), task.check


def tuned(engine: LocalEngine, operator: str, task: Task) -> Any:
    """The best module of a short random search.

    Raises:
        SystemExit: There is none.
    """
    search = Search(
        workloads.get(operator),
        [task],
        Registry().get("random"),
        engine,
        seed=0,
        budget_trials=TRIALS,
        round_trials=TRIALS // 2,
    )
    while not search.finished:
        search.step()
    best = search.tasks[0].best
    if best is None:
        raise SystemExit(f"{operator}: no valid trial among {TRIALS}")
    return best.mod


def packed(mod: Any) -> str:
    """A module as text, a tenth of TVM's JSON."""
    from tvm.ir import save_json

    return base64.b85encode(zlib.compress(save_json(mod).encode(), 9)).decode()


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
    arms = [_remeasured(one) for one in engine.measure_side_by_side(programs, check, effort)]
    if effort == FORMER:
        # As it was before there were sets: the mean of the faster half of the samples.
        arms = [Remeasurement(arm.trial, arm.status, arm.latencies_s) for arm in arms]
    levels_s = [arm.latency_s or math.nan for arm in arms]
    pairs = [NeighbourRatios.of(arm, arms[0]) for arm in arms[1:]]
    return {
        "levels_s": levels_s,
        "log_ratios": [
            math.log(level_s / levels_s[0]) if pair is None else pair.log_ratio
            for level_s, pair in zip(levels_s[1:], pairs, strict=True)
        ],
        "half_widths": [None if pair is None else _finite(pair.half_width()) for pair in pairs],
        "logs": [[[round(log, 5) for log in logs] for logs in pair.logs] for pair in pairs if pair],
    }


def _remeasured(outcome: MeasuredInTurn) -> Remeasurement:
    if outcome.status != "ok":
        raise SystemExit(f"a kernel failed: {outcome.status} {outcome.error}")
    return outcome.remeasured(0)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class Piecework:
    """A kernel whose work is known: equal pieces, one after the other, on each of its threads.

    A piece adds a product of two small matrices to a thread's own output. Floating-point sums
    must not be reordered, so no compiler can merge two pieces.

    Attributes:
        pieces: Of each thread's half of the output.
        parallel: Whether the halves are made by threads of their own.
    """

    pieces: int
    parallel: bool = True

    def program(self, halves: int) -> Program:
        """The kernel.

        Args:
            halves: How many parts the output has: the target's cores.
        """
        from tvm import IRModule, te
        from tvm.s_tir import Schedule
        from tvm.s_tir.meta_schedule.arg_info import ArgInfo

        left = te.placeholder((PIECE, PIECE), "float32", name="left")
        right = te.placeholder((PIECE, PIECE), "float32", name="right")
        piece = te.reduce_axis((0, self.pieces), name="piece")
        k = te.reduce_axis((0, PIECE), name="k")
        output = te.compute(
            (halves, PIECE, PIECE),
            lambda half, i, j: te.sum(left[i, k] * right[k, j], axis=[piece, k]),
            name="products",
        )
        func = te.create_prim_func([left, right, output])
        func = func.with_attr("global_symbol", "main").with_attr("tirx.noalias", True)
        schedule = Schedule(IRModule({"main": func}))
        block = schedule.get_sblock("products")
        half, i, j, one, inner = schedule.get_loops(block)
        schedule.reorder(half, one, i, inner, j)
        if self.parallel:
            schedule.parallel(half)
        schedule.vectorize(schedule.split(j, [None, VECTOR])[1])
        schedule.decompose_reduction(block, one)
        return Program.kernel(schedule.mod, ArgInfo.from_prim_func(func))


BASE: Final = Piecework(PIECES)
SHORT: Final = Piecework(SHORT_PIECES)
LONG: Final = Piecework(LONG_PIECES)
ALONE: Final = Piecework(PIECES, parallel=False)
MORE: Final = tuple(Piecework(PIECES + percent) for percent in OTHER_PERCENT)

LINEUPS: Final[Mapping[str, tuple[Sequence[Piecework], SideBySide]]] = {
    "work": ((BASE, *MORE), SideBySide()),
    "forward": ((BASE, MORE[-1]), LINEUP_EFFORT),
    "backward": ((MORE[-1], BASE), LINEUP_EFFORT),
    "short": ((SHORT, SHORT), LINEUP_EFFORT),
    "short beside long": ((SHORT, SHORT, LONG), LINEUP_EFFORT),
    "one thread": ((ALONE, ALONE), LINEUP_EFFORT),
    "all threads": ((BASE, BASE), LINEUP_EFFORT),
    "both": ((ALONE, ALONE, BASE, BASE), LINEUP_EFFORT),
}


def measure_truth(engine: LocalEngine, notebook: Notebook, measurements: int) -> None:
    """Kernels of known work, in line-ups that ought not to matter."""
    for measurement in range(measurements):
        for lineup, (kernels, effort) in LINEUPS.items():

            def all_of_it(
                kernels: Sequence[Piecework] = kernels, effort: SideBySide = effort
            ) -> Mapping[str, Any]:
                return side_by_side(engine, programs(engine, kernels), None, effort)

            notebook.fill(all_of_it, part="truth", lineup=lineup, number=measurement)


def programs(engine: LocalEngine, kernels: Sequence[Piecework]) -> list[Program]:
    """Some kernels as this engine takes them."""
    return [kernel.program(int(engine.target.attrs["num-cores"])) for kernel in kernels]


def measure_memory(engine: LocalEngine, notebook: Notebook, measurements: int) -> None:
    """One kernel in short slices, without a break, in one process."""
    del measurements

    def trace() -> Mapping[str, Any]:
        with running(engine, [BASE]) as [runner]:
            calls = runner.calls(MEMORY_SLICE_S)
            latencies_s, started_s = [], []
            end_s = time.monotonic() + MEMORY_S
            while time.monotonic() < end_s:
                started_s.append(time.monotonic())
                latencies_s.append(runner.sample(calls))
        period_s = (started_s[-1] - started_s[0]) / (len(started_s) - 1)
        return {"period_s": period_s, "latencies_s": [float(f"{s:.6g}") for s in latencies_s]}

    notebook.fill(trace, part="memory")


def measure_waiting(engine: LocalEngine, notebook: Notebook, measurements: int) -> None:
    """A small and a large kernel, in slices and rested; and with threads that sleep at once."""
    for measurement in range(max(1, measurements // 3)):
        notebook.fill(lambda: blocks(engine), part="waiting", of="blocks", number=measurement)
    missing = [
        measurement
        for measurement in range(measurements)
        if notebook.get(part="waiting", of="sleeping", number=measurement) is None
    ]
    if not missing:
        return
    with variable(SPIN_COUNT, "0"), local_engine(None, EngineSettings()) as sleeping:
        for measurement in missing:
            for of, one in (("spinning", engine), ("sleeping", sleeping)):

                def levels(one: LocalEngine = one) -> Mapping[str, Any]:
                    return side_by_side(one, programs(one, [SHORT, BASE]), None, SPIN_EFFORT)

                notebook.fill(levels, part="waiting", of=of, number=measurement)


def blocks(engine: LocalEngine) -> dict[str, Any]:
    """Blocks of slices and of rested measurements in turn, in one pair of processes.

    Returns:
        Per mode and block, the logarithms of the latencies of the small and of the large kernel,
        turn by turn.
    """
    found: dict[str, list[list[list[float]]]] = {"slices": [], "rested": []}
    with running(engine, [SHORT, BASE]) as runners:
        calls = [runner.calls(SLICE_S) for runner in runners]
        warm_up = [runner.calls(WARM_UP_S) for runner in runners]
        for _ in range(BLOCKS):
            for mode, turns in (("rested", RESTED_TURNS), ("slices", BLOCK_TURNS)):
                logs: list[list[float]] = [[], []]
                for turn in range(turns):
                    for arm in (0, 1) if turn % 2 == 0 else (1, 0):
                        if mode == "rested":
                            time.sleep(REST_S)
                            runners[arm].sample(warm_up[arm])
                        log = math.log(runners[arm].sample(calls[arm]))
                        logs[arm].append(round(log, 5))
                found[mode].append(logs)
    return found


class Running:
    """A kernel in a process that stays."""

    def __init__(self, worker: Worker) -> None:
        """Make its arguments, and call it until it is warm."""
        self._worker = worker
        worker.make_arguments()
        worker.first_call()
        self._latency_s = self.sample(10)

    def calls(self, seconds: float) -> int:
        """Calls that take about so long."""
        for _ in range(2):
            self._latency_s = self.sample(self._filling(seconds))
        return self._filling(seconds)

    def sample(self, calls: int) -> float:
        """Mean seconds of so many calls."""
        self._worker.allow(30.0)
        [latency_s] = self._worker.time(calls)
        return latency_s

    def _filling(self, seconds: float) -> int:
        return max(1, round(seconds / self._latency_s))


@contextmanager
def running(engine: LocalEngine, kernels: Sequence[Piecework]) -> Iterator[list[Running]]:
    """Kernels in processes that stay until the block is left.

    Raises:
        SystemExit: One does not compile.
    """
    built = engine.build(programs(engine, kernels), None)
    try:
        for one in built:
            if one.handle is None:
                raise SystemExit(f"a kernel does not compile: {one.error}")
        yield [Running(one.handle) for one in built]
    finally:
        for one in built:
            engine.discard(one)


@contextmanager
def variable(name: str, value: str) -> Iterator[None]:
    """An environment variable for the processes that are started within the block."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


PARTS: Final[Mapping[str, Callable[[LocalEngine, Notebook, int], None]]] = {
    "noise": measure_noise,
    "truth": measure_truth,
    "memory": measure_memory,
    "waiting": measure_waiting,
}


def _parts(text: str) -> list[str]:
    parts = text.split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        raise argparse.ArgumentTypeError(
            f"no part {unknown[0]!r}, expected some of {', '.join(PARTS)}, separated by commas"
        )
    return parts


def _several(text: str) -> int:
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"expected a number from 2, e.g. 10, not {text!r}")
    return int(text)


if __name__ == "__main__":
    main()
