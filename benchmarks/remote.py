"""What distance costs: seconds a trial over TVM's RPC on loopback against the local engine.

    python benchmarks/remote.py [--case ID,ID] [--arms NAME,NAME] [--trials N] [--seeds N]
                                [--into FOLDER]

Starts a tracker and a device on loopback, then runs sessions of pytest, each seed once here and
once on the device, in turn. Seconds a trial are by phase, from the results' rounds. A result that
is there is not run again, so that the benchmark can be interrupted. Of the device's side, linking
is in build, and so are uploads, which overlap with it; arguments and sessions are in run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Final

from sessions import RESULTS, bench
from tabulate import tabulate

from pytest_ansorbench.measure.remote.settings import DeviceAddress
from pytest_ansorbench.measure.remote.tracker import TrackerConnection, TrackerError
from pytest_ansorbench.records import Run
from pytest_ansorbench.storage import read_result

CASES: Final = "conv2d-n1-h14-w14-ci256-co256-k3-s1-p1,matmul-b1-m512-n512-k512"
PHASES: Final = ("propose_s", "build_s", "run_s", "learn_s")
ADDRESS: Final = DeviceAddress("127.0.0.1", 9190, "loopback")


def main() -> None:
    """Run what is missing, then print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--case", default=CASES, help="ids, separated by commas")
    parser.add_argument("--arms", default="racing,draft", help="strategies")
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--into", type=Path, default=RESULTS / "remote")
    given = parser.parse_args()
    with loopback():
        for seed in range(given.seeds):
            for case in given.case.split(","):
                ways = ("local", "remote")
                for way in ways if seed % 2 == 0 else ways[::-1]:
                    run(given, case, seed, way)
    print(report(given.into))


@contextmanager
def loopback() -> Iterator[None]:
    """A tracker and a device of as many threads as the local engine uses."""
    here = ["--host", ADDRESS.host]
    threads = {"TVM_NUM_THREADS": str(os.cpu_count() or 1)}
    tracker = start("tvm.exec.rpc_tracker", *here, "--port", str(ADDRESS.port))
    server = start(
        "tvm.exec.rpc_server", *here, f"--tracker={ADDRESS.host}:{ADDRESS.port}",
        f"--key={ADDRESS.key}", **threads,
    )  # fmt: skip
    try:
        while not has_device():
            time.sleep(0.2)
        yield
    finally:
        for process in (server, tracker):
            process.terminate()
            process.wait()


def start(module: str, *arguments: str, **variables: str) -> subprocess.Popen[bytes]:
    """One of TVM's commands."""
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments, "--silent"], env={**os.environ, **variables}
    )


def has_device() -> bool:
    """Whether the tracker is there, and has the device."""
    try:
        with TrackerConnection(ADDRESS) as connection:
            return any(queue.free for queue in connection.queues())
    except TrackerError:
        return False


def run(given: argparse.Namespace, case: str, seed: int, way: str) -> None:
    """One session, unless its result is there."""
    output = given.into / f"{case}-{way}-{seed}.json.gz"
    if output.exists():
        return
    bench(
        output,
        *([f"--ansor-rpc={ADDRESS}"] if way == "remote" else []),
        case=case,
        strategy=given.arms,
        trials=given.trials,
        round=32,
        repeats=1,
        seed=seed,
        noise_check=0,
    )


def report(folder: Path) -> str:
    """Seconds a trial by case, arm and way, and what the device's are over the local ones."""
    runs: dict[tuple[str, str, str], list[Run]] = {}
    for path in sorted(folder.glob("*.json.gz")):
        way = path.name.split("-")[-2]
        for case in read_result(path).cases:
            for one in case.runs:
                runs.setdefault((case.case, one.strategy, way), []).append(one)
    rows = []
    for case, arm in sorted({key[:2] for key in runs}):
        local, remote = (phases(runs[case, arm, way]) for way in ("local", "remote"))
        for way, seconds in (("local", local), ("device", remote)):
            rows.append([case, arm, way, *(f"{one:.3f}" for one in seconds), ""])
        costs = sum(remote[1:3]) - sum(local[1:3])
        rows[-1][-1] = f"{sum(remote[1:3]) / sum(local[1:3]):.2f} ({costs:+.3f} s)"
    headings = ["case", "arm", "where", *(f"{name[:-2]} (s/trial)" for name in PHASES)]
    return tabulate(rows, [*headings, "build + run over local"], disable_numparse=True)


def phases(runs: Sequence[Run]) -> list[float]:
    """Mean seconds a trial of each phase."""
    return [
        fmean(sum(getattr(one, phase) for one in run.rounds) / len(run.trials) for run in runs)
        for phase in PHASES
    ]


if __name__ == "__main__":
    main()
