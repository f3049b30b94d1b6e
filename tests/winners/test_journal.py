"""The schedules of all trials of a session."""

from __future__ import annotations

from tvm_ffi import structural_equal

from pytest_ansorbench.search import unpack
from pytest_ansorbench.storage import read_journal
from pytest_ansorbench.storage.entries import RoundEntry
from pytest_ansorbench.winners import tuned_in
from tests.bench.conftest import ONE, PLAN
from tests.bench.conftest import make_session as make_session
from tests.faults import Doubling


def test_every_valid_trial_is_there_with_its_program(make_session):
    session = make_session()
    session.run(Doubling(), [ONE], PLAN)
    past = read_journal(session.journal)
    found = [*tuned_in(past)]
    assert [one.seed for one in found] == [0] * 4 + [1] * 4
    assert {(one.case, one.strategy, one.place) for one in found} == {(Doubling().id, "one", 0)}
    [mod] = [task.mod for task in Doubling().tasks()]
    entry = next(entry for entry in past.entries if isinstance(entry, RoundEntry))
    batch = unpack(entry.state.candidates, mod)
    assert [one.latency_s for one in found[:2]] == [trial.latency_s for trial in entry.trials]
    assert structural_equal(found[1].candidate().mod, batch[1].mod)
