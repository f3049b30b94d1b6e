"""Live sessions whose processes are killed, at random moments, until they end all the same.

    python benchmarks/faults/kills.py [--into FILE] [--trials 200] [--seed 1]

A session tunes a small operator or a small network, here or by a cluster of its own. A process of
it dies of SIGKILL: the main process, the fork server, one that compiles a program, one that runs
one, or a cluster's worker. After each kill nothing may run on that should have ended, no file may
be left in the temporary folder, each journal has all lines that it had, and `ansor-bench` lists,
cleans and watches. A session whose main process was killed is resumed, any other goes on; several
kills meet one session. In the end it has all runs and trials that it was told to make. One that
says that it cannot go on, as what starts it was killed, or the worker of one repeat four times
without a line, is begun anew.

Victim and moment of each kill follow from the seed and its number alone; what it meets at that
moment depends on the machine. A campaign that is interrupted goes on where it stopped. The code of
the package has to stay as it is meanwhile: a cluster refuses a worker that has another.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ledger import Outcome, draws
from live import KINDS, SESSION_S, Live, carry_out, killed, outcomes_of

from pytest_ansorbench.cluster.executor import MOST_LOSSES

CAMPAIGN: Final = "kills"
VICTIMS: Final = ("main", "main", "server", "candidate", "builder")
CLUSTER_VICTIMS: Final = ("main", "worker", "worker", "server", "candidate")
LONGEST_S: Final = 10.0
"""Between two kills."""
MOST_IN_A_SESSION: Final = 8
BEGUN_ANEW: Final = {1: f"was lost {MOST_LOSSES + 1} times", 4: "did not start"}
"""By exit code, what a session may say that cannot go on: the same command begins it anew."""


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


def one_session(folder: Path, seed: int, indices: Sequence[int], haste: float) -> list[Outcome]:
    """Kills of one session, as many as meet it, and what became of all of them."""
    live = Live(folder, Kill.drawn(draws(seed, indices[0]), None).kind)
    live.start()
    deadline_s = time.monotonic() + SESSION_S
    done: list[tuple[int, str, list[str], float]] = []
    spared = 0  # trials that may have failed
    for index in indices[:MOST_IN_A_SESSION]:
        kill = Kill.drawn(draws(seed, index), live.kind)
        started_s = time.monotonic()
        if not met(live, kill, haste, deadline_s):
            break
        what = f"{kill.victim} of {live.kind} in life {live.lives}"
        faults: list[str] = []
        spared += kill.victim in ("candidate", "builder")
        if kill.victim == "main":
            assert live.process is not None
            live.process.wait()
            what += f", {live.rounds()} rounds"
            faults += live.faults_after_kill()
            live.start()
        done.append((index, what, faults, time.monotonic() - started_s))
    ended = live.ends(deadline_s)
    said = live.log.read_text(errors="replace")
    if ended and done and live.code in BEGUN_ANEW and BEGUN_ANEW[live.code] in said:
        live.start()
        ended = live.ends(deadline_s)
    faults = [*live.faults_at_end(spared)] if ended else ["hang", live.last_words()]
    return outcomes_of(CAMPAIGN, seed, indices[0], done, faults)


def met(live: Live, kill: Kill, haste: float, deadline_s: float) -> bool:
    """Wait for the moment of a kill, and kill; False if the session is over before."""
    time.sleep(kill.after_s / haste)
    if not live.victims(kill.victim):
        while not live.victims(kill.victim):
            if live.code is not None or time.monotonic() > deadline_s:
                return False
            time.sleep(0.01)
        time.sleep(kill.further_s / haste)
    while live.code is None and time.monotonic() < deadline_s:
        victims = live.victims(kill.victim)
        if victims and killed(victims[int(kill.which * len(victims))]):
            return True
        time.sleep(0.01)
    return False


if __name__ == "__main__":
    sys.exit(carry_out(__doc__, CAMPAIGN, 200, one_session))
