"""A run's rounds as a journal keeps them, and a run rebuilt from such rounds."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ansorbench.measure.outcomes import Measured
from pytest_ansorbench.packed import PackedError
from pytest_ansorbench.records import LastRanking
from pytest_ansorbench.search.candidates import pack, unpack
from pytest_ansorbench.search.run_state import RunState
from pytest_ansorbench.storage.entries import RoundEntry, SearchState
from pytest_ansorbench.strategies.candidate import Candidate


class ResumeError(ValueError):
    """A journal that a run cannot go on from."""


def last_round(state: RunState, *, label: str, strategy: str) -> RoundEntry:
    last = state.rounds[-1]
    task = state.tasks[last.task]
    text, position = state.random_state.dump()
    return RoundEntry(
        label=label,
        seed=state.seed,
        strategy=strategy,
        sketches=task.sketches.fingerprints,
        round=last,
        trials=tuple(trial for trial in state.trials if trial.round == last.index),
        stopped=task.stopped,
        state=SearchState(pack(state.candidates), text, position, task.rng_state),
    )


def restore(state: RunState, entries: Sequence[RoundEntry]) -> None:
    """Bring a new run to where an earlier one was.

    The run then has the database, cost model, measured set, policies and random states of NumPy
    that the earlier one had. TVM's own random state cannot be read; it goes on from a number
    that the seed and the number of rounds decide.
    """
    for entry in entries:
        if entry.sketches != state.tasks[entry.round.task].sketches.fingerprints:
            raise ResumeError("its design space is another one than in the journal")
    last = entries[-1].state
    try:
        batches = [
            unpack(entry.state.candidates, state.tasks[entry.round.task].task.mod)
            for entry in entries
        ]
        state.random_state.load(last.numpy_state, last.numpy_position)
        _set_generators(state, entries)
    except (PackedError, ValueError, KeyError, TypeError) as error:
        raise ResumeError(f"a round cannot be rebuilt: {error}") from None
    with state.random_state.installed():
        _recall(state, entries, batches)
        for entry, batch in zip(entries, batches, strict=True):
            _relive(state, entry, batch)
    # Learning anew may have drawn numbers that were drawn before.
    state.random_state.load(last.numpy_state, last.numpy_position)
    _set_generators(state, entries)


def restore_winners(state: RunState, ranking: LastRanking) -> None:
    """Crown what the last check of an earlier run crowned."""
    for checked in ranking.tasks:
        if not 0 <= checked.task < len(state.tasks):
            raise ResumeError(f"a last check of task {checked.task}, which there is not")
        try:
            state.tasks[checked.task].crown(checked.crowned)
        except ValueError as error:
            raise ResumeError(f"the last check cannot be taken over: {error}") from None


def _set_generators(state: RunState, entries: Sequence[RoundEntry]) -> None:
    for entry in entries:
        state.tasks[entry.round.task].rng_state = entry.state.rng


def _recall(
    state: RunState,
    entries: Sequence[RoundEntry],
    batches: Sequence[Sequence[Candidate]],
) -> None:
    """Tell each task's proposer what it had proposed; one that had no round has nothing to do."""
    for index, task in enumerate(state.tasks):
        proposed = [
            candidate
            for entry, batch in zip(entries, batches, strict=True)
            if entry.round.task == index
            for candidate in batch
        ]
        if proposed:
            task.recall(proposed)


def _relive(state: RunState, entry: RoundEntry, batch: Sequence[Candidate]) -> None:
    """Go through a round of the journal once more, with the outcomes that it had."""
    task = state.tasks[entry.round.task]
    if len(batch) != len(entry.trials):
        raise ResumeError(
            f"round {entry.round.index} has {len(batch)} candidates, expected one for "
            f"each of its {len(entry.trials)} trials"
        )
    for candidate, trial in zip(batch, entry.trials, strict=True):
        state.trials.append(trial)
        task.keep(trial, candidate)
    measured = [Measured(one.status, one.latencies_s, one.error) for one in entry.trials]
    task.learn(batch, measured, entry.trials)
    task.finish_round(len(batch))
    task.stopped = entry.stopped
    state.rounds.append(entry.round)
