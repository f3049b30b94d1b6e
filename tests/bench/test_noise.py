"""A session looks at its machine's noise before the first search and at the end."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.storage import fingerprint, read_journal
from tests.bench.conftest import ONE, PLAN, RUNS, Another
from tests.bench.test_leads import Noting
from tests.fast_engine import FastEngine
from tests.faults import Doubling
from tests.synthetic import make_trace

CASE = Doubling()


def moments(noise):
    return [one.moment for one in noise]


@pytest.fixture
def make_looking(make_session):
    """Makes sessions that look."""
    return lambda *engine, **changes: make_session(*engine, noise_check_s=0.1, **changes)


def test_it_looks_once_before_the_first_search_and_once_at_the_end(make_looking, target):
    session = make_looking()
    session.run(CASE, [ONE], PLAN)
    assert moments(session.noise) == ["start"]
    session.run(Another(), [ONE], PLAN)
    session.finish()
    assert moments(session.noise) == ["start", "end"]
    assert session.result().noise == session.noise
    assert {one.machine for one in session.noise} == {fingerprint(FastEngine(target).machine)}
    session.conclude()
    kinds = [type(entry).__name__ for entry in read_journal(session.journal).entries]
    assert kinds[:3] == ["CaseEntry", "NoiseEntry", "RepeatEntry"]
    assert kinds[-2:] == ["NoiseEntry", "EndEntry"]


def test_without_seconds_it_does_not_look(make_session):
    session = make_session()
    session.run(CASE, [ONE], PLAN)
    session.finish()
    assert session.noise == session.result().noise == ()


def test_without_a_search_it_does_not_look(make_looking, target):
    session = make_looking()
    session.prepare()
    session.finish()
    assert session.noise == ()
    first = make_looking()
    first.run(CASE, [ONE], PLAN)
    first.finish()
    first.close()
    engine = FastEngine(target)
    again = make_looking(engine, past=read_journal(first.journal))
    again.run(CASE, [ONE], PLAN)
    again.finish()
    assert not engine.started
    assert again.noise == first.noise


def test_a_session_that_goes_on_looks_again(make_looking):
    first = make_looking()
    first.run(CASE, [ONE], PLAN)
    first.close()
    session = make_looking(past=read_journal(first.journal))
    session.run(CASE, [ONE], PLAN)
    session.run(Another(), [ONE], PLAN)
    session.finish()
    assert moments(session.noise) == ["start", "start", "end"]
    assert session.noise[0] == first.noise[0]
    assert {one.machine for one in session.noise} == set(session.machines)


def test_an_engine_that_breaks_at_the_first_look_costs_one_case(make_looking, target):
    session = make_looking(FastEngine(target, fails_at=1))
    with pytest.raises(EngineError, match="planted"):
        session.run(CASE, [ONE], PLAN)
    session.run(Another(), [ONE], PLAN)
    assert moments(session.noise) == ["start"]


@pytest.mark.parametrize("failure", [EngineError("planted"), KeyboardInterrupt()])
def test_nothing_depends_on_the_last_look(make_looking, target, monkeypatch, failure):
    engine = FastEngine(target)
    session = make_looking(engine)
    session.run(CASE, [ONE], PLAN)

    def fail(*arguments):
        raise failure

    monkeypatch.setattr(engine, "measure_side_by_side", fail)
    session.finish()
    session.conclude()
    assert moments(session.noise) == ["start"]
    assert read_journal(session.journal).finished


def test_slices_are_as_long_as_suits_the_noise_and_a_resumption_does_not_mind(
    make_looking, make_session, target, monkeypatch
):
    # A fast engine's own noise would be over in no time.
    trace = make_trace(6000, scatter=0.1, memory_s=0.006)
    monkeypatch.setattr("pytest_ansorbench.bench.site.observe_noise", lambda *given: trace)
    effort = SideBySide(precision=0.0, turns=Span(2, 2), sets=Span(1, 1))
    plan = dataclasses.replace(PLAN, runs=dataclasses.replace(RUNS, final=effort))
    engine = Noting(target)
    session = make_looking(engine)
    session.run(CASE, [ONE], plan)
    finals = [asked for _, asked in engine.asked if asked.turns == effort.turns]
    assert [(asked.sets, asked.slice_ms) for asked in finals] == [(effort.sets, 2.0)] * 2
    session.close()
    again = make_session(past=read_journal(session.journal))
    assert len(again.run(CASE, [ONE], plan).runs) == 2


def test_samples_stay_as_they_are():
    runs = dataclasses.replace(RUNS, final=SideBySide.of_samples(3))
    assert runs.with_slices(20.0) == runs


def test_a_repeat_that_goes_on_does_not_wait_for_a_look(make_looking):
    first = make_looking()
    first.run(CASE, [ONE], PLAN)
    first.close()
    lines = first.journal.read_bytes().splitlines(keepends=True)
    first.journal.write_bytes(b"".join(lines[:5]))
    session = make_looking(past=read_journal(first.journal))
    session.run(CASE, [ONE], PLAN)
    kinds = [type(entry).__name__ for entry in read_journal(session.journal).entries]
    assert kinds[:5] == ["CaseEntry", "NoiseEntry", "RepeatEntry", "RoundEntry", "RoundEntry"]
    again = kinds.index("NoiseEntry", 5)
    assert kinds[again - 1 : again + 2] == ["FinalEntry", "NoiseEntry", "RepeatEntry"]
