"""Damaged files of every kind that is read: none may be more than told in a sentence.

    python benchmarks/faults/mutations.py --into docs/results/faults [--kind journal] [--trials N]
    python benchmarks/faults/mutations.py --kind journal --repeat 1234 --into damaged

Each trial damages a good file of its kind by what is drawn from the seed and the trial's number,
and reads it as a command of the product does, in a child with limits. A file that reads as valid
survives; so does one whose command ends with one sentence that names it. All else is a fault: a
traceback, no sentence, a crash, a hang, memory, code run. A kind's journal goes on where it
stopped. pytest-benchmark's files are written and never read; they are given to the commands that
might take them for something else. Cases are code and are left out, as is what our own processes
send each other.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final
from unittest import mock

import mutators
import numpy as np
from judge import Reader, commanded, judge
from ledger import SURVIVED, Ledger, Outcome, draws
from mutators import MARK, Mutation
from seeds import seeds as good_files

from pytest_ansorbench.bench.history import case_histories, noise_of
from pytest_ansorbench.cli.exits import sentence
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.storage import JournalTail, read_journal, read_peak
from pytest_ansorbench.storage.entries import NoiseEntry
from pytest_ansorbench.strategies import BadModel, Experience, load_program_model
from pytest_ansorbench.strategies.features import POOLED
from pytest_ansorbench.strategies.rule_model import load_rule_model
from pytest_ansorbench.training import BadSamples
from pytest_ansorbench.training.programs import load_programs
from pytest_ansorbench.training.rule_samples import load_samples
from pytest_ansorbench.winners import DatabaseError, import_database, reader_main, reading
from pytest_ansorbench.workloads import BadInputs, from_exported_program, from_onnx, get
from pytest_ansorbench.workloads.inputs import Input
from pytest_ansorbench.workloads.inputs import draws as input_draws

TRIALS: Final = 100_000
FEWEST: Final = 5_000
"""Of a kind."""
CASE: Final = "softmax-m1536-n128"
"""Of the database."""
BATCH: Final = 25
"""Files a child reads."""


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Attributes:
        seeds: Names of good ones in the folder of seeds.
        mutate: Damages one.
        readers: What reads it; the numbers are how often each is drawn.
        weight: Of its trials among all.
        parts: Of one that is a folder, the files that are damaged.
        beside: How the name of a file ends that lies beside it.
        starts: Whether its readers start processes.
    """

    seeds: Sequence[str]
    mutate: Mutation
    readers: Mapping[Command | Call, int]
    weight: float = 1.0
    parts: Sequence[str] = ("",)
    beside: str = ""
    starts: bool = False


@dataclass(frozen=True)
class Command:
    """Reads a file as a command line does: FILE stands for it, SEEDS for good files.

    Attributes:
        words: The command line; OUT stands for a folder of the trial's own.
        into: Where the file lies in that folder, which is a folder of stored results then.
    """

    words: tuple[str, ...]
    into: str = ""

    @property
    def name(self) -> str:
        return self.words[0]

    def __call__(self, file: Path, seeds: Path, out: Path) -> str | None:
        named = {"FILE": str(file), "SEEDS": str(seeds), "OUT": str(out)}
        words = [re.sub("|".join(named), lambda it: named[it[0]], word) for word in self.words]
        code, shown, told = commanded(words)
        for line in shown.splitlines():
            if not line.isprintable():
                return f"not to be printed: {line!r}"
        return told or (None if code in (0, 1, 3) else f"nothing but exit code {code}")


@dataclass(frozen=True)
class Call:
    """Reads a file as a session does, where no command does."""

    name: str
    read: Callable[[Path], object]
    into: ClassVar[str] = ""

    def __call__(self, file: Path, seeds: Path, out: Path) -> str | None:
        try:
            self.read(file)
        except (BadModel, BadSamples, BadInputs) as error:
            return str(error)
        except ResumeError as error:
            return f"bad --ansor-resume: {file}: {error}"
        except Exception as error:
            told = sentence(error)
            if told is None:
                raise
            return told
        return None


