"""The commands that make what searches begin with: train-rules, train-draft."""

from __future__ import annotations

import argparse
import gc
import shlex
import sys
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.cli.exits import HOLDS, INTERRUPTED, UNDECIDED, Refusal
from pytest_ansorbench.cli.stored import check_outputs

if TYPE_CHECKING:
    from pytest_ansorbench.workloads import Operator
    from pytest_ansorbench.workloads.case import Task


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    rules = commands.add_parser(
        "train-rules",
        help="train the model that predicts mutation rules",
        description="Tunes training workloads, mutates programs of theirs by every rule, and "
        "trains the classifier that the strategies rules and optimized use. What was collected "
        "before is not collected again, so that an interrupted command goes on where it was.",
    )
    _add_output(rules, "model to write, e.g. rules.ubj; its card gets the suffix .card.json")
    rules.add_argument(
        "--samples",
        type=Path,
        default=Path(".ansor_bench") / "rule-samples",
        metavar="DIR",
        help="folder of collected samples (default: .ansor_bench/rule-samples)",
    )
    rules.add_argument("--target", metavar="TARGET", help="TVM's target (default: this CPU)")
    for name, default, meaning in (
        ("trials", 96, "trials of the search that trains a workload's cost model"),
        ("programs", 160, "programs of a workload to mutate"),
        ("draws", 4, "mutations of each program by each rule"),
    ):
        rules.add_argument(
            f"--{name}", type=int, default=default, help=f"{meaning} (default: {default})"
        )
    rules.add_argument(
        "--workloads",
        metavar="ID,ID",
        help="only these, at least one to train on and one held out (default: all)",
    )
    rules.set_defaults(run=_train_rules)

    draft = commands.add_parser(
        "train-draft",
        help="make what draft+transfer begins with",
        description="Learns from programs that were measured before, of any operators and "
        "shapes, and writes what draft+transfer begins with: a cost model, and the decisions "
        "that were measured, by kinds of sketches. Journals hold the traces of all programs of a "
        "bench; files of samples are what --ansor-learn keeps of them.",
    )
    draft.add_argument(
        "--from",
        dest="sources",
        type=Path,
        nargs="+",
        required=True,
        metavar="JOURNAL|SAMPLES|DIR",
        help="what to learn from, e.g. .ansor_bench/journals/0001.jsonl; of a folder, all "
        "journals and samples in it",
    )
    _add_output(
        draft,
        "cost model to write, e.g. draft.ubj; decisions get the suffix .npz, the card .card.json",
    )
    draft.add_argument(
        "--base",
        type=Path,
        metavar="FILE",
        help="a model to go on from, e.g. the shipped one: its trees are kept and corrected, "
        "the decisions beside it kept (default: start from nothing)",
    )
    draft.add_argument("--trees", type=int, default=250, help="trees to grow (default: 250)")
    draft.set_defaults(run=_train_draft)


def _add_output(parser: argparse.ArgumentParser, meaning: str) -> None:
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help=meaning)
    parser.add_argument("--seed", type=int, default=0, help="of everything random (default: 0)")


def _start(given: argparse.Namespace, *beside: Path, read: Iterable[Path] = ()) -> str:
    """Check seed and what will be written, and give the command line, for the model's card."""
    from pytest_ansorbench.strategies.model_file import card_beside, is_cut_short

    output: Path = given.output
    if given.seed < 0:
        raise Refusal(f"bad --seed {given.seed}: expected 0 or more")
    if output.suffix not in (".ubj", ".json"):
        raise Refusal(f"bad output {str(output)!r}: expected a .ubj or .json file")
    check_outputs([output, card_beside(output), *beside], read)
    other = output.with_suffix(".json" if output.suffix == ".ubj" else ".ubj")
    if other.is_file() and not is_cut_short(other):
        raise Refusal(
            f"bad output {str(output)!r}: its card would replace that of {other.name}; expected "
            f"another name, e.g. new-{output.name}"
        )
    gc.enable()  # training is long, and makes garbage
    return shlex.join(["ansor-bench", *sys.argv[1:]])


def _say(line: str) -> None:
    print(line, flush=True)


def _train_rules(given: argparse.Namespace) -> int:
    from pytest_ansorbench.environment import MisfitError
    from pytest_ansorbench.training import Effort, MixedSamples, collect, train_rules

    command = _start(given)
    training, held_out = _workloads(given.workloads)
    try:
        effort = Effort(trials=given.trials, programs=given.programs, draws=given.draws)
        samples = collect(
            given.samples,
            [*training, *held_out],
            effort,
            seed=given.seed,
            target=given.target,
            say=_say,
        )
        train_rules(
            samples[: len(training)],
            samples[len(training) :],
            given.output,
            command=command,
            seed=given.seed,
            say=_say,
        )
    except MisfitError as error:
        raise Refusal(f"bad --target {error.value!r}: {error.problem}") from None
    except MixedSamples as error:
        raise Refusal(f"{error}; choose another folder with --samples") from None
    except (ValueError, OSError) as error:
        raise Refusal(str(error)) from None
    except KeyboardInterrupt:
        goes_on = f"the same command goes on with what is in {given.samples}"
        print(f"{INTERRUPTED}; {goes_on}", file=sys.stderr)
        return UNDECIDED
    return HOLDS


def _workloads(wanted: str | None) -> tuple[Sequence[Operator], Sequence[Operator]]:
    """The workloads with the ids that were asked for: to train on, and held out."""
    from pytest_ansorbench.training import HELD_OUT, TRAINING

    if wanted is None:
        return TRAINING, HELD_OUT
    ids = [name.strip() for name in wanted.split(",")]
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


def _train_draft(given: argparse.Namespace) -> int:
    from pytest_ansorbench.training import ProgramFitSettings, train_draft
    from pytest_ansorbench.training.train_draft import experience_beside, files_of

    try:
        read = [*chain.from_iterable(map(files_of, given.sources))]
        if given.base is not None:
            read += [given.base, experience_beside(given.base)]
        command = _start(given, experience_beside(given.output), read=read)
        train_draft(
            given.sources,
            given.output,
            _tasks,
            command=command,
            settings=ProgramFitSettings(trees=given.trees, seed=given.seed),
            base=given.base,
            say=_say,
        )
    except (ValueError, OSError) as error:
        raise Refusal(str(error)) from None
    except KeyboardInterrupt:
        print(f"{INTERRUPTED}; the same command starts anew", file=sys.stderr)
        return UNDECIDED
    return HOLDS


def _tasks(case: str) -> Sequence[Task] | None:
    """The tasks of a case that ships, or of one that models are trained on."""
    from pytest_ansorbench.training import HELD_OUT, OTHER_FAMILIES, TODAY, TRAINING
    from pytest_ansorbench.workloads import UnknownCase, get

    for workload in (*TRAINING, *HELD_OUT, *OTHER_FAMILIES, *TODAY):
        if workload.id == case:
            return workload.tasks()
    try:
        return get(case).tasks()
    except UnknownCase:
        return None
