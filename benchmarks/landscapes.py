"""Records the landscapes that ship, of six operators of different families.

    python benchmarks/landscapes.py --into FOLDER [--points N]

For a machine that does nothing else. It first measures what the machine can do at most, which
`ansor-bench landscape check` holds the points to, then records one operator after the other; 2,000
points are to take no more than 15 minutes on two cores. Interrupted, the same command goes on. In
the end each file is checked, programs included.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from pytest_ansorbench.cli import main as ansor_bench
from pytest_ansorbench.cores import usable_cores
from pytest_ansorbench.sessions import engine_of
from pytest_ansorbench.storage import fingerprint, read_peak, write_peak
from pytest_ansorbench.tuning import settings_of
from pytest_ansorbench.yardsticks.peak import measure_peak

INTO: Final = Path(__file__).parent.parent / "docs" / "results" / "landscapes"
CASES: Final = (
    "matmul-b1-m512-n512-k512",
    "conv1d-n1-l256-ci64-co128-k3-s2-p1",
    "conv2d-n1-h224-w224-ci3-co64-k7-s2-p3",
    "depthwise-conv2d-n1-h112-w112-c32-k3-s1-p1",
    "transposed-conv2d-n1-h4-w4-ci512-co256-k4-s2-p1",
    "softmax-m1536-n128",
)
STORAGE: Final = Path(".ansor_bench")


def main() -> int:
    """Record what is not there yet, and check all of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--into", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--points", type=int, default=2_000, help="of each (default: %(default)s)")
    given = parser.parse_args()
    keep_peak()
    points = ["--points", str(given.points), "--storage", str(STORAGE)]
    code = ansor_bench(["landscape", "record", *CASES, "-o", str(given.into), *points])
    if code:
        return code
    files = sorted(map(str, given.into.glob("*.json.gz")))
    return ansor_bench(["landscape", "check", "--programs", *files])


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Options of scripts that read landscapes: which ones."""
    parser.add_argument("--landscapes", type=Path, default=INTO, metavar="FOLDER")
    parser.add_argument("--case", metavar="ID,ID", help="of these; of all by default")


def chosen(given: argparse.Namespace) -> list[Path]:
    """The files that were asked for."""
    if given.case:
        return [given.landscapes / f"{case}.json.gz" for case in given.case.split(",")]
    return sorted(given.landscapes.glob("*.json.gz"))


def keep_peak() -> None:
    """Measure what this machine can do at most, unless that is known."""
    with engine_of(settings_of({})) as engine:
        machine, cores = fingerprint(engine.machine), usable_cores().to_pin_to
        peak = read_peak(STORAGE, machine, "float32", cores) or measure_peak(engine, "float32")
    if peak is not None:
        write_peak(STORAGE, machine, peak, cores)


if __name__ == "__main__":
    sys.exit(main())
