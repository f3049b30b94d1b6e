"""Sessions that live some seconds at a time, and end all the same.

    python benchmarks/faults/lives.py [--into FILE] [--trials 6] [--seed 1]

A session tunes a small operator or a small network. It is killed eight seconds after it began, and
resumed, until it has ended; each life is told by the lines that it added to the journal. A life
without a line is allowed, many in a row are a fault: then nothing is ever added.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ledger import Outcome, draws
from live import Live, carry_out, killed, outcomes_of

CAMPAIGN: Final = "lives"
KINDS: Final = ("operator", "network")
LIFE_S: Final = 8.0
MOST_IN_VAIN: Final = 8
"""Lives in a row without a line."""


def one_session(folder: Path, seed: int, indices: Sequence[int], haste: float) -> list[Outcome]:
    """One session, life by life, until it ends or gets nowhere."""
    index = indices[0]
    live = Live(folder, draws(seed, index).choice(KINDS))
    started_s = time.monotonic()
    faults: list[str] = []
    added: list[int] = []
    while len(added) < MOST_IN_VAIN or any(added[-MOST_IN_VAIN:]):
        before = live.lines()
        live.start()
        deadline_s = time.monotonic() + LIFE_S
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
    what = f"{live.kind}, {len(added)} lives of {LIFE_S:g} s with {lines} lines"
    done = [(index, what, faults, time.monotonic() - started_s)]
    return outcomes_of(CAMPAIGN, seed, index, done, ())


if __name__ == "__main__":
    sys.exit(carry_out(__doc__, CAMPAIGN, 6, one_session))
