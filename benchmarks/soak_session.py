"""One long search in one session: what grows in its process, and what stays open.

    python benchmarks/soak_session.py [--trials 20000] [--case ID] [--into soak-session.jsonl]

A run of `draft` on a network of 25 tasks, its journal included. Candidates are measured as briefly
as may be, but built, raced against the task's best and checked as ever. After each round, when no
candidate is under way, a line of JSON tells the session's resident memory, its open files and
sockets, and the seconds that the round took to propose. Straight lines through what comes after
trial 1,000 tell what grows. Bars: 50 MB, no file, no socket, half the seconds of proposing a trial,
150 minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import psutil

from pytest_ansorbench.measure.policy import PairedMeasurement, RacingMeasurement
from pytest_ansorbench.storage import CutShortError, JournalTail
from pytest_ansorbench.storage.entries import RoundEntry
from pytest_ansorbench.strategies import Registry, Strategy

if TYPE_CHECKING:
    from numpy.typing import NDArray

HERE: Final = Path(__file__).parent
STRATEGY: Final = "brief-draft"
SETTLED_TRIALS: Final = 1000
PARTS: Final = 20
"""Of a run, whose seconds are added up before a line is drawn through them."""
LOOK_S: Final = 0.02
BARS: Final[Mapping[str, float]] = {
    "memory_mb": 50.0,
    "files": 1.0,
    "sockets": 1.0,
    "propose": 0.5,
    "minutes": 150.0,
}
GIVES_BACK: Final[Mapping[str, str]] = dict.fromkeys(
    ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"), str(128 << 10)
)
"""glibc's thresholds, which rise to 64 and 32 MB unless they are set
(https://man7.org/linux/man-pages/man3/mallopt.3.html): what is free then goes back to the system,
and resident memory is what the session holds."""
TEST: Final = """
from pytest_ansorbench import workloads

def test_soak(ansor_bench):
    ansor_bench(workloads.get({case!r}))
"""


def pytest_ansorbench_strategies() -> list[Strategy]:
    """Offer `draft` with measurements that take a few milliseconds."""
    race = RacingMeasurement(brief_ms=1.0, full_ms=5.0, samples=2)
    brief = PairedMeasurement(race=race, slice_ms=1.0, pairs=2)
    return [replace(Registry().get("draft"), name=STRATEGY, measurement=brief, last_check=None)]


def main() -> int:
    """Soak and print.

    Returns:
        0 if all bars hold.
    """
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=20_000, help="trials (default: 20000)")
    parser.add_argument("--case", default="resnet50-n1-s224", help="default: resnet50-n1-s224")
    parser.add_argument("--into", type=Path, default=Path("soak-session.jsonl"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        session = begun(Path(folder), given.case, given.trials)
        try:
            for look in looks(session, Path(folder), given.trials, given.into):
                print(json.dumps(look), file=sys.stderr, flush=True)
        finally:
            end(session)
    of_rounds = [json.loads(line) for line in given.into.read_text().splitlines()]
    done = of_rounds[-1]["trials"] if of_rounds else 0
    if done < given.trials:
        sys.exit(f"the session ended after {done} trials (exit code {session.returncode})")
    text, right = told(of_rounds)
    print(text)
    return 0 if right else 1


def begun(folder: Path, case: str, trials: int) -> subprocess.Popen[bytes]:
    """A session with its journal in the folder."""
    test = folder / "test_soak.py"
    test.write_text(TEST.format(case=case))
    command = [
        *(sys.executable, "-m", "pytest", "--ansor-bench", str(test), "-q"),
        *("-p", "soak_session", "-p", "no:cacheprovider"),
        *("--ansor-strategy", STRATEGY, "--ansor-trials", str(trials), "--ansor-round", "16"),
        *("--ansor-repeats", "1", "--ansor-noise-check", "0", "--ansor-storage", str(folder)),
    ]
    environment = {**os.environ, **GIVES_BACK, "PYTHONPATH": str(HERE)}
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=sys.stderr)


def end(session: subprocess.Popen[bytes]) -> None:
    """Interrupt it: what would follow the search is no part of this."""
    if session.poll() is None:
        session.send_signal(signal.SIGINT)
    try:
        session.wait(timeout=120)
    except subprocess.TimeoutExpired:
        session.kill()
        session.wait()


def looks(
    session: subprocess.Popen[bytes], folder: Path, trials: int, into: Path
) -> Iterator[dict[str, Any]]:
    """Look at a session after each of its rounds until trials are spent; yields one in fifty."""
    started_s, done = time.monotonic(), 0
    process = psutil.Process(session.pid)
    with into.open("w") as file:
        for number, entry in enumerate(rounds(session, folder / "journals" / "0001.jsonl")):
            done += len(entry.trials)
            look = {
                "trials": done,
                "minutes": (time.monotonic() - started_s) / 60,
                **held_by(process),
                "proposed": len(entry.trials),
                "propose_s": entry.round.propose_s,
            }
            file.write(json.dumps(look) + "\n")
            file.flush()
            if number % 50 == 0:
                yield look
            if done >= trials:
                return


def rounds(session: subprocess.Popen[bytes], journal: Path) -> Iterator[RoundEntry]:
    """The rounds of a session as its journal gets them, until it ends."""
    tail = JournalTail(journal)
    while session.poll() is None:
        time.sleep(LOOK_S)
        if journal.exists():
            with contextlib.suppress(CutShortError):  # before its first line is there
                yield from (entry for entry in tail.read() if isinstance(entry, RoundEntry))


def held_by(process: psutil.Process) -> dict[str, float]:
    """Resident memory of a process, and how many files and sockets it has open."""
    open_ = []
    for link in Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            open_.append(os.readlink(link))
        except FileNotFoundError:
            continue
    sockets = sum(name.startswith("socket:") for name in open_)
    return {
        "memory_mb": process.memory_info().rss / 1e6,
        "files": len(open_) - sockets,
        "sockets": sockets,
    }


def told(of_rounds: Sequence[Mapping[str, float]]) -> tuple[str, bool]:
    """What grew after the first 1,000 trials, by straight lines, and whether all bars hold."""
    first = min(SETTLED_TRIALS, of_rounds[-1]["trials"] / 2)
    settled = [one for one in of_rounds if one["trials"] >= first]
    trials = np.array([one["trials"] for one in settled])
    lines, right = [], True
    grown: dict[str, float] = {}
    for name in ("memory_mb", "files", "sockets"):
        line = fitted(trials, np.array([one[name] for one in settled]))
        grown[name] = float(line[-1] - line[0])
        lines.append(f"{name}: {line[0]:.1f} at first, {per_thousand(trials, line):+.3f}")
    middles, seconds = proposing(settled)
    line = fitted(middles, seconds)
    grown["propose"] = float(line[-1] / line[0] - 1.0)
    lines.append(f"propose: {line[0]:.4f} s a trial, {per_thousand(middles, line):+.5f}")
    grown["minutes"] = of_rounds[-1]["minutes"]
    lines = [f"{line} for each 1,000 trials more" for line in lines]
    for name, bar in BARS.items():
        right = right and grown[name] < bar
        lines.append(f"{name}: {grown[name]:.2f} (bar: {bar:g})")
    head = f"{int(of_rounds[-1]['trials'])} trials in {len(of_rounds)} rounds"
    return "\n".join([head, *lines]), right


def fitted(trials: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """A straight line through values, by least squares, at each of the trials."""
    line: NDArray[np.float64] = np.polyval(np.polyfit(trials, values, 1), trials)
    return line


def per_thousand(trials: NDArray[np.float64], line: NDArray[np.float64]) -> float:
    return float(1000 * (line[-1] - line[0]) / (trials[-1] - trials[0]))


def proposing(
    settled: Sequence[Mapping[str, float]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Seconds of proposing a trial, in the parts of a run, at the middle of each."""
    trials = np.array([one["trials"] for one in settled])
    bins = (trials - trials[0]) * PARTS // (trials[-1] - trials[0] + 1)
    middles, seconds = [], []
    for number in np.unique(bins):
        inside = [one for one, at in zip(settled, bins, strict=True) if at == number]
        middles.append(np.mean([one["trials"] for one in inside]))
        proposed = sum(one["proposed"] for one in inside)
        seconds.append(sum(one["propose_s"] for one in inside) / max(1, proposed))
    return np.array(middles), np.array(seconds)


if __name__ == "__main__":
    sys.exit(main())
