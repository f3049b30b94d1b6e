"""A journal cut at every byte: all its complete lines go on, or one sentence tells why not.

    python benchmarks/faults/cuts.py --into docs/results/faults

The first lines of a journal of a real session, up to 40 KB, are cut at every byte; all of it, an
end included, at each of the bytes around the end of every line. What is left is read as `list`,
`clean` and a session that resumes read it: nothing may be lost but the line that was cut, and what
is appended follows the lines before it.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
import time
import traceback
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from judge import commanded, is_sentence
from ledger import SURVIVED, Ledger, Outcome
from seeds import GOOD

from pytest_ansorbench.bench.history import case_histories
from pytest_ansorbench.storage import Journal, StorageError, read_journal
from pytest_ansorbench.storage.entries import EndEntry, Entry, to_line

SHORT: Final = 40_000
AROUND: Final = 64
"""Bytes before and after the end of a line."""


@dataclass(frozen=True)
class Whole:
    """A journal that is cut.

    Attributes:
        content: Its bytes.
        lines: What its lines stand for.
        ends: The byte after each line.
    """

    content: bytes
    lines: Sequence[Entry]
    ends: Sequence[int]

    @classmethod
    def of(cls, content: bytes, folder: Path) -> Whole:
        """A journal of sound lines alone."""
        path = folder / "whole.jsonl"
        path.write_bytes(content)
        past = read_journal(path)
        ends = [at for at, byte in enumerate(content, start=1) if byte == ord("\n")]
        return cls(content, (past.session, *past.entries), ends)


def whole_journals(folder: Path) -> tuple[Whole, Whole]:
    """The short one and the long one."""
    long = gzip.decompress((GOOD / "journal.jsonl.gz").read_bytes())
    short = long[: long.rindex(b"\n", 0, SHORT) + 1]
    return Whole.of(short, folder), Whole.of(long + f"{to_line(EndEntry(1))}\n".encode(), folder)


def cuts(short: Whole, long: Whole) -> Iterator[tuple[Whole, int]]:
    """All places of both."""
    yield from ((short, at) for at in range(len(short.content) + 1))
    near = {at for end in long.ends for at in range(end - AROUND, end + AROUND + 1)}
    yield from ((long, at) for at in sorted(near) if 0 <= at <= len(long.content))


def became(whole: Whole, at: int, store: Path) -> tuple[str, str]:
    """The verdict on a journal that is cut at a byte, and what was told of it."""
    path = store / "journals" / "0001.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(whole.content[:at])
    try:
        return _read(whole, at, path, store)
    except Exception:
        return "traceback", traceback.format_exc(limit=-3)


def _read(whole: Whole, at: int, path: Path, store: Path) -> tuple[str, str]:
    complete = bisect_right(whole.ends, at)
    before = [*whole.lines[:complete]]
    is_over = complete == len(whole.lines) and isinstance(whole.lines[-1], EndEntry)
    for words in (["list"], ["clean", "--yes"]):
        code, shown, said = commanded([*words, f"--storage={store}"])
        told = (shown, said) if words == ["list"] else (said, shown)
        line = next((one for one in "".join(told).splitlines() if path.name in one), "")
        if code or not path.exists() or not (is_sentence(line, path) or is_over):
            return "no sentence", f"{words[0]}, exit code {code}: {shown}{said}"
        if complete and said:
            return "lost", f"{words[0]}: {said}"
    try:
        past = read_journal(path)
    except StorageError as error:
        told_well = is_sentence(str(error), path)
        return "lost" if complete else SURVIVED if told_well else "no sentence", str(error)
    if [past.session, *past.entries] != before or past.dropped != at - past.size:
        return "lost", f"{len(past.entries) + 1} lines of {complete} that are complete"
    case_histories(past)
    with Journal.reopen(past) as journal:
        journal.append(EndEntry(0))
    past = read_journal(path)
    if [past.session, *past.entries] != [*before, EndEntry(0)] or past.dropped:
        return "lost", "what was appended does not follow the lines before it"
    return SURVIVED, ""


def main() -> None:
    """Cut where it was not cut yet."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--into", type=Path, default=Path("faults"), help="folder of journals")
    given = parser.parse_args()
    ledger = Ledger(given.into / "cuts.jsonl")
    with tempfile.TemporaryDirectory(prefix="ansor-cuts-") as folder:
        short, long = whole_journals(Path(folder))
        for index, (whole, at) in enumerate(cuts(short, long)):
            if index in ledger.done:
                continue
            began_s = time.monotonic()
            verdict, told = became(whole, at, Path(folder) / "store")
            what = f"{len(whole.lines)} lines cut at {at}"
            seconds = round(time.monotonic() - began_s, 3)
            told = told.replace(folder, "")
            ledger.add(Outcome("journals, cut", index, 0, what, verdict, told, seconds))
            if verdict != SURVIVED:
                print(index, verdict, what, told)


if __name__ == "__main__":
    main()
