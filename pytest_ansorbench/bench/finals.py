"""The winners of a repeat, measured again side by side."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pytest_ansorbench.bench.prepared import PreparedCase
from pytest_ansorbench.hosted import HostedSearch
from pytest_ansorbench.measure.outcomes import AfterSet
from pytest_ansorbench.measure.program import Buildable, Program
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.records import Peer, Remeasurement
from pytest_ansorbench.search.task_search import Best, Lead
from pytest_ansorbench.storage.entries import LeadsEntry, SetEntry
from pytest_ansorbench.workloads.networks.apply import with_schedules

if TYPE_CHECKING:
    from pytest_ansorbench.bench.arms import FinishedSearch
    from pytest_ansorbench.hosted.search import SavedBest
    from pytest_ansorbench.measure.engine import Engine

SHARE_OF_SEARCH: Final = 0.25
"""Of a repeat's search time, which measuring its leads may take, and its winners for more than the
least: seconds beyond it would go into a ratio that repeats scatter around by far more."""
EFFORT: Final = SideBySide(precision=0.01, turns=Span(10, 30), sets=Span(1, 1))
"""Of leads beside each other."""
_TRIALS_A_LEAD: Final = 4
"""A lead costs about as much to measure as a trial does, so this keeps to the share as well."""
_FIRST_AND_LAST: Final = 2
_NO_WINNER: Final = Remeasurement(None, "run-error", (), "no valid trial")


def measure_winners(
    prepared: PreparedCase,
    searches: Sequence[FinishedSearch],
    engine: Engine,
    effort: SideBySide,
    *,
    label: str,
    seed: int,
    before: SetEntry | None = None,
) -> Generator[SetEntry, None, tuple[tuple[Remeasurement, ...], tuple[Peer, ...]]]:
    """Measure the winners of finished searches and peers in turn, an entry after each set.

    It goes on after the sets of an interrupted session, if there were any `before`. A set has
    processes of its own anyway; turns and seconds count through all sets, and slices stay as long
    as they were, whatever this session thinks of the machine's noise.

    Returns one re-measurement an arm; that of an operator without a valid trial says so; and the
    peers. What has taken `SHARE_OF_SEARCH` of the searches ends with the least effort.
    """
    effort = replace(effort, enough_s=_allowed_s(searches))
    winners = [winner(prepared, search) for search in searches]
    present: list[Buildable] = [program for program in winners if program is not None]
    present += [peer.program for peer in prepared.peers]
    finals: tuple[Remeasurement, ...] = (_NO_WINNER,) * len(searches)
    peers: tuple[Peer, ...] = ()
    behind: AfterSet | None = None
    if before is not None:
        effort = replace(effort, slice_ms=before.slice_ms)
        finals, peers, behind = before.finals, before.peers, _behind(before, winners)
    for after in engine.measure_sets(present, prepared.check, effort, behind):
        outcomes = iter(after.outcomes)
        finals = tuple(
            _NO_WINNER
            if program is None
            else replace(next(outcomes), trial=_trial_of(prepared, search))
            for search, program in zip(searches, winners, strict=True)
        )
        peers = tuple(peer.record(next(outcomes)) for peer in prepared.peers)
        yield SetEntry(label, seed, finals, after.elapsed_s, effort.slice_ms, peers)
    return finals, peers


def _behind(entry: SetEntry, winners: Sequence[Buildable | None]) -> AfterSet:
    of_arms = zip(entry.finals, winners, strict=True)
    measured = [final for final, program in of_arms if program is not None]
    return AfterSet([*measured, *(peer.final for peer in entry.peers)], entry.elapsed_s)


def winner(prepared: PreparedCase, search: FinishedSearch) -> Buildable | None:
    """The best kernel of a search, or the network with the best kernel of each task.

    A task of a network without a valid trial stays as it is, untuned.

    None for an operator without a valid trial.
    """
    best = [task.best for task in search.tasks]
    if prepared.network is None:
        return None if best[0] is None else best[0].program()
    if isinstance(search, HostedSearch):
        return search.network()
    scheduled = [kernel.mod if isinstance(kernel, Best) else None for kernel in best]
    return Program.network(with_schedules(prepared.network.mod, prepared.tasks, scheduled))


def _trial_of(prepared: PreparedCase, search: FinishedSearch) -> int | None:
    """The trial that a search's winner is of; a network has none, of one task either."""
    best = search.tasks[0].best if prepared.network is None else None
    return best.index if best is not None else None


def measure_leads(
    prepared: PreparedCase,
    searches: Sequence[FinishedSearch],
    engine: Engine,
    *,
    label: str,
    seed: int,
    before: Mapping[int, LeadsEntry],
) -> Generator[LeadsEntry, None, tuple[tuple[tuple[Remeasurement, ...], ...], float]]:
    """Measure the leads of finished searches against each other, an entry after each task.

    It takes at most `SHARE_OF_SEARCH` of what the searches took together, but for the compilation
    of a last task. For that, of a run with few trials a lead only some leads are measured, the
    first and the last of each task among them: a network has a latency once every task has.
    Tasks that were measured `before` are not measured again.

    Returns the leads of each arm, and the seconds that they took.
    """
    allowed_s = _allowed_s(searches)
    measured = dict(before)
    for index, task in enumerate(prepared.tasks):
        started_s = time.monotonic()
        leads = [_some(search, index, engine.capacity // len(searches)) for search in searches]
        programs = [lead.program(task.surroundings) for of_arm in leads for lead in of_arm]
        if index in measured or not programs:
            continue
        effort = replace(EFFORT, most_s=allowed_s / len(prepared.tasks))
        outcomes = iter(engine.measure_side_by_side(programs, task.check, effort))
        found = tuple(
            tuple(replace(next(outcomes), trial=lead.index) for lead in of_arm) for of_arm in leads
        )
        measured[index] = LeadsEntry(label, seed, index, found, time.monotonic() - started_s)
        yield measured[index]
    every = [entry.leads for entry in measured.values()]
    of_arms = tuple(
        tuple(sorted((lead for leads in every for lead in leads[arm]), key=_trial))
        for arm in range(len(searches))
    )
    return of_arms, sum(entry.elapsed_s for entry in measured.values())


def _allowed_s(searches: Sequence[FinishedSearch]) -> float:
    return SHARE_OF_SEARCH * sum(search.search_s for search in searches)


def _some(search: FinishedSearch, index: int, most: int) -> Sequence[Lead | Best | SavedBest]:
    """Leads of a task: all of them, or as many as may be measured, evenly spaced."""
    task = search.tasks[index]
    leads = task.leads
    most = max(1, min(most, max(_FIRST_AND_LAST, task.trials_done // _TRIALS_A_LEAD)))
    if len(leads) <= most:
        return leads
    if most == 1:
        return leads[-1:]
    return [leads[round(place * (len(leads) - 1) / (most - 1))] for place in range(most)]


def _trial(lead: Remeasurement) -> int:
    assert lead.trial is not None
    return lead.trial
