"""One repeat of one case: all arms in turn, then their winners side by side."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_ansorbench.bench.arms import AnySearch, Arm, search_of
from pytest_ansorbench.bench.finals import measure_leads, measure_winners
from pytest_ansorbench.bench.prepared import PreparedCase, RunPlan
from pytest_ansorbench.bench.reference import RecordedSearch, StandIn
from pytest_ansorbench.records import LastRanking, Remeasurement
from pytest_ansorbench.stats.recorded import MOST_DRIFT
from pytest_ansorbench.storage.entries import (
    BlockEntry,
    FinalEntry,
    LastCheckEntry,
    LeadsEntry,
    RecordedEntry,
    RepeatEntry,
    RoundEntry,
    SetEntry,
)

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
    winners: SetEntry | None = None,
    leads: Mapping[int, LeadsEntry] = MappingProxyType({}),
    stand_in: StandIn | None = None,
    on_trial: Callable[[AnySearch], None] = lambda search: None,
    on_finals: Callable[[], None] = lambda: None,
) -> Iterator[BlockEntry]:
    """Run one repeat, all of it on one engine and so on one machine.

    It depends on nothing but its arguments, and leaves nothing behind but what it yields: the
    beginning, each round, last check and piece of the final measurements once it is over, the end.
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
    recorded: RecordedSearch | None = None
    try:
        if stand_in is not None:
            recorded = yield from _recorded(searches[0], stand_in, prepared, label)
        yield from _take_turns(searches[1:] if recorded else searches, lead, label)
    finally:
        for search in searches:
            search.close()
    on_finals()
    finished = [recorded or searches[0], *searches[1:]]
    finals, peers = yield from measure_winners(
        prepared, finished, engine, plan.final, label=label, seed=seed, before=winners
    )
    confirmed: tuple[tuple[Remeasurement, ...], ...] | None = None
    leads_s = 0.0
    if plan.progress == "confirmed":
        confirmed, leads_s = yield from measure_leads(
            prepared, finished, engine, label=label, seed=seed, before=leads
        )
    after = engine.observe()
    checked = prepared.checked
    yield FinalEntry(label, seed, finals, confirmed, leads_s, after, checked, peers)


def _recorded(
    search: AnySearch, stand_in: StandIn, prepared: PreparedCase, label: str
) -> Generator[RecordedEntry | RoundEntry, None, RecordedSearch | None]:
    """Have a recorded run stand in for a search.

    Not so if its first round takes too long or short, or is of another design space.
    """
    if stand_in.first_round_s is None:
        search.step()
        entry = search.last_round(label)
        ratio = entry.round.search_s / stand_in.run.rounds[0].search_s
        is_same = entry.sketches == stand_in.run.tasks[entry.round.task].sketches
        if not (is_same and 1.0 / MOST_DRIFT <= ratio <= MOST_DRIFT):
            yield entry
            return None
        run, first_round_s = stand_in.run, entry.round.search_s
        yield RecordedEntry(label, run.seed, run.strategy, stand_in.created, first_round_s, run)
    return RecordedSearch(stand_in, prepared.tasks)


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
