"""The command that makes what `draft+transfer` begins with."""

from __future__ import annotations

import argparse
import gc
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.cli.exits import HOLDS, Refusal

if TYPE_CHECKING:
    from pytest_ansorbench.workloads.case import Task


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to a parser."""
    train = commands.add_parser(
        "train-draft",
        help="make what draft+transfer begins with",
        description="Learns from programs that were measured before, of any operators and "
        "shapes, and writes what draft+transfer begins with: a cost model, and the decisions "
        "that were measured, by kinds of sketches. Journals hold the traces of all programs of a "
        "bench; files of samples are what --ansor-learn keeps of them.",
    )
    train.add_argument(
        "--from",
        dest="sources",
        type=Path,
        nargs="+",
        required=True,
        metavar="JOURNAL|SAMPLES|DIR",
        help="what to learn from, e.g. .ansor_bench/journals/0001.jsonl; of a folder, all "
        "journals and samples in it",
    )
    train.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="cost model to write, e.g. draft.ubj; decisions get the suffix .npz, the card "
        ".card.json",
    )
    train.add_argument(
        "--base",
        type=Path,
        metavar="FILE",
        help="a model to go on from, e.g. the shipped one: its trees are kept and corrected, "
        "the decisions beside it kept (default: start from nothing)",
    )
    train.add_argument("--trees", type=int, default=250, help="trees to grow (default: 250)")
    train.add_argument("--seed", type=int, default=0, help="of everything random (default: 0)")
    train.set_defaults(run=_train_draft)


def _train_draft(given: argparse.Namespace) -> int:
    from pytest_ansorbench.environment import MisfitError, ToolchainError
    from pytest_ansorbench.storage import StorageError
    from pytest_ansorbench.strategies import BadModel
    from pytest_ansorbench.training import (
        BadSamples,
        ProgramFitSettings,
        train_draft,
    )

    if given.output.suffix not in (".ubj", ".json"):
        raise Refusal(f"bad output {str(given.output)!r}: expected a .ubj or .json file")
    try:
        gc.enable()  # this is long, and makes garbage
        train_draft(
            given.sources,
            given.output,
            _tasks,
            command=shlex.join(["ansor-bench", *sys.argv[1:]]),
            settings=ProgramFitSettings(trees=given.trees, seed=given.seed),
            base=given.base,
            say=lambda line: print(line, flush=True),
        )
    except MisfitError as error:
        raise Refusal(f"a journal's target {error.value!r} does not fit: {error.problem}") from None
    except (BadSamples, BadModel, StorageError, ToolchainError, ValueError, OSError) as error:
        raise Refusal(str(error)) from None
    except KeyboardInterrupt:
        raise Refusal("interrupted; nothing was written") from None
    return HOLDS


def _tasks(case: str) -> Sequence[Task] | None:
    """The tasks of a case that ships, or of one that models are trained on."""
    from pytest_ansorbench.training import HELD_OUT, OTHER_FAMILIES, TRAINING
    from pytest_ansorbench.workloads import UnknownCase, get

    for workload in (*TRAINING, *HELD_OUT, *OTHER_FAMILIES):
        if workload.id == case:
            return workload.tasks()
    try:
        return get(case).tasks()
    except UnknownCase:
        return None
