"""Measured programs of one task: what the program model learns from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.packed import PackedError
from pytest_ansorbench.search.candidates import unpack
from pytest_ansorbench.storage import Past
from pytest_ansorbench.storage.entries import CaseEntry, RoundEntry
from pytest_ansorbench.strategies import extract, extractor_of, log2_throughput, pool
from pytest_ansorbench.training.arrays import BadSamples, load_arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm.target import Target

    from pytest_ansorbench.workloads.case import Task

Tasks = Callable[[str], "Sequence[Task] | None"]
"""The tasks of the case with this id; None if it is not known."""


@dataclass(frozen=True, eq=False)
class Programs:
    """What was measured of one task of one case.

    Attributes:
        case: Id of the case.
        task: Name of the task.
        machine: The machine, in words.
        features: Pooled features, shape (programs, 493).
        latencies_s: Median latencies, shape (programs,); infinity for a failed trial.
        search_s: Seconds that the searches took that measured them.
    """

    case: str
    task: str
    machine: str
    features: NDArray[np.float32]
    latencies_s: NDArray[np.float64]
    search_s: float

    @property
    def labels(self) -> NDArray[np.float64]:
        """Throughput as the model has it, shape (programs,); see `log2_throughput`."""
        return log2_throughput(self.latencies_s)


def load_programs(path: Path) -> Programs:
    """Read programs that `save_arrays` wrote.

    Raises:
        BadSamples: The file holds none.
    """
    arrays = load_arrays(Programs, path)
    texts = {name: str(arrays[name]) for name in ("case", "task", "machine")}
    programs = Programs(
        **texts,
        features=arrays["features"],
        latencies_s=arrays["latencies_s"],
        search_s=float(arrays["search_s"]),
    )
    if programs.features.ndim != 2 or len(programs.features) != len(programs.latencies_s):
        raise BadSamples(
            f"bad samples {path}: expected a row of features for each of "
            f"{len(programs.latencies_s)} latencies, got shape {programs.features.shape}"
        )
    return programs


def programs_of(past: Past, tasks: Tasks) -> Iterator[Programs]:
    """The programs that a journal's session has measured, task by task.

    Programs are made anew from their traces, and their features extracted: some milliseconds
    each.

    Args:
        past: The journal.
        tasks: Finds the tasks of its cases.

    Yields:
        One record for each task of each case, over all its runs, in order of the journal; nothing
        for a task without trials.

    Raises:
        BadSamples: A case is not known, or its programs are not what they were.
    """
    machine = past.session.machine
    cpu, target = str(machine.get("cpu", "unknown")), resolve_target(str(machine.get("target")))
    for entry in past.entries:
        if not isinstance(entry, CaseEntry):
            continue
        rounds = [
            one for one in past.entries if isinstance(one, RoundEntry) and one.label == entry.label
        ]
        of_case = tasks(entry.case)
        if of_case is None:
            raise BadSamples(
                f"bad journal {past.path}: case {entry.case!r} is none that ships; only a bench "
                "that learns, while it runs, knows the programs of one's own cases"
            )
        for index, task in enumerate(of_case):
            mine = [one for one in rounds if one.round.task == index and one.trials]
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

    context = TuneContext(task.mod, target=target)
    extractor = extractor_of(None)
    features, latencies_s = [], []
    for one in rounds:
        try:
            candidates = unpack(one.state.candidates, task.mod)
        except PackedError as error:
            raise BadSamples(f"bad journal {path}: {case}, {task.name}: {error}") from None
        rows = extract(extractor, context, [each.measure_candidate for each in candidates])
        features.append(pool(rows))
        latencies_s += [
            trial.latency_s if trial.latency_s is not None else math.inf for trial in one.trials
        ]
    return Programs(
        case=case,
        task=task.name,
        machine=cpu,
        features=np.concatenate(features),
        latencies_s=np.array(latencies_s),
        search_s=sum(one.round.search_s for one in rounds),
    )
