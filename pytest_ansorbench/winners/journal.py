"""Every valid trial of a journal, as a winner that it might be."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_ansorbench.search import select
from pytest_ansorbench.storage import Past, fingerprint
from pytest_ansorbench.storage.entries import CaseEntry, RepeatEntry, RoundEntry
from pytest_ansorbench.winners.winner import Winner


def tuned_in(past: Past) -> Iterator[Winner]:
    """All valid trials of a session, interrupted or not, with their latencies in the search.

    A result keeps the winner of a run; the journal of its session keeps every schedule.
    """
    cases: dict[str, CaseEntry] = {}
    machines: dict[tuple[str, int], str] = {}
    for entry in past.entries:
        if isinstance(entry, CaseEntry):
            cases[entry.label] = entry
        elif isinstance(entry, RepeatEntry):
            machines[entry.label, entry.seed] = fingerprint(entry.machine)
        elif isinstance(entry, RoundEntry):
            yield from _of_round(cases[entry.label], machines[entry.label, entry.seed], entry)


def _of_round(case: CaseEntry, machine: str, entry: RoundEntry) -> Iterator[Winner]:
    place = entry.round.task
    for index, trial in enumerate(entry.trials):
        if trial.latency_s is not None:
            yield Winner(
                case=case.case,
                strategy=entry.strategy,
                seed=entry.seed,
                task=case.tasks[place],
                place=place,
                tasks=len(case.tasks),
                machine=machine,
                latency_s=trial.latency_s,
                schedule=select(entry.state.candidates, index),
                program=case.programs[place],
            )
