"""Blocks at the workers of a real scheduler, their measurements recorded before."""

from __future__ import annotations

import dataclasses
import signal
import threading
import time
from functools import partial
from itertools import chain

import pytest

from pytest_ansorbench.bench import RepeatsUntilSettled, Silent
from pytest_ansorbench.cluster.settings import RESOURCE
from pytest_ansorbench.cluster.workers import block_key
from pytest_ansorbench.measure.engine import ElsewhereError, EngineError, UntunedError
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.stats.looks import Looks
from pytest_ansorbench.storage import from_line, read_journal
from pytest_ansorbench.storage.entries import AbandonedEntry, RepeatEntry, RoundEntry
from tests.bench.conftest import ONE, PLAN, TWO, repeats
from tests.cluster import dask_processes
from tests.cluster.conftest import ANSWER, REPEATS, session_with
from tests.cluster.replayed import Fault, identify, identify_by_name, pause
from tests.faults import Doubling
from tests.forked import wait_until


def carried_out(session, wanted=None):
    return session.run(Doubling(), [ONE, TWO], wanted or repeats(REPEATS))


def workers_of(session):
    """How many workers the session has found so far."""
    if session._executor is None:
        session.prepare()
    session.executor.pool.refresh()
    return len(session.executor.pool.fit)


def of_kind(session, kind):
    return read_journal(session.journal).of(kind)


def test_verdicts_are_those_of_the_same_measurements_here(three_workers, recorded, tmp_path):
    with session_with(three_workers, recorded, tmp_path, pause_s=0.05) as (session, work_of):
        wait_until(lambda: workers_of(session) == 3)
        result = carried_out(session)
        session.finish()
        session.conclude()
    assert result == recorded[0]
    assert [block.seed for block in work_of.seen] == list(range(REPEATS))
    # Several were under way at a time: one began before the one before it was over.
    past = read_journal(session.journal)
    assert past.finished
    kinds = [(type(entry).__name__, getattr(entry, "seed", None)) for entry in past.entries]
    assert kinds.index(("RepeatEntry", 1)) < kinds.index(("FinalEntry", 0))


def test_no_two_blocks_share_a_worker(tmp_path, recorded):
    folder = tmp_path / "marks"
    folder.mkdir()
    with dask_processes.cluster(tmp_path) as cluster:
        cluster.start_worker("only", "--nthreads", "4")
        with session_with(cluster, recorded, tmp_path, pause_s=0.05, begun=str(folder / "at")) as (
            session,
            _,
        ):
            carried_out(session, repeats(3))
    marks = sorted(folder.iterdir(), key=lambda mark: mark.stat().st_mtime_ns)
    seeds = [mark.name.split("-")[1] for mark in marks]
    assert seeds == sorted(seeds)


def test_the_block_of_a_worker_that_dies_goes_on_elsewhere(mortal, recorded, tmp_path):
    mortal.top_up(2)
    fault = Fault("dies", after=3, seed=1, marker=str(tmp_path / "died"))
    notes: list[str] = []
    with session_with(mortal, recorded, tmp_path, pause_s=0.05, faults=(fault,), notes=notes) as (
        session,
        work_of,
    ):
        result = carried_out(session)
    assert result == recorded[0]
    assert not of_kind(session, AbandonedEntry)
    begun = [entry.seed for entry in of_kind(session, RepeatEntry)]
    assert sorted(begun) == list(range(REPEATS))
    assert {block.seed for block in work_of.seen if block.past is not None} == {1}
    assert any("doubling with seed 1 is handed out again: worker" in note for note in notes)


def test_a_worker_that_dies_once_its_block_is_over_loses_nothing(mortal, recorded, tmp_path):
    """All of the block is here, but not the message that it is over."""
    mortal.top_up(2)
    died = tmp_path / "died"
    fault = Fault("dies", after=len(recorded[1][1]), seed=1, marker=str(died))
    with session_with(mortal, recorded, tmp_path, pause_s=0.05, faults=(fault,)) as (
        session,
        _,
    ):
        result = carried_out(session)
    assert died.exists()
    assert result == recorded[0]
    assert not of_kind(session, AbandonedEntry)
    assert sorted(entry.seed for entry in of_kind(session, RepeatEntry)) == list(range(REPEATS))


