"""`ansor-bench tune`, killed at random moments and given again, until it has ended.

    python benchmarks/faults/tunes.py [--into FILE] [--trials 50] [--seed 1]

A call tunes a small operator or a small network. Its main process dies of SIGKILL; the same command
is given again. After each kill nothing may run on, no file may be left half written, every round
that was journaled is still there, and a database that is there is read. In the end the library
loads, and as many trials were measured as were asked for, none of them twice.

Moments follow from the seed and a kill's number alone. A campaign that is interrupted goes on where
it stopped.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ledger import Outcome, draws
from live import SESSION_S, Live, carry_out, killed, outcomes_of

from pytest_ansorbench.storage import CutShortError, StorageError, list_journals, read_journal
from pytest_ansorbench.storage.entries import RoundEntry
from pytest_ansorbench.winners import DatabaseError, import_database
from pytest_ansorbench.winners.database import DATABASE_FILES
from pytest_ansorbench.workloads import BatchMatmul, Case, Mlp

CAMPAIGN: Final = "tunes"
TASK_TRIALS: Final = 12
MODELS: Final[dict[str, Case]] = {
    "operator": BatchMatmul(batch=1, m=32, n=32, k=32),
    "network": Mlp(features=32, hidden=(16, 16), classes=8),
}
AFTER_A_LINE: Final = 0.75
"""Of the kills, which come after the call has added a line to its journal."""
LONGEST_S: Final = 8.0
"""From there, or from its start, to the kill."""
MOST_IN_A_CALL: Final = 8


@dataclass
class Tune(Live):
    """A call of `tune`, and the folder that it writes.

    Attributes:
        rounds_seen: The rounds that were journaled when it was last looked at.
    """

    rounds_seen: list[RoundEntry] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        functions = (f"def {name}():\n    return {case!r}\n" for name, case in MODELS.items())
        head = "from pytest_ansorbench.workloads import BatchMatmul, Mlp\n"
        (self.project / "models.py").write_text(head + "".join(functions))

    @property
    def storage(self) -> Path:
        return self.project / "tuned"

    def command(self) -> Sequence[str]:
        """The same, for the first time or again."""
        words = (f"models:{self.kind}", "-o", "tuned", "--trials", f"{TASK_TRIALS}/task")
        return ("pytest_ansorbench.cli", "tune", *words, "--round", "2", "--strategy", "random")

    def faults_of_files(self) -> Iterator[str]:
        """Whether rounds that were journaled are still there, and a database can be read."""
        now = []
        for path in list_journals(self.storage):
            try:
                entries = read_journal(path).entries
                now += [one for one in entries if isinstance(one, RoundEntry)]
            except CutShortError:
                pass
            except StorageError as error:
                yield f"cannot be read: {error}"
        if lost := [one for one in self.rounds_seen if one not in now]:
            yield f"{len(lost)} of {len(self.rounds_seen)} rounds are lost"
        self.rounds_seen = now
        if (self.storage / DATABASE_FILES[-1]).exists():
            try:
                import_database(self.storage, [MODELS[self.kind]], "random")
            except DatabaseError as error:
                yield str(error)

    def faults_at_end(self, failed_trials: int = 0) -> Iterator[str]:
        """What is wrong with a call that has ended."""
        if self.code != 0:
            yield f"exit code {self.code}: {self.last_words()}"
        yield from self.faults_after_kill()
        wanted = TASK_TRIALS * len(MODELS[self.kind].tasks())
        indices = [trial.index for one in self.rounds_seen for trial in one.trials]
        if indices != [*range(wanted)]:
            yield f"expected trials 0 to {wanted - 1}, got {indices}"
        script = [sys.executable, str(self.storage / "load.py")]
        loaded = subprocess.run(script, capture_output=True, text=True, timeout=SESSION_S)
        if loaded.returncode:
            yield f"load.py: {loaded.stderr[-300:]}"


def one_session(folder: Path, seed: int, indices: Sequence[int], haste: float) -> list[Outcome]:
    """Kills of one call, as many as meet it, and what became of all of them."""
    call = Tune(folder, draws(seed, indices[0]).choice([*MODELS]))
    deadline_s = time.monotonic() + SESSION_S
    done: list[tuple[int, str, list[str], float]] = []
    for index in indices[:MOST_IN_A_CALL]:
        started_s = time.monotonic()
        call.start()
        rng, lines = draws(seed, index), call.lines()
        if rng.random() < AFTER_A_LINE:
            while call.code is None and call.lines() == lines:
                time.sleep(0.05)
        moment_s = time.monotonic() + rng.uniform(0.0, LONGEST_S) / haste
        while call.code is None and time.monotonic() < moment_s:
            time.sleep(0.01)
        if call.code is not None:
            break
        for process in call.victims("main"):
            killed(process)
        assert call.process is not None
        call.process.wait()
        faults = [*call.faults_after_kill()]
        what = f"{call.kind} in life {call.lives}, {len(call.rounds_seen)} rounds"
        done.append((index, what, faults, time.monotonic() - started_s))
    else:
        call.start()
    faults = [*call.faults_at_end()] if call.ends(deadline_s) else ["hang", call.last_words()]
    return outcomes_of(CAMPAIGN, seed, indices[0], done, faults)


if __name__ == "__main__":
    sys.exit(carry_out(__doc__, CAMPAIGN, 50, one_session))
