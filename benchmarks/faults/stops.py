"""Live sessions whose processes are stopped for a while, and go on.

    python benchmarks/faults/stops.py [--into FILE] [--trials 100] [--seed 1]

The main process, the fork server, a process that runs or compiles a candidate, or all of the
session get SIGSTOP, and SIGCONT 0.5 to 20 s later. The session has to end with all runs and
trials, none of which failed; no trial has a latency that includes a stop, and no round has a long
stop of the main process in its seconds. Stops of a process that compiles, or of the fork server
alone, are in the search time: nobody can tell them from slow ones.

Moment, victim and length of each stop follow from the seed and its number alone. A campaign that is
interrupted goes on where it stopped.
"""

from __future__ import annotations

import contextlib
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
from ledger import Outcome, draws
from live import SESSION_S, Live, carry_out, outcomes_of

from pytest_ansorbench.records import Result
from pytest_ansorbench.storage import StorageError, read_result

CAMPAIGN: Final = "stops"
VICTIMS: Final = ("main", "server", "candidate", "builder", "all")
OF_MAIN: Final = ("main", "all")
KINDS: Final = ("operator", "network")
MOST_IN_A_SESSION: Final = 4
SHORTEST_S: Final = 0.5
LONGEST_S: Final = 20.0
LONGEST_LATENCY_S: Final = 0.05
"""The kernels take microseconds, and a busy machine makes milliseconds of them; a stop is half a
second at least, which a hundred calls of a sample may share."""
LONGEST_ROUND_S: Final = 8.0
"""A round of two trials takes a second, and some on a busy machine."""


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
            SHORTEST_S * (LONGEST_S / SHORTEST_S) ** rng.random(),
            rng.choice(KINDS),
            rng.random(),
        )


def one_session(folder: Path, seed: int, indices: Sequence[int], haste: float) -> list[Outcome]:
    """Stops of one session, as many as meet it, and what became of all of them."""
    live = Live(folder, Stop.drawn(draws(seed, indices[0])).kind)
    live.start()
    deadline_s = time.monotonic() + SESSION_S
    done: list[tuple[int, str, list[str], float]] = []
    longest_s = {True: 0.0, False: 0.0}
    for index in indices[:MOST_IN_A_SESSION]:
        stop = Stop.drawn(draws(seed, index))
        if not met(live, stop, haste, deadline_s):
            break
        of_main = stop.victim in OF_MAIN
        longest_s[of_main] = max(longest_s[of_main], stop.seconds)
        what = f"{stop.victim} of {live.kind} for {stop.seconds:.1f} s"
        done.append((index, what, [], stop.seconds))
    if not live.ends(deadline_s):
        faults = ["hang", live.last_words()]
    else:
        faults = [*live.faults_at_end(0)]
        with contextlib.suppress(StorageError):  # which is among the faults
            result = read_result(live.project / "result.json")
            faults += impossible(result, longest_s[True], longest_s[False])
    return outcomes_of(CAMPAIGN, seed, indices[0], done, faults)


def met(live: Live, stop: Stop, haste: float, deadline_s: float) -> bool:
    """Wait for the moment of a stop, stop and go on; False if the session is over before."""
    time.sleep(stop.after_s / haste)
    while live.code is None and time.monotonic() < deadline_s:
        chosen = live.victims(stop.victim)
        if chosen and stop.victim != "all":
            chosen = [chosen[int(stop.which * len(chosen))]]
        if chosen:
            _send(chosen, signal.SIGSTOP)
            time.sleep(stop.seconds)
            _send(chosen, signal.SIGCONT)
            return True
        time.sleep(0.005)
    return False


def _send(processes: Sequence[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)


def impossible(result: Result, of_main_s: float, of_others_s: float) -> Iterator[str]:
    """Latencies and rounds that have a stop in them.

    Args:
        result: What the session came to.
        of_main_s: Longest stop of its main process.
        of_others_s: Longest of any other.
    """
    for run in result.cases[0].runs:
        who = f"{run.strategy}, seed {run.seed}"
        for trial in run.trials:
            latency_s = max(trial.latencies_s, default=0.0)
            # A busy machine lets a call wait, too, but not for as long as a stop.
            if latency_s > LONGEST_LATENCY_S and trial.run_s > SHORTEST_S:
                yield f"{who}, trial {trial.index}: {latency_s:.2f} s a call"
        latency_s = max(run.final.latencies_s, default=0.0)
        if latency_s > SHORTEST_S:
            yield f"{who}, winner: {latency_s:.2f} s a call"
        for one in run.rounds:
            if one.search_s > of_main_s > LONGEST_ROUND_S > of_others_s:
                yield f"{who}, round {one.index}: {one.search_s:.1f} s"


if __name__ == "__main__":
    sys.exit(carry_out(__doc__, CAMPAIGN, 100, one_session))
