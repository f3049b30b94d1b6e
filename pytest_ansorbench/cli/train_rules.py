"""The command that trains the model of mutation rules."""

from __future__ import annotations

import argparse
import gc
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.cli.exits import HOLDS, Refusal

if TYPE_CHECKING:
    from pytest_ansorbench.workloads import Operator


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to a parser."""
    train = commands.add_parser(
        "train-rules",
        help="train the model that predicts mutation rules",
        description="Tunes training workloads, mutates programs of theirs by every rule, and "
        "trains the classifier that the strategies rules and optimized use. What was collected "
        "before is not collected again, so that an interrupted command goes on where it was.",
    )
    train.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="model to write, e.g. rules.ubj; its card gets the suffix .card.json",
    )
    train.add_argument(
        "--samples",
        type=Path,
        default=Path(".ansor_bench") / "rule-samples",
        metavar="DIR",
        help="folder of collected samples (default: .ansor_bench/rule-samples)",
    )
    train.add_argument("--seed", type=int, default=0, help="of everything random (default: 0)")
    train.add_argument("--target", metavar="TARGET", help="TVM's target (default: this CPU)")
    for name, default, meaning in (
        ("trials", 96, "trials of the search that trains a workload's cost model"),
        ("programs", 160, "programs of a workload to mutate"),
        ("draws", 4, "mutations of each program by each rule"),
    ):
        train.add_argument(
            f"--{name}", type=int, default=default, help=f"{meaning} (default: {default})"
        )
    train.add_argument(
        "--workloads",
        metavar="ID,ID",
        help="only these, at least one to train on and one held out (default: all)",
    )
    train.set_defaults(run=_train_rules)


def _train_rules(given: argparse.Namespace) -> int:
    from pytest_ansorbench.environment import MisfitError, ToolchainError
    from pytest_ansorbench.training import (
        BadSamples,
        Effort,
        MixedSamples,
        collect,
        train_rules,
    )

    if given.output.suffix not in (".ubj", ".json"):
        raise Refusal(f"bad output {str(given.output)!r}: expected a .ubj or .json file")
    training, held_out = _workloads(given.workloads)
    say = partial(print, flush=True)
    try:
        effort = Effort(trials=given.trials, programs=given.programs, draws=given.draws)
        gc.enable()  # this is long, and makes garbage
        samples = collect(
            given.samples,
            [*training, *held_out],
            effort,
            seed=given.seed,
            target=given.target,
            say=say,
        )
        train_rules(
            samples[: len(training)],
            samples[len(training) :],
            given.output,
            command=shlex.join(["ansor-bench", *sys.argv[1:]]),
            seed=given.seed,
            say=say,
        )
    except MisfitError as error:
        raise Refusal(f"bad --target {error.value!r}: {error.problem}") from None
    except MixedSamples as error:
        raise Refusal(f"{error}; choose another folder with --samples") from None
    except (BadSamples, ToolchainError, ValueError, OSError) as error:
        raise Refusal(str(error)) from None
    except KeyboardInterrupt:
        raise Refusal(
            f"interrupted; the same command goes on with what is in {given.samples}"
        ) from None
    return HOLDS


def _workloads(wanted: str | None) -> tuple[Sequence[Operator], Sequence[Operator]]:
    """The workloads with the ids that were asked for: to train on, and held out."""
    from pytest_ansorbench.training import HELD_OUT, TRAINING

    if wanted is None:
        return TRAINING, HELD_OUT
    ids = wanted.split(",")
    known = [workload.id for workload in (*TRAINING, *HELD_OUT)]
    for wanted_id in ids:
        if wanted_id not in known:
            raise Refusal(f"bad workloads {wanted!r}: {wanted_id!r} is none of {', '.join(known)}")
    chosen = [
        [workload for workload in group if workload.id in ids] for group in (TRAINING, HELD_OUT)
    ]
    for group, found in zip((TRAINING, HELD_OUT), chosen, strict=True):
        if not found:
            raise Refusal(
                f"bad workloads {wanted!r}: expected at least one of {', '.join(map(str, group))}"
            )
    return chosen[0], chosen[1]