@pytest.mark.slow  # six workers have to start
def test_a_block_that_kills_every_worker_is_given_up(mortal, recorded, tmp_path):
    mortal.top_up(6)  # some may die uncounted, of a submission that was given up meanwhile
    with (
        session_with(mortal, recorded, tmp_path, faults=(Fault("dies", after=0),)) as (session, _),
        pytest.raises(EngineError, match="doubling with seed 0 was lost 4 times"),
    ):
        wait_until(lambda: workers_of(session) == 6)
        carried_out(session, repeats(1))


def test_a_round_in_which_its_worker_was_stopped_is_run_again(three_workers, recorded, tmp_path):
    lines = recorded[1][0]
    first = next(at for at, one in enumerate(lines) if isinstance(from_line(one), RoundEntry))

    def stop():
        wait_until((tmp_path / f"at-0-{first}").exists)
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for name in three_workers.workers:
                three_workers.send(name, number)
            time.sleep(0.1)

    stopping = threading.Thread(target=stop)
    stopping.start()
    notes: list[str] = []
    slowly = {"pause_s": 0.3, "begun": str(tmp_path / "at")}
    with session_with(three_workers, recorded, tmp_path, notes=notes, **slowly) as (
        session,
        work_of,
    ):
        result = carried_out(session, repeats(1))
    stopping.join()
    assert result.runs == recorded[0].runs[:2]
    assert len(work_of.seen) == 2
    [note] = [note for note in notes if "is handed out again" in note]
    assert note.endswith("was stopped: its round is run again")


def test_a_block_that_is_lost_after_each_line_comes_to_its_end(three_workers, recorded, tmp_path):
    fault = Fault("broken", after=1)
    with session_with(three_workers, recorded, tmp_path, faults=(fault,)) as (session, work_of):
        result = carried_out(session, repeats(1))
    assert result.runs == recorded[0].runs[:2]
    assert len(work_of.seen) == len(recorded[1][0])


@pytest.mark.slow
def test_a_slow_worker_is_waited_for(impatient, recorded, tmp_path):
    impatient.top_up(2)
    pause_s = 6.5 / len(recorded[1][0])  # more than 5 s in all, and some for a look
    with session_with(impatient, recorded, tmp_path, pause_s=pause_s) as (session, _):
        assert len(carried_out(session, repeats(1)).runs) == 2
    assert of_kind(session, AbandonedEntry) == []


@pytest.mark.slow  # Dask waits for five seconds at least
def test_a_silent_worker_is_given_up(impatient, recorded, tmp_path):
    impatient.top_up(2)
    victim = next(iter(impatient.workers))
    with session_with(impatient, recorded, tmp_path, pause_s=0.15, begun=str(tmp_path / "at")) as (
        session,
        work_of,
    ):
        wait_until(lambda: workers_of(session) == 2)
        stopped = threading.Thread(
            target=lambda: (
                wait_until((tmp_path / "at-0-1").exists),
                impatient.send(victim, signal.SIGSTOP),
            )
        )
        stopped.start()
        result = carried_out(session, repeats(2))
        stopped.join()
    impatient.send(victim, signal.SIGKILL)
    assert len(result.runs) == 4
    assert sorted(entry.seed for entry in of_kind(session, RepeatEntry)) == [0, 1]
    assert len(work_of.seen) > 2


def test_without_its_scheduler_a_session_ends_and_its_journal_stays(tmp_path, recorded):
    with (
        dask_processes.cluster(tmp_path, "one") as cluster,
        session_with(cluster, recorded, tmp_path, pause_s=0.3, begun=str(tmp_path / "at")) as (
            session,
            _,
        ),
    ):
        killed = threading.Thread(
            target=lambda: (
                wait_until((tmp_path / "at-0-3").exists),
                cluster.scheduler.kill(),
            )
        )
        killed.start()
        with pytest.raises(EngineError, match="the scheduler of the cluster is gone"):
            carried_out(session)
        killed.join()
    assert of_kind(session, RoundEntry)


def test_an_interrupted_block_goes_on_at_a_machine_like_its_own(three_workers, recorded, tmp_path):
    with session_with(
        three_workers, recorded, tmp_path, pause_s=0.1, begun=str(tmp_path / "at")
    ) as (session, _):
        interrupting(session, lambda: (tmp_path / "at-0-3").exists())
    past = read_journal(session.journal)
    with session_with(three_workers, recorded, tmp_path, past=past) as (again, work_of):
        assert carried_out(again) == recorded[0]
    assert any(block.past is not None for block in work_of.seen)
    assert of_kind(again, AbandonedEntry) == []


