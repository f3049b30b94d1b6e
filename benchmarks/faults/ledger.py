"""A campaign's journal: one line an outcome, on disk before the next trial begins.

A campaign that is interrupted anywhere goes on where it stopped. What is drawn in a trial follows
from the campaign's seed and the trial's index alone, so that any one can be repeated.
"""

from __future__ import annotations

import gzip
import json
import os
import random
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

SURVIVED: Final = "survived"


@dataclass(frozen=True)
class Outcome:
    """What became of one trial.

    Attributes:
        campaign: Its name, and the row of the table.
        index: Of the trial in the campaign.
        seed: Of the campaign.
        what: What was done, to what, e.g. "journal: truncated at 812".
        verdict: "survived", or the fault's name, e.g. "crash", "hang", "traceback".
        told: The sentence that was printed, "" if there was none.
        seconds: The trial's.
        mb: Memory that it took at most, if that was watched.
    """

    campaign: str
    index: int
    seed: int
    what: str
    verdict: str
    told: str
    seconds: float
    mb: float = 0.0


def draws(seed: int, index: int) -> random.Random:
    """The random numbers of one trial."""
    return random.Random(f"{seed}/{index}")


class Ledger:
    """The outcomes in one file, which need not be there yet.

    Attributes:
        path: The file: JSON lines.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._done = {outcome.index for outcome in read(path)} if path.exists() else set()

    @property
    def done(self) -> frozenset[int]:
        """The indices of all trials that are on disk."""
        return frozenset(self._done)

    def add(self, outcome: Outcome) -> None:
        """Append an outcome; it is on disk on return. A cut last line stays and is passed over."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as stream:
            stream.write(b"\n" * _is_cut(self.path) + json.dumps(asdict(outcome)).encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
        self._done.add(outcome.index)


def _is_cut(path: Path) -> bool:
    with path.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(size - 1, 0))
        return stream.read() not in (b"", b"\n")


def read(path: Path) -> list[Outcome]:
    """The outcomes of a file, which may be compressed; lines that were cut are passed over."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    outcomes = []
    for line in data.splitlines():
        try:
            outcomes.append(Outcome(**json.loads(line)))
        except ValueError:
            continue
    return outcomes
