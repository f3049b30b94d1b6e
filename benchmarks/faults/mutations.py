"""Damaged files of every kind that is read: none may be more than told in a sentence.

    python benchmarks/faults/mutations.py --into docs/results/faults [--kind journal] [--trials N]
    python benchmarks/faults/mutations.py --kind journal --repeat 1234 --keep damaged/

Each trial damages a good file of its kind by what is drawn from the seed and the trial's number,
and reads it as a command of the product does, in a child with limits. A file that reads as valid
survives; so does one whose command ends with one sentence that names it. All else is a fault: a
traceback, no sentence, a crash, a hang, memory, code run. A kind's journal goes on where it
stopped. pytest-benchmark's files and models' cards are written and never read; they are given to
the commands that might take them for something else.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import mutators
from judge import LIMIT_S, Reader, judge
from ledger import SURVIVED, Ledger, Outcome, draws
from mutators import MARK, Mutation
from seeds import seeds as good_files

TRIALS: Final = 100_000
BATCH: Final = 25
"""Files a child reads."""


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Attributes:
        seeds: Names of good ones in the folder of seeds, a folder for a database.
        mutate: Damages one.
        readers: What reads it; the numbers are how often each is drawn.
        share: Of all trials, by weight.
        damaged: Of a seed that is a folder, the files that are damaged.
    """

    seeds: Sequence[str]
    mutate: Mutation
    readers: Mapping[Callable[[Path, Path], str | None], int]
    share: float = 1.0
    damaged: Sequence[str] = field(default=())


def command(*words: str, into: str = "") -> Callable[[Path, Path], str | None]:
    """A reader that is a command line: FILE stands for the file, SEEDS for the good ones.

    Args:
        words: The command's.
        into: Where the file is put before, in a folder of its own that is STORE.
    """

    def read(file: Path, seeds: Path) -> str | None:
        from pytest_ansorbench.cli import main

        store = file.parent / "store"
        names = {"FILE": str(file), "SEEDS": str(seeds), "STORE": str(store)}
        if into:
            target = store / into
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
            file = target
        out, err = io.StringIO(), io.StringIO()
        filled = []
        for word in words:
            for name, value in names.items():
                word = word.replace(name, value)
            filled.append(word)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(filled)
        shown = out.getvalue()
        if any(not line.isprintable() for line in shown.splitlines()):
            return f"{shown}\nwith characters that are not printable"
        told = err.getvalue()
        if code == 2 and not told:
            return "nothing was said"
        if into:
            told = told.replace(target.name, f"{target.name} alias {names['FILE']}", 1)
        return told.replace("\n", " ").strip() if told.count("\n") <= 1 and told else told or None

    read.__name__ = words[0]
    return read


def called(name: str, read: Callable[[Path], Any]) -> Callable[[Path, Path], str | None]:
    """A reader that is a function of the package."""

    def reading(file: Path, seeds: Path) -> str | None:
        from pytest_ansorbench.cli.exits import sentence
        from pytest_ansorbench.strategies.model_file import BadModel
        from pytest_ansorbench.training.arrays import BadSamples
        from pytest_ansorbench.workloads.inputs import BadInputs

        try:
            read(file)
        except (BadModel, BadSamples, BadInputs) as error:
            return str(error)
        except Exception as error:
            told = sentence(error)
            if told is None:
                raise
            return told
        return None

    reading.__name__ = name
    return reading


def _resumed(file: Path) -> None:
    """What a session does with a journal that it goes on with."""
    from pytest_ansorbench.bench.history import NoiseHistory, case_histories
    from pytest_ansorbench.storage import JournalTail, read_journal

    past = read_journal(file)
    histories = case_histories(past)
    for history in histories.values():
        for seed in history.repeats:
            if history.complete(seed):
                history.runs(seed)
    NoiseHistory.of(past).noise  # noqa: B018
    if not file.name.endswith(".gz"):
        JournalTail(file).read()


def _program_model(file: Path) -> None:
    import numpy as np

    from pytest_ansorbench.strategies import load_program_model
    from pytest_ansorbench.strategies.features import POOLED

    model = load_program_model(file)
    model.predict(np.zeros((4, POOLED), np.float32))
    model.predict(np.full((4, POOLED), np.nan, np.float32))


def _rule_model(file: Path) -> None:
    import numpy as np

    from pytest_ansorbench.strategies.features import POOLED
    from pytest_ansorbench.strategies.rule_model import load_rule_model

    load_rule_model(file).predict(np.zeros((4, POOLED), np.float32))