def _resumed(file: Path) -> None:
    """What a session does with a journal that it goes on with."""
    past = read_journal(file)
    histories = case_histories(past)
    for history in histories.values():
        for seed in history.repeats:
            if history.complete(seed):
                history.runs(seed)
    noise_of(past.of(NoiseEntry))
    if not file.name.endswith(".gz"):
        JournalTail(file).read()


def _program_model(file: Path) -> None:
    model = load_program_model(file)
    model.predict(np.zeros((4, POOLED), np.float32))
    model.predict(np.full((4, POOLED), np.nan, np.float32))


def _described_model(file: Path) -> None:
    _program_model(file.with_name(file.name.replace(".card.json", ".ubj")))


def _rule_model(file: Path) -> None:
    load_rule_model(file).predict(np.zeros((4, POOLED), np.float32))


def _experience(file: Path) -> None:
    Experience(path=file).known()


def _rule_samples(file: Path) -> None:
    load_samples(file).mutable  # noqa: B018


def _inputs(file: Path) -> None:
    wanted = [Input("float32", (2, 3), "x"), Input("int64", (4,), "y")]
    for way in input_draws(wanted, str(file)):
        way(0)


def _onnx(file: Path) -> None:
    from_onnx(file).tasks()


def _exported(file: Path) -> None:
    from_exported_program(file).tasks()


def _peak(file: Path) -> None:
    read_peak(file.parent.parent, file.stem.removesuffix("-float32"), "float32")


def _imported(file: Path) -> None:
    """As `import` does, whose parser runs in a fork instead of an interpreter of its own."""
    with mock.patch.object(reading, "parsed", _parsed):
        import_database(file, [get(CASE)], "imported")


def _parsed(folder: Path, copy: Path) -> dict[str, Any]:
    with tempfile.TemporaryFile() as answer:
        child = os.fork()
        if not child:
            with contextlib.suppress(Exception):
                answer.write(json.dumps(reader_main._content(str(copy))).encode())
                answer.flush()
            os._exit(0)
        os.waitpid(child, 0)
        answer.seek(0)
        text = answer.read()
    if not text:
        raise DatabaseError(f"bad folder {str(folder)!r}: this version of TVM cannot read it")
    answered: dict[str, Any] = json.loads(text)
    return answered


def _inside(name: str) -> Mutation:
    """What damages an entry of an archive."""
    if name.endswith(".npy"):
        return mutators.of_npy
    return mutators.of_json if name.endswith(".json") else mutators.of_bytes


def _either(*mutations: Mutation) -> Mutation:
    return lambda rng, data, other: rng.choice(mutations)(rng, data, other)


_OF_RESULTS: Final = {
    Command(("show", "FILE")): 8,
    Command(("show", "-v", "FILE")): 2,
    Command(("compare", "SEEDS/result.json", "FILE")): 3,
    Command(("compare", "FILE", "SEEDS/result.json")): 2,
    Command(("report", "FILE", "--format=html")): 2,
    Command(("merge", "FILE", "-o", "OUT/merged.json")): 1,
    Command(("schedule", "FILE", "--only=trace")): 2,
    Command(("export", "FILE", "--database=OUT/database")): 2,
    Command(("list", "--storage=OUT"), "0001_it.json"): 1,
    Command(("history", "--storage=OUT"), "0001_it.json"): 1,
}
_OF_JOURNALS: Final = {
    Call("resume", _resumed): 8,
    Command(("watch", "--once", "FILE")): 6,
    Command(("export", "FILE", "--database=OUT/database")): 2,
    Command(("list", "--storage=OUT"), "journals/0001.jsonl"): 3,
    Command(("clean", "--yes", "--storage=OUT"), "journals/0001.jsonl"): 2,
}
_OF_PACKED: Final = {
    Call("resume", _resumed): 8,
    Command(("watch", "--once", "FILE")): 6,
    Command(("list", "--storage=OUT"), "journals/0001.jsonl.gz"): 3,
    Command(("clean", "--yes", "--storage=OUT"), "journals/0001.jsonl.gz"): 2,
}

