"""One repeat of one case: all arms in turn, then their winners side by side."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_ansorbench.bench.arms import AnySearch, Arm, search_of
from pytest_ansorbench.bench.finals import measure_winners
from pytest_ansorbench.bench.leads import measure_leads
from pytest_ansorbench.bench.prepared import PreparedCase
from pytest_ansorbench.bench.run_plan import RunPlan
from pytest_ansorbench.records import LastRanking
from pytest_ansorbench.storage.entries import FinalEntry, LastCheckEntry, RepeatEntry, RoundEntry

if TYPE_CHECKING:
    from pytest_ansorbench.measure.engine import Engine


def run_repeat(
    prepared: PreparedCase,
    seed: int,
    strategies: Sequence[Arm],
    plan: RunPlan,
    engine: Engine,
    *,
    label: str,
    lead: int = 0,
    rounds: Mapping[str, Sequence[RoundEntry]] | None = None,
    rankings: Mapping[str, LastRanking] = MappingProxyType({}),
    on_trial: Callable[[AnySearch], None] = lambda search: None,
    on_finals: Callable[[], None] = lambda: None,
) -> Iterator[RepeatEntry | RoundEntry | LastCheckEntry | FinalEntry]:
    """Run one repeat, all of it on one engine and so on one machine.

    It depends on nothing but its arguments, and leaves nothing behind but what it yields: the
    beginning, each round and each last check as soon as it is over, the end.

    Args:
        prepared: The case.
        seed: Seed of every run.
        strategies: The arms, the reference first.
        plan: How runs are made.
        engine: Builds and measures for all arms.
        label: What the entries call the case.
        lead: The arm that takes the first turn, counted round and round.
        rounds: Rounds by strategy that an interrupted repeat has behind it; None for a repeat
            that has not begun. What they say is not yielded again.
        rankings: Last checks by strategy that it has behind it, likewise.
        on_trial: Called after every trial, outside the clock.
        on_finals: Called before the winners are measured.

    Yields:
        The repeat's journal entries, in order.

    Raises:
        EngineError: The engine is broken.
        ResumeError: `rounds` are not of this case.
    """
    if rounds is None:
        yield RepeatEntry(label, seed, engine.machine, engine.observe())
    searches = [
        search_of(
            strategy,
            prepared,
            seed,
            plan,
            engine,
            on_trial=on_trial,
            resumed=tuple((rounds or {}).get(strategy.name, ())),
            ranking=rankings.get(strategy.name),
        )
        for strategy in strategies
    ]
    try:
        if plan.order == "interleaved":
            yield from _take_turns(searches, lead, label)
        else:
            for search in _rotated(searches, lead):
                yield from _take_turns([search], 0, label)
    finally:
        for search in searches:
            search.close()
    on_finals()
    finals = measure_winners(prepared, searches, engine, plan.final)
    started_s = time.monotonic()
    leads = measure_leads(prepared, searches, engine) if plan.progress == "confirmed" else None
    leads_s = time.monotonic() - started_s
    yield FinalEntry(label, seed, finals, leads, leads_s, engine.observe())


def _take_turns(
    searches: Sequence[AnySearch], lead: int, label: str
) -> Iterator[RoundEntry | LastCheckEntry]:
    """Step the searches round by round until all are finished, then do their last checks.

    In each turn another one leads.

    Searches that go on from a journal may be a round apart: those ahead wait for their turn.
    """
    for turn in itertools.count():
        if all(search.finished for search in searches):
            break
        for search in _rotated(searches, lead + turn):
            if len(search.rounds) == turn and not search.finished:
                search.step()
                yield search.last_round(label)
    for search in searches:
        if search.last_check_due:
            search.rank()
            yield search.last_check(label)


def _rotated(searches: Sequence[AnySearch], by: int) -> list[AnySearch]:
    start = by % len(searches)
    return [*searches[start:], *searches[:start]]
