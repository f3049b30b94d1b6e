"""What the other cases of a folder have shown, for a strategy that begins with experience."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from pytest_ansorbench.bench import Progress
from pytest_ansorbench.packed import PackedError, unpack_program
from pytest_ansorbench.storage import Past, StorageError
from pytest_ansorbench.storage.entries import CaseEntry, Entry
from pytest_ansorbench.strategies import BadModel, PretrainedModel, Strategy
from pytest_ansorbench.training import BadSamples, LearningFolder
from pytest_ansorbench.workloads.case import Task

FOLDER: Final = "learnt"


def equipped(
    strategy: Strategy,
    past: Past | None,
    cases: Iterable[tuple[str, str]],
    folder: Path,
    progress: Progress,
    tell: Callable[[str], None],
) -> Strategy:
    """The strategy with what was learnt in a folder.

    It is learnt when another case is asked for than last time, or another version of one, from all
    that the journal has, and anew if a kill cut it short. That takes some milliseconds a program. A
    call that was stopped goes on with what it began with, also in the cases that it had not come
    to.

    Args:
        strategy: The strategy; one without a pretrained model stays as it is.
        past: The folder's journal; None if there is none yet.
        cases: Id and version of each case that is asked for.
        folder: The folder.
        progress: Shows that it takes a while, and nothing afterwards.
        tell: Is told what was learnt.
    """
    if past is None or not isinstance(strategy.cost_model, PretrainedModel):
        return strategy
    learning = LearningFolder(folder / FOLDER)
    asked = {*cases}
    seen = {(one.case, one.version) for one in past.of(CaseEntry)}
    known = asked <= seen if past.finished else bool(asked & seen)
    changed = not known or {case for case, _ in asked} != {*past.session.cases}
    if changed or learning.is_cut_short:
        progress.note("learning from what was tuned here before")
        try:
            learnt, _, _ = _learn(learning, past, tell).partition(";")
        except (BadModel, BadSamples, StorageError, OSError, ValueError) as error:
            learnt = f"nothing learnt: {error}"
        finally:
            progress.clear()
        tell(learnt)
    return learning.equipped(strategy)


def _learn(learning: LearningFolder, past: Past, tell: Callable[[str], None]) -> str:
    """Learn from all cases of a journal; its programs are what tells their tasks.

    It has all that earlier calls have learnt from, but for programs that today's TVM cannot read.
    """
    tasks: dict[str, tuple[Task, ...]] = {}
    entries: list[Entry] = []
    for entry in past.entries:
        if isinstance(entry, CaseEntry):
            try:
                tasks[entry.label] = _tasks(entry)
            except PackedError as error:
                tell(f"nothing learnt from {entry.case}: {error}")
            else:  # versions of a case have one id, and a label each
                entries.append(replace(entry, case=entry.label))
        else:
            entries.append(entry)
    if learning.samples.exists():
        shutil.rmtree(learning.samples)
    return learning.learn(replace(past, entries=tuple(entries)), tasks.__getitem__)


def _tasks(entry: CaseEntry) -> tuple[Task, ...]:
    return tuple(
        Task(task.name, unpack_program(program), task.flops, task.weight)
        for task, program in zip(entry.tasks, entry.programs, strict=True)
    )
