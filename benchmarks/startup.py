"""What the installed plugin adds to the start of a pytest session that does not use it.

    python benchmarks/startup.py [--runs 20]

Runs `pytest --version` with the plugin and with `-p no:ansorbench` in turn, the lead
alternating, and prints both medians, their ratio and their difference; then the same with
`pytest --collect-only` in an empty folder, since recent versions of pytest answer `--version`
before they load any plugin. Bar: 50 ms for each.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time

BAR_MS = 50.0
ARMS = {"with": [], "without": ["-p", "no:ansorbench"]}
COMMANDS = ("--version", "--collect-only")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=20, help="runs of each arm (default: 20)")
    given = parser.parse_args()
    added_ms = [report(command, compare(command, given.runs)) for command in COMMANDS]
    sys.exit(max(added_ms) >= BAR_MS)


def compare(command: str, runs: int) -> dict[str, list[float]]:
    """Seconds of each run of each arm."""
    seconds: dict[str, list[float]] = {arm: [] for arm in ARMS}
    with tempfile.TemporaryDirectory() as folder:
        for run in range(-1, runs):  # the first pair only warms the disk cache
            for arm in sorted(ARMS, reverse=run % 2 == 0):
                spent = start([command, *ARMS[arm]], folder)
                if run >= 0:
                    seconds[arm].append(spent)
    return seconds


def report(command: str, seconds: dict[str, list[float]]) -> float:
    """Print one command's figures; returns the milliseconds that the plugin adds."""
    medians = {arm: statistics.median(values) for arm, values in seconds.items()}
    added_ms = 1000 * (medians["with"] - medians["without"])
    print(f"pytest {command}")
    for arm, values in seconds.items():
        print(
            f"  {arm:8} median {1000 * medians[arm]:6.1f} ms   "
            f"min {1000 * min(values):6.1f}   max {1000 * max(values):6.1f}"
        )
    print(f"  ratio    {medians['with'] / medians['without']:.3f}")
    print(f"  added    {added_ms:.1f} ms (bar: under {BAR_MS:g} ms)")
    return added_ms


def start(arguments: list[str], folder: str) -> float:
    """Seconds of one pytest."""
    started_s = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=folder,
        capture_output=True,
        check=False,  # an empty folder has no tests, which pytest exits 5 for
    )
    return time.perf_counter() - started_s


if __name__ == "__main__":
    main()