def test_an_interrupted_block_is_begun_again_where_no_machine_is_like_its_own(
    three_workers, recorded, tmp_path
):
    with session_with(
        three_workers, recorded, tmp_path, pause_s=0.1, begun=str(tmp_path / "at")
    ) as (session, _):
        interrupting(session, lambda: (tmp_path / "at-0-3").exists())
    past = read_journal(session.journal)
    ask = partial(identify, ANSWER)
    with session_with(three_workers, recorded, tmp_path, past=past, ask=ask) as (again, work_of):
        assert carried_out(again) == recorded[0]
    assert all(block.past is None for block in work_of.seen)
    assert {entry.seed for entry in of_kind(again, AbandonedEntry)} <= {0, 1, 2}
    assert "no worker has its machine" in of_kind(again, AbandonedEntry)[0].reason


class Interrupting(Silent):
    """Progress that is interrupted once something holds."""

    def __init__(self, holds):
        self.holds = holds

    def note(self, what):
        if self.holds():
            raise KeyboardInterrupt


def interrupting(session, holds):
    with pytest.raises(KeyboardInterrupt):
        session.run(Doubling(), [ONE, TWO], repeats(REPEATS), Interrupting(holds))


def nothing_happens(folder, seconds):
    """Whether no block begins anything for some time."""
    before = sorted(folder.glob("at-*"))
    time.sleep(seconds)
    return sorted(folder.glob("at-*")) == before


def test_workers_stop_when_nobody_waits_for_them(three_workers, recorded, tmp_path):
    with session_with(
        three_workers, recorded, tmp_path, pause_s=0.2, begun=str(tmp_path / "at")
    ) as (session, _):
        interrupting(session, lambda: (tmp_path / "at-0-1").exists())
    wait_until(lambda: nothing_happens(tmp_path, 0.5))
    assert not (tmp_path / f"at-0-{len(recorded[1][0]) - 1}").exists()


def test_unfit_workers_are_refused_by_name(three_workers, recorded, tmp_path):
    other = {**ANSWER, "requirements": {"code": "other"}}
    elsewhere = {**ANSWER, "target": "llvm -mcpu=other"}
    answers = {"one": ANSWER, "two": other, "three": elsewhere}
    notes: list[str] = []
    with session_with(
        three_workers,
        recorded,
        tmp_path,
        ask=partial(identify_by_name, answers),
        notes=notes,
        pause_s=0.04,
    ) as (session, _):
        wait_until(lambda: workers_of(session) + len(session.executor.pool.refused) == 3)
        assert carried_out(session) == recorded[0]
    assert "worker two is refused: code other and not this" in notes
    refused = next(note for note in notes if note.startswith(("worker three", "worker one")))
    assert " and not llvm" in refused


def test_without_a_worker_that_fits_nothing_begins(three_workers, recorded, tmp_path):
    answers = {
        "one": {"error": "no compiler"},
        "two": {**ANSWER, "requirements": {"code": "other"}},
        # The third cannot answer.
    }
    reasons = ("one: no compiler", "two: code other and not this", "three: KeyError: 'three'")
    ask = partial(identify_by_name, answers)
    with (
        session_with(three_workers, recorded, tmp_path, ask=ask, patience_s=2.0) as (session, _),
        pytest.raises(EngineError, match="no worker that fits within 2 s") as raised,
    ):
        carried_out(session)
    for reason in reasons:
        assert reason in str(raised.value)


def test_a_worker_without_the_resource_is_none_and_one_that_joins_is_used(tmp_path, recorded):
    with dask_processes.cluster(tmp_path) as cluster:
        cluster.start_worker("other", "--resources", "gpu=1")
        with (
            session_with(cluster, recorded, tmp_path, patience_s=1.0) as (session, _),
            pytest.raises(EngineError, match=r"declare the resource ansor_bench=1$"),
        ):
            carried_out(session)
        cluster.start_worker("first")
        with session_with(cluster, recorded, tmp_path, pause_s=0.15) as (session, _):
            joined = threading.Timer(0.2, cluster.start_worker, ["second"])
            joined.start()
            assert carried_out(session) == recorded[0]
            assert {one.name for one in session.executor.pool.fit.values()} == {"first", "second"}
            joined.join()


