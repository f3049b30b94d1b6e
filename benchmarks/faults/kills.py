"""Live sessions whose processes are killed, at random moments, until they end all the same.

    python benchmarks/faults/kills.py [--into FILE] [--trials 200] [--seed 1]

A session tunes a small operator or a small network, here or by a cluster of its own. A process of
it dies of SIGKILL: the main process, the fork server, one that compiles a program, one that runs
one, or a cluster's worker. After each kill nothing may run on that should have ended, no file may
be left in the temporary folder, each journal has all lines that it had, and `ansor-bench` lists,
cleans and watches. A session whose main process was killed is resumed, any other goes on; several
kills meet one session. In the end it has all runs and trials that it was told to make.

Victim and moment of each kill follow from the seed and its number alone; what it meets at that
moment depends on the machine. A campaign that is interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ledger import SURVIVED, Ledger, Outcome, draws
from live import KINDS, Live, killed

CAMPAIGN: Final = "kills"
VICTIMS: Final = ("main", "main", "server", "candidate", "builder")
CLUSTER_VICTIMS: Final = ("main", "worker", "worker", "server", "candidate")
LONGEST_S: Final = 10.0
"""Between two kills."""
MOST_IN_A_SESSION: Final = 8
USAGE_ERROR: Final = 4
STARTING: Final = "did not start"
SESSION_S: Final = 600.0
"""After which a session hangs."""


@dataclass(frozen=True)
class Kill:
    """What is drawn of one kill.

    Attributes:
        victim: What is killed.
        after_s: Since the last kill, or the session's start.
        further_s: If there is no such process then, since there is one.
        kind: Of the session, if it begins with this kill.
        which: Share of the victims before the one that is killed.
    """

    victim: str
    after_s: float
    further_s: float
    kind: str
    which: float

    @classmethod
    def drawn(cls, rng: random.Random, kind: str | None) -> Kill:
        """The next kill of a session of a kind; None for one that begins."""
        begun = rng.choice(list(KINDS))
        kind = kind or begun
        victims = CLUSTER_VICTIMS if kind == "cluster" else VICTIMS
        return cls(
            rng.choice(victims),
            rng.uniform(0.0, LONGEST_S),
            rng.uniform(0.0, 3.0),
            kind,
            rng.random(),
        )


def main() -> int:
    """Kill, until it is enough."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--into", type=Path, default=Path("kills.jsonl"))
    parser.add_argument("--trials", type=int, default=200, help="kills (default: 200)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    ledger = Ledger(given.into)
    while missing := [index for index in range(given.trials) if index not in ledger.done]:
        folder = Path(tempfile.mkdtemp(prefix="ansor-kills-"))
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
    """Kills of one session, as many as meet it, and what became of all of them."""
    live = Live(folder, Kill.drawn(draws(seed, indices[0]), None).kind)
    live.start()
    deadline_s = time.monotonic() + SESSION_S
    done: list[tuple[int, str, list[str], float]] = []
    spared = 0  # trials that may have failed
    for index in indices:
        kill = Kill.drawn(draws(seed, index), live.kind)
        started_s = time.monotonic()
        if not met(live, kill, deadline_s):
            break
        what = f"{kill.victim} of {live.kind} in life {live.lives}"
        faults: list[str] = []
        spared += kill.victim in ("candidate", "builder")
        if kill.victim == "main":
            assert live.process is not None
            live.process.wait()
            rounds = live.rounds()
            what += f", {rounds} rounds"
            faults += live.faults_after_kill()
            live.start()
        done.append((index, what, faults, time.monotonic() - started_s))
    ended = wait_for_end(live, deadline_s)
    if ended and live.code == USAGE_ERROR and done and STARTING in live.last_words():
        # What starts a session has no one to go on without it; it says so, and can be had again.
        live.start()
        ended = wait_for_end(live, deadline_s)
    faults = [*live.faults_at_end(spared)] if ended else ["hang", live.last_words()]
    for index, what, own, seconds in done:
        told = "; ".join([*own, *(f"at the end: {fault}" for fault in faults)])
        verdict = SURVIVED if not told else "fault"
        yield Outcome(CAMPAIGN, index, seed, what, verdict, told, round(seconds, 2))
    if not done:
        # It was over before the first: this one, too, has to meet a session.
        yield from (
            ()
            if ended and not faults
            else [
                Outcome(
                    CAMPAIGN,
                    indices[0],
                    seed,
                    f"none of {live.kind}",
                    "fault",
                    "; ".join(faults),
                    0.0,
                )
            ]
        )


def met(live: Live, kill: Kill, deadline_s: float) -> bool:
    """Wait for the moment of a kill, and kill; False if the session is over before."""
    time.sleep(kill.after_s)
    if not live.victims(kill.victim):
        while not live.victims(kill.victim):
            if live.code is not None or time.monotonic() > deadline_s:
                return False
            time.sleep(0.01)
        time.sleep(kill.further_s)
    while live.code is None and time.monotonic() < deadline_s:
        victims = live.victims(kill.victim)
        if victims and killed(victims[int(kill.which * len(victims))]):
            return True
        time.sleep(0.01)
    return False


def wait_for_end(live: Live, deadline_s: float) -> bool:
    while live.code is None:
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.05)
    return True


if __name__ == "__main__":
    sys.exit(main())
