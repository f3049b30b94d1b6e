"""A case that was run once, as the lines of its journal: to be carried out again without engine."""

from __future__ import annotations

from collections import defaultdict

from pytest_ansorbench.bench import LocalExecutor, Site
from pytest_ansorbench.storage import from_line, read_journal, to_line
from pytest_ansorbench.storage.entries import (
    FinalEntry,
    LastCheckEntry,
    LeadsEntry,
    RepeatEntry,
    RoundEntry,
    SetEntry,
)
from tests.bench.conftest import ONE, TWO, repeats, session_in
from tests.fast_engine import FastEngine
from tests.faults import Doubling

OF_BLOCKS = (RepeatEntry, RoundEntry, LastCheckEntry, SetEntry, LeadsEntry, FinalEntry)


def record(target, folder, number):
    """Run a case on a fast engine.

    Returns:
        Its result, and by seed the lines of its repeats.
    """
    site = Site(FastEngine(target), storage=folder)
    with session_in(folder, lambda: LocalExecutor(site)) as session:
        result = session.run(Doubling(), [ONE, TWO], repeats(number))
    lines = defaultdict(list)
    for entry in read_journal(session.journal).entries:
        if isinstance(entry, OF_BLOCKS):
            lines[entry.seed].append(to_line(entry))
    return result, {seed: tuple(of_seed) for seed, of_seed in lines.items()}


def machine_of(recorded):
    """The machine that a record is of."""
    return from_line(recorded[1][0][0]).machine


def lines_of(past):
    """How many lines there are of a repeat so far."""
    if past is None:
        return 0
    sets = 0 if past.winners is None else 1 + past.winners.finals[0].sets[-1]
    return 1 + sum(map(len, past.rounds.values())) + sets + len(past.leads)
