"""The journal of a folder: one, of all calls so far, which each call writes anew and goes on with.

A session refuses a journal of another budget, as no runs of two budgets can be compared. Here none
are: a search with more trials relives the rounds that it has behind it, and goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import Any, Final

from pytest_ansorbench.bench.history import (
    CaseHistory,
    case_histories,
    changed_conditions,
    is_same_case,
)
from pytest_ansorbench.storage import Past, StorageError, list_journals, read_journal, readable
from pytest_ansorbench.storage.entries import CaseEntry, Entry, YardsticksEntry

_OF_THE_BUDGET: Final = frozenset({"trials", "round_trials", "run_time_s", "scheduler"})
"""Conditions that decide which programs are measured, and not how."""


def newest(folder: Path, tell: Callable[[str], None]) -> Past | None:
    """The newest journal of a folder that can be read; None if there is none."""

    def passed_over(path: Path, error: StorageError) -> None:
        tell(f"passed over: {error}")

    journals = readable(reversed(list_journals(folder)), read_journal, passed_over)
    return next((past for _, past in journals), None)


def earlier(past: Past | None, entry: CaseEntry) -> CaseHistory | None:
    """What an earlier call has of a case that begins, as far as it was measured alike."""
    histories = {} if past is None else case_histories(past)
    return _earlier(histories.values(), entry)


def carried(past: Past, wanted: Sequence[CaseEntry]) -> Iterator[Entry]:
    """The lines with which a later call goes on, all but the session's.

    Of a wanted case that is run as before all lines stay, and nothing of it is run again. Of one
    with another budget its rounds stay, which the search begins with. All other lines stay too,
    under labels that no wanted case has.
    """
    histories = case_histories(past)
    goes_on: dict[str, CaseEntry] = {}
    for entry in wanted:
        history = _earlier(histories.values(), entry)
        if history is not None:
            goes_on[history.entry.label] = entry
    taken = {entry.label for entry in wanted}
    for label, history in histories.items():
        if label in goes_on:
            yield from _going_on(past, history, goes_on[label])
            continue
        case = history.entry.case
        free = chain([label], (f"{case}#{number}" for number in count(2)))
        own = next(name for name in free if name not in taken)
        taken.add(own)
        yield from _lines(past, label, own)


def searched_s(history: CaseHistory | None, seed: int) -> float:
    """Seconds that a case has been searched for with a seed."""
    repeat = None if history is None else history.repeats.get(seed)
    of_arms = () if repeat is None else repeat.rounds.values()
    return sum(entry.round.search_s for rounds in of_arms for entry in rounds)


def _earlier(histories: Iterable[CaseHistory], entry: CaseEntry) -> CaseHistory | None:
    for history in histories:
        then = history.entry
        if is_same_case(then, entry) and _measured_otherwise(then, entry) <= _OF_THE_BUDGET:
            return history
    return None


def _measured_otherwise(then: CaseEntry, now: CaseEntry) -> set[str]:
    """Conditions that differ, but for those of what follows the search."""
    return {name for name in changed_conditions(then, now) if not name.startswith("final_")}


def _going_on(past: Past, history: CaseHistory, entry: CaseEntry) -> Iterator[Entry]:
    if not changed_conditions(history.entry, entry):
        yield from _lines(past, history.entry.label, entry.label)
        return
    yield entry
    for yardsticks in history.yardsticks.values():
        yield YardsticksEntry(entry.label, yardsticks)
    for repeat in history.repeats.values():
        yield replace(repeat.begun, label=entry.label)
        for rounds in repeat.rounds.values():
            for one in rounds:  # what ended a task may have been the budget
                yield replace(one, label=entry.label, stopped="")


def _lines(past: Past, label: str, own: str) -> Iterator[Entry]:
    """The lines of a case, under a label that may be another."""
    for entry in past.entries:
        if getattr(entry, "label", None) == label:
            found: Any = entry
            yield replace(found, label=own)
