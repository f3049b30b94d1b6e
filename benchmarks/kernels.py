"""Are equal toolchains told to be equal, and slower ones slower, within minutes?

    python benchmarks/kernels.py [--only tune|same|slower|report] [--into FOLDER]

Tunes the twelve operators of benchmarks/draft.py for a few trials, once, and keeps the result.
Then makes its kernels again, this environment against itself, and against itself with LLVM's
optimization lowered; and reports how long that took, what it found, and how often comparisons
that are drawn anew raise an alarm: in each set of processes chance says which side is which, with
equal toolchains, with all kernels slower, with one of them slower.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from sessions import RESULTS, bench
from tabulate import tabulate

from pytest_ansorbench.records.rebuilt_kernels import KernelsVerdict, RebuiltKernel, RebuiltKernels
from pytest_ansorbench.report.rebuilt_tables import kernels_report
from pytest_ansorbench.report.render.terminal import Terminal
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.rebuilt_ratios import KernelLimits, judge_rebuilt
from pytest_ansorbench.storage import result_name
from pytest_ansorbench.storage.files import read_rebuilt

LIMITS: Final = KernelLimits(kernel=0.97, suite=0.99)
DRAWS: Final = 200
SLOWER: Final = "slower:opt-level=1"


def main() -> None:
    """Measure what is missing, then report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", choices=("tune", "same", "slower", "report"))
    parser.add_argument("--into", type=Path, default=RESULTS / "kernels")
    given = parser.parse_args()
    tuned = given.into / "tuned.json.gz"
    if given.only in (None, "tune") and not tuned.exists():
        tune(tuned)
    if given.only in (None, "same"):
        measure(tuned, given.into / "same.json.gz", ["--against", sys.executable])
    if given.only in (None, "slower"):
        measure(tuned, given.into / "slower.json.gz", ["--variant", SLOWER])
    if all((given.into / f"{name}.json.gz").exists() for name in ("same", "slower")):
        print(report(given.into))


def tune(output: Path) -> None:
    """A short bench, for kernels that are worth making again."""
    from draft import OF_EACH_FAMILY

    bench(
        output,
        case=",".join(OF_EACH_FAMILY.values()),
        strategy="draft",
        trials=64,
        round=16,
        repeats=1,
        max_early_search_ratio="none",
        min_throughput_ratio="none",
    )


def measure(tuned: Path, output: Path, words: Sequence[str]) -> None:
    """The kernels of a result again, under two toolchains."""
    started_s = time.monotonic()
    command = [
        *(sys.executable, "-m", "pytest_ansorbench.cli", "kernels", str(tuned)),
        *("--json", str(output), *words),
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    _seconds(output).write_text(f"{time.monotonic() - started_s:.0f}\n")


def _seconds(output: Path) -> Path:
    """Where it stands how long it took to write a result."""
    return output.with_name(f"{result_name(output)}.seconds")


def report(folder: Path) -> str:
    """What was found, and what would be found again."""
    parts = []
    for name in ("same", "slower"):
        rebuilt = read_rebuilt(folder / f"{name}.json.gz")
        seconds = _seconds(folder / f"{name}.json.gz").read_text().strip()
        verdicts = judge_rebuilt(rebuilt, Criteria(), LIMITS)
        parts += [
            f"{name}: {len(rebuilt.kernels)} kernels in {seconds} s",
            Terminal().render(kernels_report(rebuilt, verdicts)),
            "",
        ]
    same = read_rebuilt(folder / "same.json.gz")
    rows = [
        drawn("equal", same, of_all=1.0, of_one=1.0),
        drawn("all kernels 3% slower", same, of_all=0.97, of_one=0.97),
        drawn("all kernels 5% slower", same, of_all=0.95, of_one=0.95),
        drawn("one kernel 10% slower", same, of_all=1.0, of_one=0.9),
        drawn("one kernel 15% slower", same, of_all=1.0, of_one=0.85),
    ]
    headings = ("toolchains", "suite broken", "suite holds", "one kernel broken", "others broken")
    title = (
        f"{DRAWS} comparisons drawn anew, limits {LIMITS.kernel} a kernel and {LIMITS.suite} in all"
    )
    return "\n".join([*parts, title, tabulate(rows, headings)])


def drawn(name: str, rebuilt: RebuiltKernels, *, of_all: float, of_one: float) -> list[str]:
    """Shares of outcomes over comparisons that are drawn anew; each kernel is the one in turn.

    Args:
        name: Of the row.
        rebuilt: Kernels of two toolchains that are the same.
        of_all: What the kernels' throughput is multiplied by,
        of_one: and that of one kernel.
    """
    rng = np.random.default_rng(0)
    suite, ones, others = [], [], []
    for draw in range(DRAWS):
        one = draw % len(rebuilt.kernels)
        kernels = tuple(
            _redrawn(kernel, of_one if index == one else of_all, rng)
            for index, kernel in enumerate(rebuilt.kernels)
        )
        [verdict] = judge_rebuilt(replace(rebuilt, kernels=kernels), Criteria(), LIMITS)
        broken = [_is_broken(verdict, index) for index in range(len(kernels))]
        suite.append(None if verdict.gate is None else verdict.gate.outcome)
        ones.append(broken.pop(one))
        others += broken
    shares = (
        np.mean([outcome == "broken" for outcome in suite]),
        np.mean([outcome == "holds" for outcome in suite]),
        np.mean(ones),
        np.mean(others),
    )
    return [name, *(f"{share:.1%}" for share in shares)]


def _is_broken(verdict: KernelsVerdict, index: int) -> bool:
    gate = verdict.kernels[index].gate
    return gate is not None and gate.outcome == "broken"


def _redrawn(kernel: RebuiltKernel, ratio: float, rng: np.random.Generator) -> RebuiltKernel:
    """In each set of processes the two sides by lot: they are the same."""
    one, other = (np.array(side.measured.latencies_s) for side in kernel.sides)
    sets = np.array(kernel.sides[0].measured.sets)
    swapped = rng.random(sets.max() + 1) < 0.5
    first = np.where(swapped[sets], other, one)
    second = np.where(swapped[sets], one, other) / ratio
    sides = tuple(
        replace(side, measured=replace(side.measured, latencies_s=tuple(latencies_s.tolist())))
        for side, latencies_s in zip(kernel.sides, (first, second), strict=True)
    )
    return replace(kernel, sides=sides)


if __name__ == "__main__":
    main()
