"""The schedules of all trials of a session."""

from __future__ import annotations

import json
import re

import pytest
from tvm_ffi import structural_equal

from pytest_ansorbench.cli import main
from pytest_ansorbench.search import unpack
from pytest_ansorbench.storage import StorageError, read_journal
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
    entry = past.of(RoundEntry)[0]
    batch = unpack(entry.state.candidates, mod)
    assert [one.latency_s for one in found[:2]] == [trial.latency_s for trial in entry.trials]
    assert structural_equal(found[1].candidate().mod, batch[1].mod)


def changed(journal, kind, key, change):
    """The journal with a value of all lines of a kind made another."""
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    for line in lines:
        if line["kind"] == kind:
            line[key] = change(line[key])
    other = journal.with_name("0007.jsonl")
    other.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return other


@pytest.fixture
def journal(make_session):
    session = make_session()
    session.run(Doubling(), [ONE], PLAN)
    return session.journal


@pytest.mark.parametrize("seconds", [-1e308, 0.0, 1e300])
def test_a_trial_that_took_no_time_is_refused_with_its_line(journal, seconds):
    def timed(trials):
        return {**trials, "latencies_s": [[seconds] for _ in trials["latencies_s"]]}

    with pytest.raises(StorageError, match=r"line \d+: bad trials\[0\]\.latencies_s"):
        read_journal(changed(journal, "round", "trials", timed))


@pytest.mark.parametrize(
    "command", [["export", "--database", "db"], ["train-draft", "-o", "m.ubj"]]
)
def test_a_target_that_tvm_refuses_is_told_with_its_journal(journal, tmp_path, capsys, command):
    def odd(machine):
        return {**machine, "target": "5e-324"}

    other = changed(changed(journal, "repeat", "machine", odd), "session", "machine", odd)
    [name, option, output] = command
    source = [str(other)] if name == "export" else ["--from", str(other)]
    assert main([name, *source, option, str(tmp_path / output)]) == 2
    told = capsys.readouterr().err
    assert re.search(r"bad \w+ '?\S*0007\.jsonl'?: its bad target '5e-324': expected an LLVM", told)