def _experience(file: Path) -> None:
    from pytest_ansorbench.strategies import Experience

    Experience(path=file).known()


def _programs(file: Path) -> None:
    from pytest_ansorbench.training.programs import load_programs

    load_programs(file)


def _rule_samples(file: Path) -> None:
    from pytest_ansorbench.training.rule_samples import load_samples

    load_samples(file).mutable  # noqa: B018


def _inputs(file: Path) -> None:
    from pytest_ansorbench.workloads.inputs import Input, draws

    wanted = [Input("float32", (2, 3), "x"), Input("int64", (4,), "y")]
    for way in draws(wanted, str(file)):
        way(0)


def _onnx(file: Path) -> None:
    from pytest_ansorbench.workloads import from_onnx

    from_onnx(file).tasks()


def _exported(file: Path) -> None:
    from pytest_ansorbench.workloads import from_exported_program

    from_exported_program(file).tasks()


def _peak(file: Path) -> None:
    from pytest_ansorbench.storage import read_peak

    read_peak(file.parent.parent, file.stem)


def _inside(name: str) -> Mutation:
    """What damages an entry of an archive."""
    if name.endswith(".npy"):
        return mutators.of_npy
    return mutators.of_json if name.endswith(".json") else mutators.of_bytes


def _either(*mutations: Mutation) -> Mutation:
    return lambda rng, data, other: rng.choice(mutations)(rng, data, other)


_OF_RESULTS: Final = {
    command("show", "FILE"): 8,
    command("show", "-v", "FILE"): 2,
    command("compare", "SEEDS/result.json", "FILE"): 3,
    command("compare", "FILE", "SEEDS/result.json"): 2,
    command("report", "FILE", "--format=html"): 2,
    command("merge", "FILE", "-o", "STORE/merged.json"): 1,
    command("schedule", "FILE", "--only=trace"): 2,
    command("export", "FILE", "--database=STORE/database"): 2,
    command("list", "--storage=STORE", into="0001_it.json"): 1,
    command("history", "--storage=STORE", into="0001_it.json"): 1,
}
_OF_JOURNALS: Final = {
    called("resume", _resumed): 8,
    command("watch", "--once", "FILE"): 6,
    command("export", "FILE", "--database=STORE/database"): 2,
    command("list", "--storage=STORE", into="journals/0001.jsonl"): 3,
    command("clean", "--yes", "--storage=STORE", into="journals/0001.jsonl"): 2,
}
_OF_PACKED: Final = {
    called("resume", _resumed): 8,
    command("watch", "--once", "FILE"): 6,
    command("list", "--storage=STORE", into="journals/0001.jsonl.gz"): 3,
    command("clean", "--yes", "--storage=STORE", into="journals/0001.jsonl.gz"): 2,
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
            command(
                "import",
                "--database=FILE",
                "-o",
                "STORE/imported.json",
                "--case=softmax-m1536-n128",
            ): 1
        },
        damaged=["database_workload.json", "database_tuning_record.json"],
    ),
    "model": Kind(
        ["program.ubj", "draft.ubj"],
        mutators.of_bytes,
        {called("program model", _program_model): 1},
    ),
    "model-json": Kind(
        ["program.json"],
        _either(mutators.of_json, mutators.of_bytes),
        {called("program model", _program_model): 1},
    ),
    "rule-model": Kind(["rules.ubj"], mutators.of_bytes, {called("rule model", _rule_model): 1}),
    "experience": Kind(
        ["experience.npz"], mutators.of_zip(_inside), {called("experience", _experience): 1}
    ),
    "card": Kind(
        ["program.card.json", "draft.card.json"],
        _either(mutators.of_json, mutators.of_bytes),
        {
            called("program model", _program_model): 1,
            command("show", "FILE"): 1,
            command("compare", "SEEDS/result.json", "FILE"): 1,
        },
    ),
    "onnx": Kind(["one.onnx", "two.onnx"], mutators.of_onnx, {called("onnx", _onnx): 1}),
    "pt2": Kind(["one.pt2", "two.pt2"], mutators.of_zip(_inside, 0), {called("pt2", _exported): 1}),
    "pytest-benchmark": Kind(
        ["benchmark.json"],
        _either(mutators.of_json, mutators.of_bytes),
        {
            command("show", "FILE"): 2,
            command("compare", "SEEDS/result.json", "FILE"): 1,
            command("list", "--storage=STORE", into="0001_it.json"): 1,
        },
    ),
    "samples": Kind(["samples.npz"], mutators.of_zip(_inside), {called("samples", _programs): 1}),
    "rule-samples": Kind(
        ["rule-samples.npz"], mutators.of_zip(_inside), {called("rule samples", _rule_samples): 1}
    ),
    "inputs": Kind(["inputs.npz"], mutators.of_zip(_inside), {called("inputs", _inputs): 1}),
    "peak": Kind(
        ["peaks/peak.json"],
        _either(mutators.of_json, mutators.of_bytes),
        {called("peak", _peak): 1},
    ),
}