KINDS: Final[Mapping[str, Kind]] = {
    "result": Kind(
        ["result.json", "small.json"],
        _either(mutators.of_json, mutators.of_json, mutators.of_bytes),
        _OF_RESULTS,
        3,
    ),
    "packed-result": Kind(
        ["result.json.gz", "small.json.gz"], mutators.of_gzip(mutators.of_json), _OF_RESULTS, 1.2
    ),
    "journal": Kind(
        ["journal.jsonl", "ended.jsonl"],
        _either(mutators.of_lines, mutators.of_lines, mutators.of_bytes),
        _OF_JOURNALS,
        3,
    ),
    "packed-journal": Kind(
        ["journal.jsonl.gz", "ended.jsonl.gz"], mutators.of_gzip(mutators.of_lines), _OF_PACKED, 1.2
    ),
    "database": Kind(
        ["database"],
        _either(mutators.of_lines, mutators.of_lines, mutators.of_bytes),
        {
            Call("import", _imported): 39,
            Command(("import", "--database=FILE", "-o", "imported.json", f"--case={CASE}")): 1,
        },
        parts=["database_workload.json", "database_tuning_record.json"],
        starts=True,
    ),
    "model": Kind(
        ["program.ubj", "draft.ubj"],
        mutators.of_bytes,
        {Call("program model", _program_model): 1},
        beside=".card.json",
    ),
    "model-json": Kind(
        ["plain.json"],
        _either(mutators.of_json, mutators.of_bytes),
        {Call("program model", _program_model): 1},
        beside=".card.json",
    ),
    "rule-model": Kind(
        ["rules.ubj"],
        mutators.of_bytes,
        {Call("rule model", _rule_model): 1},
        beside=".card.json",
    ),
    "experience": Kind(
        ["experience.npz"], mutators.of_zip(_inside), {Call("experience", _experience): 1}
    ),
    "card": Kind(
        ["program.card.json", "draft.card.json"],
        _either(mutators.of_json, mutators.of_bytes),
        {
            Call("program model", _described_model): 2,
            Command(("show", "FILE")): 1,
            Command(("compare", "SEEDS/result.json", "FILE")): 1,
        },
        beside=".ubj",
    ),
    "onnx": Kind(["one.onnx", "two.onnx"], mutators.of_onnx, {Call("onnx", _onnx): 1}),
    "pt2": Kind(["one.pt2", "two.pt2"], mutators.of_zip(_inside, 0), {Call("pt2", _exported): 1}),
    "pytest-benchmark": Kind(
        ["benchmark.json"],
        _either(mutators.of_json, mutators.of_bytes),
        {
            Command(("show", "FILE")): 2,
            Command(("compare", "SEEDS/result.json", "FILE")): 1,
            Command(("list", "--storage=OUT"), "0001_it.json"): 1,
        },
    ),
    "samples": Kind(["samples.npz"], mutators.of_zip(_inside), {Call("samples", load_programs): 1}),
    "rule-samples": Kind(
        ["rule-samples.npz"], mutators.of_zip(_inside), {Call("rule samples", _rule_samples): 1}
    ),
    "inputs": Kind(["inputs.npz"], mutators.of_zip(_inside), {Call("inputs", _inputs): 1}),
    "peak": Kind(
        ["peaks/peak-float32.json"],
        _either(mutators.of_json, mutators.of_bytes),
        {Call("peak", _peak): 1},
    ),
}


@dataclass(frozen=True)
class Trial:
    """A damaged file, and what reads it, in a folder of its own."""

    index: int
    what: str
    here: Path
    file: Path
    read: Reader


