"""Live sessions whose processes are stopped for a while, and go on.

    python benchmarks/faults/stops.py [--into FILE] [--trials 100] [--seed 1]

The main process, the fork server, a process that runs or compiles a candidate, or all of the
session get SIGSTOP, and SIGCONT 0.5 to 20 s later. The session has to end with all runs and
trials, none of which failed; no trial has a latency that includes a stop; and search times are
told with and without the stops.

Moment, victim and length of each stop follow from the seed and its number alone. A campaign that is
interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
from kills import SESSION_S, wait_for_end
from ledger import SURVIVED, Ledger, Outcome, draws
from live import CASES, Live

from pytest_ansorbench.storage import StorageError, read_result

CAMPAIGN: Final = "stops"
VICTIMS: Final = ("main", "server", "candidate", "builder", "all")
KINDS: Final = ("operator", "network")
MOST_IN_A_SESSION: Final = 4
LONGEST_LATENCY_S: Final = 0.05
"""The kernels take microseconds, and a busy machine makes milliseconds of them; a stop is half a
second at least, which a hundred calls of a sample may share."""


@dataclass(frozen=True)
class Stop:
    """What is drawn of one stop.

    Attributes:
        victim: What is stopped.
        after_s: Since the last stop, or the session's start.
        seconds: It lasts.
        kind: Of the session, if it begins with this stop.
        which: Share of the victims before the one that is stopped.
    """

    victim: str
    after_s: float
    seconds: float
    kind: str
    which: float

    @classmethod
    def drawn(cls, rng: random.Random) -> Stop:
        """The next stop."""
        return cls(
            rng.choice(VICTIMS),
            rng.uniform(2.0, 12.0),
            0.5 * 40.0 ** rng.random(),  # 0.5 to 20 s
            rng.choice(KINDS),
            rng.random(),
        )


def main() -> int:
    """Stop, until it is enough."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--into", type=Path, default=Path("stops.jsonl"))
    parser.add_argument("--trials", type=int, default=100, help="stops (default: 100)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    ledger = Ledger(given.into)
    while missing := [index for index in range(given.trials) if index not in ledger.done]:
        folder = Path(tempfile.mkdtemp(prefix="ansor-stops-"))
        outcomes = list(one_session(folder, given.seed, missing[:MOST_IN_A_SESSION]))
        for outcome in outcomes:
            ledger.add(outcome)
            print(f"{outcome.index}: {outcome.what}: {outcome.verdict} {outcome.told}", flush=True)
        if all(outcome.verdict == SURVIVED for outcome in outcomes):
            shutil.rmtree(folder)
        else:
            print(f"kept: {folder}", flush=True)
    return 0


def one_session(folder: Path, seed: int, indices: list[int]) -> Iterator[Outcome]:
    """Stops of one session, as many as meet it, and what became of all of them."""
    live = Live(folder, Stop.drawn(draws(seed, indices[0])).kind)
    live.start()
    deadline_s = time.monotonic() + SESSION_S
    done: list[tuple[int, str, float]] = []
    for index in indices:
        stop = Stop.drawn(draws(seed, index))
        if not met(live, stop, deadline_s):
            break
        done.append((index, f"{stop.victim} of {live.kind} for {stop.seconds:.1f} s", stop.seconds))
    ended = wait_for_end(live, deadline_s)
    faults = [*live.faults_at_end(0), *latencies(live)] if ended else ["hang", live.last_words()]
    for index, what, seconds in done:
        verdict = SURVIVED if not faults else "fault"
        told = "; ".join(faults)
        yield Outcome(CAMPAIGN, index, seed, what, verdict, told, round(seconds, 2))


def met(live: Live, stop: Stop, deadline_s: float) -> bool:
    """Wait for the moment of a stop, stop and go on; False if the session is over before."""
    time.sleep(stop.after_s)
    while live.code is None and time.monotonic() < deadline_s:
        victims = live.victims(stop.victim)
        if victims:
            chosen = (
                victims if stop.victim == "all" else victims[int(stop.which * len(victims)) :][:1]
            )
            _send(chosen, signal.SIGSTOP)
            time.sleep(stop.seconds)
            _send(chosen, signal.SIGCONT)
            return True
        time.sleep(0.005)
    return False


def _send(processes: list[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)


def latencies(live: Live) -> Iterator[str]:
    """Latencies of trials and of winners that cannot be their programs'."""
    try:
        result = read_result(live.project / "result.json")
    except StorageError:
        return
    assert [case.case for case in result.cases] == [CASES[live.kind]]
    for run in result.cases[0].runs:
        for trial in run.trials:
            if trial.latencies_s and max(trial.latencies_s) > LONGEST_LATENCY_S:
                yield f"{run.strategy}, seed {run.seed}, trial {trial.index}: {max(trial.latencies_s):.2f} s"
        if run.final.latencies_s and max(run.final.latencies_s) > LONGEST_LATENCY_S:
            yield f"{run.strategy}, seed {run.seed}, winner: {max(run.final.latencies_s):.2f} s"


if __name__ == "__main__":
    sys.exit(main())
