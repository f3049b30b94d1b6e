"""How many planted faults the tests catch: seeded mutants, each against the tests of its folder.

    pip install cosmic-ray==8.7.0
    python benchmarks/mutants.py run --into mutants.jsonl [--mutants 160] [--seed 0] [--part 1/2]
    python benchmarks/mutants.py report mutants.jsonl

Mutants are drawn from all places where an operator of Cosmic Ray applies, each place once, in
each folder of the package as many as its share of these places, at least four. A mutant stands in
the checkout's own file while its tests run; the file is restored afterwards, after an interrupt
too. Each outcome is a line of the journal, and a second call goes on behind the last one.
`|` is not mutated: nearly all of them stand in annotations, which are never evaluated here.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

PACKAGE: Final = Path("pytest_ansorbench")
TESTS: Final = Path("tests")
FEWEST: Final = 4
TIMEOUT_S: Final = 1800.0
NUMBERS: Final = 0.15
"""The share of mutants that change a number: drawn by places, they would be half of all."""


@dataclass(frozen=True)
class Mutant:
    """One place, and the operator that is applied there."""

    folder: str
    module: str
    line: int
    operator: str
    occurrence: int


def main() -> None:
    """Draw, run, journal; or count what a journal holds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="plant the mutants and run the tests")
    run.add_argument("--into", type=Path, required=True, help="the journal, one line a mutant")
    run.add_argument("--mutants", type=int, default=160, help="how many (default: 160)")
    run.add_argument("--seed", type=int, default=0, help="of the draw (default: 0)")
    run.add_argument("--part", default="1/1", help="this part of the mutants, e.g. 1/2")
    report = commands.add_parser("report", help="count what was caught, and list the rest")
    report.add_argument("journal", type=Path, nargs="+")
    given = parser.parse_args()
    if given.command == "report":
        print_report([line for path in given.journal for line in read(path)])
        return
    part, parts = map(int, given.part.split("/"))
    mutants = draw(given.mutants, given.seed)[part - 1 :: parts]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    known = {key_of(line) for line in read(given.into)} if given.into.exists() else set()
    with given.into.open("a", encoding="utf-8") as journal:
        for number, mutant in enumerate(mutants, 1):
            if key_of(asdict(mutant)) in known:
                continue
            line = asdict(mutant) | plant(mutant)
            journal.write(json.dumps(line) + "\n")
            journal.flush()
            print(f"{number}/{len(mutants)} {mutant.module}:{mutant.line} {line['outcome']}")


def draw(mutants: int, seed: int) -> list[Mutant]:
    """The mutants of a seed, in random order."""
    rng = random.Random(seed)
    places: dict[str, dict[tuple[str, int, int], list[Mutant]]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        inside = path.relative_to(PACKAGE).parts
        folder = inside[0] if len(inside) > 1 else "."
        here = places.setdefault(folder, defaultdict(list))
        for (line, column), mutant in _mutants_of(path, folder):
            here[(mutant.module, line, column)].append(mutant)
    total = sum(map(len, places.values()))
    chosen = []
    for _, here in sorted(places.items()):
        share = max(FEWEST, round(mutants * len(here) / total))
        at_numbers = [at for at in here.values() if "Number" in at[0].operator]
        elsewhere = [at for at in here.values() if "Number" not in at[0].operator]
        numbers = round(NUMBERS * share)
        for kind, count in ((at_numbers, numbers), (elsewhere, share - numbers)):
            chosen += [rng.choice(at) for at in rng.sample(kind, min(count, len(kind)))]
    rng.shuffle(chosen)
    return chosen


def _mutants_of(path: Path, folder: str) -> Iterator[tuple[tuple[int, int], Mutant]]:
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator, operator_names

    tree = get_ast_from_path(path)
    nodes = list(ast_nodes(tree))
    for name in operator_names():
        operator = get_operator(name)
        if operator.arguments() or "BitOr" in name or "NoOp" in name:
            continue
        places = (place for node in nodes for place in operator().mutation_positions(node))
        for occurrence, (start, _) in enumerate(places):
            yield start, Mutant(folder, str(path), start[0], name, occurrence)


def plant(mutant: Mutant) -> dict[str, object]:
    """Run the tests of a mutant's folder with the mutant in place."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    path = Path(mutant.module)
    before = path.read_text(encoding="utf-8")
    after = mutate_code(before, get_operator(mutant.operator)(), mutant.occurrence)
    changed = [
        f"- {old.strip()} + {new.strip()}"
        for old, new in zip(before.splitlines(), after.splitlines(), strict=False)
        if old != new
    ][:1]
    began_s = time.monotonic()
    try:
        path.write_text(after, encoding="utf-8")
        caught, by = _run_tests(tests_of(mutant))
    finally:
        path.write_text(before, encoding="utf-8")
    seconds = round(time.monotonic() - began_s, 1)
    return {
        "outcome": "caught" if caught else "survived",
        "by": by,
        "s": seconds,
        "change": changed,
    }


def tests_of(mutant: Mutant) -> list[str]:
    """The tests of a mutant's folder, those first that speak of its module most.

    Without a folder of its own, the tests at the top. The order changes nothing but the seconds:
    the first test that fails ends the run.
    """
    stem = Path(mutant.module).stem
    here = TESTS / mutant.folder
    own = here.is_dir() and mutant.folder != "."
    in_folder = here.rglob("test_*.py") if own else TESTS.glob("test_*.py")

    def mentions(path: Path) -> tuple[bool, int]:
        return path.stem == f"test_{stem}", path.read_text(encoding="utf-8").count(stem)

    return [str(path) for path in sorted(sorted(in_folder), key=mentions, reverse=True)]


def _run_tests(tests: Sequence[str]) -> tuple[bool, str]:
    """Whether a test fails, and which or how."""
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=TIMEOUT_S)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            return True, "timeout"
        raise
    lines = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR", "E  "))]
    return process.returncode != 0, (lines or output.splitlines()[-1:] or [""])[-1][:200]


def read(path: Path) -> list[dict[str, object]]:
    """The lines of a journal, which may be compressed."""
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    return [json.loads(line) for line in text.splitlines()]


def key_of(line: Mapping[str, object]) -> tuple[object, ...]:
    """What tells mutants apart."""
    return line["module"], line["operator"], line["occurrence"]


def print_report(lines: Sequence[Mapping[str, object]]) -> None:
    """A row a folder, then what survived."""
    caught = Counter(line["folder"] for line in lines if line["outcome"] == "caught")
    planted = Counter(line["folder"] for line in lines)
    print(f"{'folder':12} planted  caught")
    for folder, count in sorted(planted.items()):
        print(f"{folder:12} {count:7} {caught[folder]:7}")
    print(
        f"{'all':12} {planted.total():7} {caught.total():7}  {caught.total() / planted.total():.1%}"
    )
    for line in lines:
        if line["outcome"] == "survived":
            operator = str(line["operator"]).removeprefix("core/")
            print(f"\n{line['module']}:{line['line']}  {operator}\n  {' '.join(line['change'])}")


if __name__ == "__main__":
    main()
