"""How far a session has come, told by its journal alone: for those who watch from outside."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from pytest_ansorbench.bench.history import CaseHistory, MisfitError, RepeatHistory, add_entry
from pytest_ansorbench.bench.progress import RunProgress
from pytest_ansorbench.records import Gate
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.judging import judge_arms
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.storage import JournalTail, StorageError
from pytest_ansorbench.storage.entries import EndEntry, RoundEntry, SessionEntry


@dataclass(frozen=True)
class WatchedCase:
    label: str  # what the journal calls it
    done: int  # repeats that are complete
    repeats: int  # repeats there will be, at most
    gates: tuple[Gate, ...]  # its gates, as the complete repeats leave them
    runs: tuple[RunProgress, ...]  # those of the newest repeat
    is_over: bool  # whether no repeat is left: all are complete, or all gates are settled
    # Seconds of search that are left, at the pace so far; infinity if that is unknown
    left_s: float


@dataclass(frozen=True)
class WatchedSession:
    created: str  # UTC time of its start, ISO 8601
    cases: tuple[WatchedCase, ...]  # those that have begun, in order
    waiting: tuple[str, ...]  # ids of those that have not, as far as they are known
    machines: Mapping[str, Mapping[str, Any]]  # what repeats were measured on, by fingerprint
    is_over: bool  # whether it came to its end
    left_s: float  # seconds of search that are left, those of waiting cases included


@dataclass
class Watch:
    """Follows the journal of a session that another process runs; it only reads.

    Gates are judged as if each were the only one of the session.
    """

    path: Path  # the journal
    _session: SessionEntry | None = field(default=None, init=False)
    _histories: dict[str, CaseHistory] = field(default_factory=dict, init=False)
    _is_over: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._tail = JournalTail(self.path)

    def look(self) -> WatchedSession:
        for entry in self._tail.read():
            if isinstance(entry, SessionEntry) and self._session is None:
                self._session = entry
                continue
            try:
                add_entry(self._histories, entry)
            except MisfitError as error:
                raise StorageError(f"bad journal {str(self._tail.path)!r}: {error}") from None
            self._is_over = isinstance(entry, EndEntry)
        assert self._session is not None  # a tail begins with it, or refuses
        return _session(self._session, self._histories, is_over=self._is_over)


def _session(
    session: SessionEntry, histories: Mapping[str, CaseHistory], *, is_over: bool
) -> WatchedSession:
    cases = tuple(_case(session, history) for history in histories.values())
    begun = [history.entry.case for history in histories.values()]
    waiting = tuple(case for case in session.cases if case not in begun)
    known_s = [_whole_s(history) for history in histories.values()]
    paces_s = [seconds for seconds in known_s if math.isfinite(seconds)]
    each_s = fmean(paces_s) if paces_s else math.inf
    left_s = sum(case.left_s for case in cases) + (len(waiting) * each_s if waiting else 0.0)
    machines = {
        name: one for history in histories.values() for name, one in history.machines.items()
    }
    return WatchedSession(
        session.created, cases, waiting, machines, is_over, 0.0 if is_over else left_s
    )


def _case(session: SessionEntry, history: CaseHistory) -> WatchedCase:
    entry = history.entry
    complete = [seed for seed in history.repeats if history.complete(seed)]
    newest = next(reversed(history.repeats.values()), None)
    gates = _gates(session.settings, history, complete)
    under_way = len(complete) < len(history.repeats)
    stops_early = isinstance(session.settings.get("repeats"), str) and bool(gates)
    settled = not under_way and not any(gate.open for gate in gates)
    is_over = settled if stops_early else len(complete) >= _repeats(history)
    done_s = sum(map(_seconds, history.begun))
    return WatchedCase(
        label=entry.label,
        done=len(complete),
        repeats=_repeats(history),
        gates=gates,
        runs=() if newest is None else _runs(history, newest),
        is_over=is_over,
        left_s=0.0 if is_over else max(0.0, _whole_s(history) - done_s),
    )


def _gates(
    settings: Mapping[str, Any], history: CaseHistory, seeds: Sequence[int]
) -> tuple[Gate, ...]:
    entry = history.entry
    if not seeds or not entry.limits:
        return ()
    runs = tuple(run for seed in seeds for run in history.runs(seed))
    criteria, limits = Criteria.from_settings(settings), Limits(entry.limits)
    verdicts = judge_arms(entry.strategies, runs, criteria, limits, control=entry.control)
    return tuple(gate for verdict in verdicts for gate in verdict.gates)


def _runs(history: CaseHistory, repeat: RepeatHistory) -> tuple[RunProgress, ...]:
    entry = history.entry
    found = []
    for strategy in entry.strategies:
        rounds = repeat.rounds.get(strategy, [])
        latencies_s = [
            trial.latency_s for one in rounds for trial in one.trials if trial.latency_s is not None
        ]
        # That of a network is not told by single trials.
        is_known = bool(latencies_s) and len(entry.tasks) == 1
        found.append(
            RunProgress(
                strategy,
                trials=sum(len(one.trials) for one in rounds),
                spent=history.spent(rounds),
                best_gflops=entry.flops / min(latencies_s) / 1e9 if is_known else 0.0,
                search_s=_seconds(rounds),
            )
        )
    return tuple(found)


def _seconds(rounds: Sequence[RoundEntry]) -> float:
    return sum(entry.round.search_s for entry in rounds)


def _repeats(history: CaseHistory) -> int:
    """How many there will be, as far as is known: a session may go on after its first look."""
    return max(history.entry.repeats, len(history.repeats))


def _whole_s(history: CaseHistory) -> float:
    """Seconds that all repeats of a case take, at the pace so far."""
    spent = sum(map(history.spent, history.begun))
    if not spent:
        return math.inf
    recorded = sum(repeat.recorded is not None for repeat in history.repeats.values())
    runs = _repeats(history) * len(history.entry.strategies) - recorded
    return runs * sum(map(_seconds, history.begun)) / spent