def made(kind: str, seed: int, index: int, seeds: Path, folder: Path) -> Trial:
    """Make the damaged file of a trial."""
    rng, of, here = draws(seed, index), KINDS[kind], folder / str(index)
    name, other = rng.choice(of.seeds), rng.choice(of.seeds)
    [reader] = rng.choices([*of.readers], [*of.readers.values()])
    part = rng.choice(of.parts)
    source, file = seeds / name, here / "out" / reader.into if reader.into else here / name
    file.parent.mkdir(parents=True)
    if part:
        shutil.copytree(source, file)
    if of.beside:
        near = name.split(".")[0] + of.beside
        shutil.copy(seeds / near, here / near)
    good, another = (source / part).read_bytes(), (seeds / other / part).read_bytes()
    content, what = of.mutate(rng, good, another)
    (file / part).write_bytes(content)

    def read(path: Path) -> str | None:
        os.chdir(here)
        return reader(path, seeds, here / "out")

    return Trial(index, f"{reader.name}: {Path(name) / part}, {what}", here, file, read)


def outcomes(
    kind: str, seed: int, indices: Sequence[int], seeds: Path, folder: Path
) -> Iterator[Outcome]:
    """What becomes of the files of some trials, which are made in a folder."""
    trials = [made(kind, seed, index, seeds, folder) for index in indices]
    found = judge(
        [(trial.file, trial.read) for trial in trials],
        planted=[trial.here / MARK for trial in trials],
        starts=KINDS[kind].starts,
    )
    for trial, told in zip(trials, found, strict=True):
        survived = told.verdict == SURVIVED
        yield Outcome(
            campaign=f"mutations, {kind}",
            index=trial.index,
            seed=seed,
            what=trial.what.split(",")[0] if survived else trial.what[:1000],
            verdict=told.verdict,
            told=told.told.strip().replace(f"{trial.here}/", "")[: 60 if survived else None],
            seconds=round(told.seconds, 2),
            mb=round(told.mb),
        )


def main() -> None:
    """Run what is left of a campaign, or one trial again."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--into", type=Path, default=Path("faults"), help="folder of journals")
    parser.add_argument("--kind", action="append", choices=[*KINDS], help="(default: all)")
    parser.add_argument(
        "--trials", type=int, help=f"of each kind (default: {TRIALS} of all, {FEWEST} at least)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--repeat", type=int, metavar="INDEX", help="this trial alone; its file stays in --into"
    )
    given = parser.parse_args()
    with good_files() as seeds:
        _warm()
        for kind in given.kind or KINDS:
            campaign = partial(outcomes, kind, given.seed)
            if given.repeat is not None:
                print(*campaign([given.repeat], seeds.resolve(), given.into.resolve()))
            else:
                trials = given.trials or max(FEWEST, round(TRIALS * _share(kind)))
                _go_on(kind, trials, seeds.resolve(), given.into, campaign)


def _share(kind: str) -> float:
    return KINDS[kind].weight / sum(one.weight for one in KINDS.values())


def _go_on(
    kind: str, trials: int, seeds: Path, into: Path, campaign: Callable[..., Iterator[Outcome]]
) -> None:
    ledger = Ledger(into / f"mutations-{kind}.jsonl")
    left = [index for index in range(trials) if index not in ledger.done]
    faults = 0
    for at in range(0, len(left), BATCH):
        with tempfile.TemporaryDirectory(prefix="ansor-faults-") as folder:
            for outcome in campaign(left[at : at + BATCH], seeds, Path(folder)):
                ledger.add(outcome)
                if outcome.verdict != SURVIVED:
                    faults += 1
                    print(kind, outcome.index, outcome.verdict, outcome.what, outcome.told[-500:])
    print(f"{kind}: {len(left)} trials, {faults} faults", flush=True)


def _warm() -> None:
    """Import what readers import, so that children have it; nothing is computed here."""
    for module in (
        *("onnx", "torch", "torch.export.pt2_archive._package", "xgboost"),
        *("tvm", "tvm.relax.frontend.onnx", "tvm.relax.frontend.torch", "tvm.s_tir.meta_schedule"),
        *("pytest_ansorbench.cli", "pytest_ansorbench.workloads"),
        *("pytest_ansorbench.report.build", "pytest_ansorbench.report.render.formats"),
    ):
        importlib.import_module(module)


if __name__ == "__main__":
    main()