def test_workers_at_work_for_another_session_are_waited_for(three_workers, recorded, tmp_path):
    from distributed import Client

    keys = {name: block_key("other", "doubling", 0, name) for name in three_workers.workers}
    notes: list[str] = []
    with Client(three_workers.address, timeout=30.0, set_as_default=False) as other:
        blocks = [
            other.submit(time.sleep, 4.0, key=key, workers=[name], resources={RESOURCE: 1})
            for name, key in keys.items()
        ]
        wait_until(lambda: {*keys.values()} <= {*chain(*other.processing().values())})
        with session_with(three_workers, recorded, tmp_path, patience_s=2.0, notes=notes) as (
            session,
            _,
        ):
            assert carried_out(session, repeats(1)).runs == recorded[0].runs[:2]
        assert len(blocks) == 3
    assert [note for note in notes if "busy" in note] == ["waiting for a worker: some are busy"]


class GoingOn(Silent):
    """Progress that loses a block once it waits for a paused worker, which goes on after that."""

    def __init__(self, executor):
        self.executor, self.seen = executor, []

    def note(self, what):
        self.seen.append(what)
        if "waits" in what:
            for submitted in self.executor._submitted.values():
                submitted.future.cancel()
        if "had not begun" in what:
            self.executor.client.run(pause, is_paused=False)


def test_a_block_whose_workers_are_paused_says_that_it_waits(tmp_path, recorded):
    notes: list[str] = []
    with dask_processes.cluster(tmp_path) as cluster:
        cluster.start_worker("full", "--memory-limit", "0")
        with session_with(cluster, recorded, tmp_path, notes=notes) as (session, _):
            wait_until(lambda: workers_of(session) == 1)
            session.executor.client.run(pause, is_paused=True)
            progress = GoingOn(session.executor)
            result = session.run(Doubling(), [ONE, TWO], repeats(1), progress)
    assert result.runs == recorded[0].runs[:2]
    told = "doubling with seed 0 waits: Dask has paused full, short of memory"
    assert told in notes and told in progress.seen
    assert "doubling with seed 0 is handed out again: its worker had not begun it" in notes


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        ("untuned", UntunedError, "it is untuned"),
        ("unresumable", ResumeError, "it is unresumable"),
        ("failed", ElsewhereError, "ZeroDivisionError: it is failed"),
        ("broken", EngineError, r"was lost 4 times, at last because worker \w+: it is broken"),
    ],
)
def test_how_a_block_fails_is_told(three_workers, recorded, tmp_path, kind, error, message):
    with (
        session_with(three_workers, recorded, tmp_path, faults=(Fault(kind, after=0),)) as (
            session,
            _,
        ),
        pytest.raises(error, match=message),
    ):
        carried_out(session, repeats(1))


def test_a_worker_that_finds_itself_unfit_is_left_alone(three_workers, recorded, tmp_path):
    fault = Fault("unfit", after=0, seed=0, marker=str(tmp_path / "unfit"))
    notes: list[str] = []
    with session_with(three_workers, recorded, tmp_path, faults=(fault,), notes=notes) as (
        session,
        _,
    ):
        assert carried_out(session) == recorded[0]
    assert sum("is refused: it is unfit" in note for note in notes) == 1


def test_workers_that_cannot_make_one_case_carry_out_the_next(three_workers, recorded, tmp_path):
    faults = (Fault("unable", after=0), Fault("unable", 0, 1, str(tmp_path / "unable")))
    with session_with(three_workers, recorded, tmp_path, faults=faults) as (session, work_of):
        wait_until(lambda: workers_of(session) == 3)
        with pytest.raises(ElsewhereError, match="no worker can carry out doubling: it is unable"):
            session.run(Doubling(), [ONE, TWO], repeats(1), test="it")
        assert len(work_of.seen) == 3
        result = session.run(Doubling(), [ONE, TWO], repeats(1, first=1), test="it")
        assert workers_of(session) == 3 and not session.executor.pool.refused
    assert [run.seed for run in result.runs] == [1, 1]


def test_repeats_that_stop_by_themselves_are_run_no_further(three_workers, recorded, tmp_path):
    """Without a gate five are enough."""
    until = dataclasses.replace(PLAN, repeats=RepeatsUntilSettled(0, Looks(2, 6)))
    with session_with(three_workers, recorded, tmp_path, pause_s=0.05) as (session, work_of):
        result = carried_out(session, until)
    assert [run.seed for run in result.runs if run.strategy == "one"][:5] == list(range(5))
    assert len(work_of.seen) <= 6
