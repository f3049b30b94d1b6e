"""Measured programs of one task: what the program model learns from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from pytest_ansorbench.environment import ToolchainError, check_toolchain, resolve_target
from pytest_ansorbench.packed import PackedError
from pytest_ansorbench.search.candidates import unpack
from pytest_ansorbench.search.sketches import SketchIndex
from pytest_ansorbench.storage import Past
from pytest_ansorbench.storage.entries import CaseEntry, RoundEntry
from pytest_ansorbench.strategies import (
    POOLED,
    ProgramMaker,
    TargetSpace,
    extract,
    extractor_of,
    log2_throughput,
    pool,
)
from pytest_ansorbench.strategies.decisions.encoding import kinds_of
from pytest_ansorbench.strategies.decisions.traced import TracedSpace
from pytest_ansorbench.training.arrays import BadSamples, Like, load_arrays
from pytest_ansorbench.workloads.definition import shipped

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm.s_tir import Trace
    from tvm.s_tir.meta_schedule import TuneContext
    from tvm.target import Target

    from pytest_ansorbench.workloads.case import Task

# The tasks of the case with this id; None if it is not known.
Tasks = Callable[[str], "Sequence[Task] | None"]


_TEXT: Final = (np.str_, ())
_LIKE: Final[Like] = {
    **{"case": _TEXT, "task": _TEXT, "machine": _TEXT, "search_s": (np.floating, ())},
    "features": (np.floating, ("programs", POOLED)),
    "latencies_s": (np.floating, ("programs",)),
    "kinds": (np.str_, ("programs",)),
    "decisions": (np.floating, ("programs", "columns")),
}


@dataclass(frozen=True, eq=False)
class Programs:
    """What was measured of one task of one case, in one session."""

    case: str
    task: str
    # In words.
    machine: str
    # Pooled, shape (programs, 493).
    features: NDArray[np.float32]
    # Medians, shape (programs,); infinity for a failed trial.
    latencies_s: NDArray[np.float64]
    # Of the searches that measured them.
    search_s: float
    # What `kinds_of` calls the sketch of each, shape (programs,); empty for one that is none of the
    # target's own design space, which the shipped model is for, or has decisions that no search
    # draws.
    kinds: NDArray[np.str_]
    # Features of its decisions by the `TracedSpace` of its sketch, shape (programs, most columns
    # of a kind), NaN where there is none.
    decisions: NDArray[np.float32]

    @property
    def subject(self) -> str:
        """The task, the same for all sessions that measured it."""
        return self.case if self.task == self.case else f"{self.case}: {self.task}"

    @property
    def labels(self) -> NDArray[np.float64]:
        """Throughput on the scale that the model predicts, shape (programs,)."""
        return log2_throughput(self.latencies_s)


def load_programs(path: Path) -> Programs:
    programs = Programs(**load_arrays(path, _LIKE))
    seconds = [*programs.latencies_s, programs.search_s]
    if not all(one > 0.0 for one in seconds) or math.isinf(programs.search_s):
        raise BadSamples(f"bad samples {path}: expected seconds above 0; delete the file")
    return programs


def programs_of(past: Past, tasks: Tasks) -> Iterator[Programs]:
    """The programs that a journal's session has measured, a record for each task with trials.

    Programs are made anew from their traces, and their features extracted: some milliseconds
    each.
    """
    check_toolchain()
    machine = past.session.machine
    cpu = str(machine.get("cpu", "unknown"))
    try:
        target = resolve_target(str(machine.get("target")))
    except ToolchainError as error:
        raise BadSamples(f"bad journal {past.path}: its {error}") from None
    if target.kind.name != "llvm":
        raise BadSamples(
            f"bad journal {past.path}: it is of {target.kind.name}, and models are of CPUs so far"
        )
    rounds: dict[object, RoundEntry] = {}
    for one in past.of(RoundEntry):  # two searches may have begun with it
        rounds.setdefault((one.seed, one.strategy, one.state.candidates, one.trials), one)
    for entry in past.of(CaseEntry):
        of_label = [one for one in rounds.values() if one.label == entry.label]
        of_case = tasks(entry.case)
        if of_case is None and (case := shipped(entry.case, entry.definition)) is not None:
            of_case = case.tasks()
        if of_case is None:
            raise BadSamples(
                f"bad journal {past.path}: case {entry.case!r} is none that ships; only a bench "
                "that learns, while it runs, knows the programs of one's own cases"
            )
        for index, task in enumerate(of_case):
            mine = [one for one in of_label if one.round.task == index and one.trials]
            if mine:
                yield _programs(past.path, entry.case, task, mine, cpu, target)


def _programs(
    path: Path,
    case: str,
    task: Task,
    rounds: Sequence[RoundEntry],
    cpu: str,
    target: Target,
) -> Programs:
    from tvm.s_tir.meta_schedule import TuneContext

    space = TargetSpace().start(target)
    context = TuneContext(task.mod, target=target, space_generator=space)
    extractor = extractor_of(None)
    features, latencies_s, traces = [], [], []
    for one in rounds:
        try:
            candidates = unpack(one.state.candidates, task.mod)
        except PackedError as error:
            raise BadSamples(f"bad journal {path}: {case}, {task.name}: {error}") from None
        rows = extract(extractor, context, [each.measure_candidate for each in candidates])
        features.append(pool(rows))
        traces += [each.trace for each in candidates]
        latencies_s += [
            trial.latency_s if trial.latency_s is not None else math.inf for trial in one.trials
        ]
    kinds, decisions = _decided(context, traces)
    return Programs(
        case=case,
        task=task.name,
        machine=cpu,
        features=np.concatenate(features),
        latencies_s=np.array(latencies_s),
        search_s=sum(one.round.search_s for one in rounds),
        kinds=kinds,
        decisions=decisions,
    )


def _decided(
    context: TuneContext, traces: Sequence[Trace]
) -> tuple[NDArray[np.str_], NDArray[np.float32]]:
    """Kinds and decisions of a task's programs, as `Programs` has them."""
    sketches = context.generate_design_space()
    maker, index = ProgramMaker(context), SketchIndex(sketches)
    spaces = [TracedSpace(at, one, maker) for at, one in enumerate(sketches)]
    known = kinds_of(spaces)
    kinds, rows = [""] * len(traces), [np.zeros(0, np.float32)] * len(traces)
    for at, trace in enumerate(traces):
        sketch = index.of(trace)
        # A mutation may put a tile or a block where sampling does not.
        vector = spaces[sketch].vector_in(trace) if sketch >= 0 else None
        if vector is not None:
            kinds[at] = known[sketch]
            [rows[at]] = spaces[sketch].features(np.array([vector], dtype=np.int32))
    table = np.full((len(rows), max(map(len, rows), default=0)), np.nan, np.float32)
    for row, features in zip(table, rows, strict=True):
        row[: len(features)] = features
    return np.array(kinds, dtype=np.str_), table
