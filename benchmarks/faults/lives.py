"""Sessions that live some seconds at a time, and end all the same.

    python benchmarks/faults/lives.py [--into FILE] [--trials 6] [--seed 1] [--seconds 8]

A session tunes a small operator or a small network. It is killed so many seconds after it began,
and resumed, until it has ended; each life is told by the lines that it added to the journal. A
life without a line is allowed, many in a row are a fault: then nothing is ever added.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from ledger import SURVIVED, Ledger, Outcome, draws
from live import Live, killed

CAMPAIGN: Final = "lives"
KINDS: Final = ("operator", "network")
MOST_IN_VAIN: Final = 8
"""Lives in a row without a line."""


def main() -> int:
    """Kill and resume, until it is enough."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--into", type=Path, default=Path("lives.jsonl"))
    parser.add_argument("--trials", type=int, default=6, help="sessions (default: 6)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=8.0, help="of a life (default: 8)")
    given = parser.parse_args()
    ledger = Ledger(given.into)
    for index in range(given.trials):
        if index not in ledger.done:
            folder = Path(tempfile.mkdtemp(prefix="ansor-lives-"))
            outcome = one_session(folder, given.seed, index, given.seconds)
            ledger.add(outcome)
            print(f"{index}: {outcome.what}: {outcome.verdict} {outcome.told}", flush=True)
            if outcome.verdict == SURVIVED:
                shutil.rmtree(folder)
    return 0


def one_session(folder: Path, seed: int, index: int, seconds: float) -> Outcome:
    """One session, life by life, until it ends or gets nowhere."""
    live = Live(folder, draws(seed, index).choice(KINDS))
    started_s = time.monotonic()
    faults: list[str] = []
    added: list[int] = []
    while len(added) < MOST_IN_VAIN or any(added[-MOST_IN_VAIN:]):
        before = live.lines()
        live.start()
        deadline_s = time.monotonic() + seconds
        while live.code is None and time.monotonic() < deadline_s:
            time.sleep(0.01)
        for process in live.victims("main"):
            killed(process)
        assert live.process is not None
        live.process.wait()
        added.append(live.lines() - before)
        if live.code is not None and live.code >= 0:
            faults += live.faults_at_end(0)
            break
        faults += live.faults_after_kill()
    else:
        faults.append(f"no line in {MOST_IN_VAIN} lives")
    lines = ", ".join(map(str, added))
    what = f"{live.kind}, {len(added)} lives of {seconds:g} s with {lines} lines"
    verdict, told = ("fault", "; ".join(faults)) if faults else (SURVIVED, "")
    return Outcome(
        CAMPAIGN, index, seed, what, verdict, told, round(time.monotonic() - started_s, 1)
    )


if __name__ == "__main__":
    sys.exit(main())
