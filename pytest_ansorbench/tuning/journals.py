"""The journal of a folder: one, of all calls so far, which each call writes anew and goes on with.

A session refuses a journal of another budget, as no runs of two budgets can be compared. Here none
are: a search with more trials relives the rounds that it has behind it, and goes on. What other
searches of a case came to, by another strategy, seed or budget, is compared with its outcome.
"""

from __future__ import annotations

import math
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
from pytest_ansorbench.records import CaseResult
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


def earlier(past: Past | None, entry: CaseEntry, seed: int) -> CaseHistory | None:
    """What an earlier call has of a case that begins, as far as it was measured alike."""
    histories = {} if past is None else case_histories(past)
    return _earlier(histories.values(), entry, seed)


def outcomes(past: Past, entry: CaseEntry) -> Iterator[CaseResult]:
    """What each search that has ended came to, of all whose winners were measured as a case's are.

    A network itself is measured warm however its trials found the caches, unless they were emptied:
    then `flush_cache_mb` differs as well.
    """
    for history in case_histories(past).values():
        if _measured_otherwise(history.entry, entry) <= _OF_THE_BUDGET | {"caches"}:
            for seed in filter(history.complete, history.repeats):
                yield history.result([seed])


def carried(past: Past, wanted: Sequence[CaseEntry], seed: int) -> Iterator[Entry]:
    """The lines with which a later call goes on, all but the session's.

    Of a wanted case that is run as before all lines stay, and nothing of it is run again. Of one
    with another budget the rounds with its seed stay, which the search begins with, and whole the
    fastest search with it that has ended. All other lines stay too, under labels that no wanted
    case has.
    """
    histories = case_histories(past)
    goes_on: dict[str, CaseEntry] = {}
    outdone: set[str] = set()
    for entry in wanted:
        history = _earlier(histories.values(), entry, seed)
        if history is not None:
            goes_on[history.entry.label] = entry
            outdone |= _outdone(_alike(histories.values(), entry), seed)
    taken = {entry.label for entry in wanted}
    for label, history in histories.items():
        if label in goes_on:
            entry = goes_on[label]
            if not changed_conditions(history.entry, entry):
                yield from _lines(past, label, entry.label)
                continue
            yield from _going_on(history, entry, seed)
        if label in outdone and not history.repeats.keys() - {seed}:
            continue
        case = history.entry.case
        free = chain([label], (f"{case}#{number}" for number in count(2)))
        own = next(name for name in free if name not in taken)
        taken.add(own)
        yield from _lines(past, label, own, seed if label in outdone else None)


def searched_s(history: CaseHistory | None, seed: int) -> float:
    """Seconds that a case has been searched for with a seed."""
    repeat = None if history is None else history.repeats.get(seed)
    of_arms = () if repeat is None else repeat.rounds.values()
    return sum(entry.round.search_s for rounds in of_arms for entry in rounds)


def _earlier(histories: Iterable[CaseHistory], entry: CaseEntry, seed: int) -> CaseHistory | None:
    """What there is of a case, that with its seed before all else: the newest comes first."""
    alike = _alike(histories, entry)
    with_seed = (history for history in alike if seed in history.repeats)
    return next(with_seed, alike[0] if alike else None)


def _alike(histories: Iterable[CaseHistory], entry: CaseEntry) -> list[CaseHistory]:
    """All that was measured as a case is now, whatever the budget."""
    return [
        history
        for history in histories
        if is_same_case(history.entry, entry)
        and _measured_otherwise(history.entry, entry) <= _OF_THE_BUDGET
    ]


def _outdone(alike: Sequence[CaseHistory], seed: int) -> set[str]:
    """Labels of all searches with a seed but the fastest that has ended.

    The newest one has begun with their rounds.
    """
    ended = (history for history in alike if history.complete(seed))
    fastest = min(ended, key=lambda one: _latency_s(one, seed), default=None)
    return {history.entry.label for history in alike if history is not fastest}


def _latency_s(history: CaseHistory, seed: int) -> float:
    """What a search has come to; infinite if that does not work."""
    final = history.repeats[seed].final
    latency_s = None if final is None else final.finals[0].latency_s
    return math.inf if latency_s is None else latency_s


def _measured_otherwise(then: CaseEntry, now: CaseEntry) -> set[str]:
    """Conditions that differ, but for those of what follows the search."""
    return {name for name in changed_conditions(then, now) if not name.startswith("final_")}


def _going_on(history: CaseHistory, entry: CaseEntry, seed: int) -> Iterator[Entry]:
    """A case with another budget, and the rounds that it has behind it."""
    yield entry
    for yardsticks in history.yardsticks.values():
        yield YardsticksEntry(entry.label, yardsticks)
    repeat = history.repeats.get(seed)
    if repeat is None:
        return
    yield replace(repeat.begun, label=entry.label)
    for rounds in repeat.rounds.values():
        for one in rounds:  # what ended a task may have been the budget
            yield replace(one, label=entry.label, stopped="")


def _lines(past: Past, label: str, own: str, left_out: int | None = None) -> Iterator[Entry]:
    """The lines of a case, under a label that may be another, all but those of a seed."""
    for entry in past.entries:
        if getattr(entry, "label", None) != label:
            continue
        if left_out is None or getattr(entry, "seed", None) != left_out:
            found: Any = entry
            yield replace(found, label=own)