@dataclass(frozen=True)
class Trial:
    """A damaged file, and what reads it."""

    index: int
    what: str
    file: Path
    read: Reader


def made(kind: str, seed: int, index: int, seeds: Path, folder: Path) -> Trial:
    """Make the damaged file of a trial in a folder of its own."""
    rng = draws(seed, index)
    of = KINDS[kind]
    name, other = rng.choice(of.seeds), rng.choice(of.seeds)
    reader = rng.choices([*of.readers], [*of.readers.values()])[0]
    here = folder / str(index)
    file = here / name
    file.parent.mkdir(parents=True)
    if of.damaged:
        shutil.copytree(seeds / name, file)
        part = rng.choice(of.damaged)
        content, what = of.mutate(
            rng, (seeds / name / part).read_bytes(), (seeds / name / part).read_bytes()
        )
        (file / part).write_bytes(content)
        what = f"{part}, {what}"
    else:
        content, what = of.mutate(rng, (seeds / name).read_bytes(), (seeds / other).read_bytes())
        file.write_bytes(content)
        what = f"{name}, {what}"

    def read(path: Path) -> str | None:
        os.chdir(here)
        return reader(path, seeds)

    return Trial(index, f"{reader.__name__}: {what}", file, read)


def outcomes(
    kind: str, seed: int, indices: Sequence[int], seeds: Path, limit_s: float = LIMIT_S
) -> Iterator[Outcome]:
    """What becomes of the files of some trials."""
    for at in range(0, len(indices), BATCH):
        with tempfile.TemporaryDirectory(prefix="ansor-faults-") as folder:
            trials = [
                made(kind, seed, one, seeds, Path(folder)) for one in indices[at : at + BATCH]
            ]
            marks = [trial.file.parent / MARK for trial in trials]
            files = [(trial.file, trial.read) for trial in trials]
            found = judge(files, planted=marks, limit_s=limit_s)
            for trial, told in zip(trials, found, strict=True):
                words = told.told.replace(f"{folder}/{trial.index}/", "")
                if told.verdict == SURVIVED:
                    words = words[:160]
                yield Outcome(
                    f"mutations, {kind}",
                    trial.index,
                    seed,
                    trial.what[:300],
                    told.verdict,
                    words,
                    round(told.seconds, 3),
                )


def main() -> None:
    """Run what is left of a campaign, or one trial again."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--into", type=Path, default=Path("faults"), help="folder of journals")
    parser.add_argument("--kind", action="append", choices=[*KINDS], help="(default: all)")
    parser.add_argument("--trials", type=int, help=f"of each kind (default: {TRIALS} of all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--limit", type=float, default=LIMIT_S, help="seconds of a file (default: %(default)s)"
    )
    parser.add_argument("--good", type=Path, help="folder of seeds.py (default: made anew)")
    parser.add_argument("--repeat", type=int, metavar="INDEX", help="this trial alone, shown")
    given = parser.parse_args()
    kinds = given.kind or [*KINDS]
    with contextlib.nullcontext(given.good) if given.good else good_files() as seeds:
        _warm()
        for kind in kinds:
            if given.repeat is not None:
                for outcome in outcomes(kind, given.seed, [given.repeat], seeds, given.limit):
                    print(outcome)
                continue
            share = KINDS[kind].share / sum(one.share for one in KINDS.values())
            trials = given.trials or max(5_000, round(TRIALS * share))
            ledger = Ledger(given.into / f"mutations-{kind}.jsonl")
            left = [index for index in range(trials) if index not in ledger.done]
            bad = 0
            for outcome in outcomes(kind, given.seed, left, seeds, given.limit):
                ledger.add(outcome)
                if outcome.verdict != SURVIVED:
                    bad += 1
                    print(kind, outcome.index, outcome.verdict, outcome.what, outcome.told[-400:])
            print(f"{kind}: {len(left)} trials, {bad} faults", flush=True)


def _warm() -> None:
    """Import what readers import, so that children have it; nothing is computed here."""
    import onnx  # noqa: F401
    import torch  # noqa: F401
    import xgboost  # noqa: F401
    from torch.export.pt2_archive import _package  # noqa: F401


if __name__ == "__main__":
    main()
