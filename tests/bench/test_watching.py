"""How a session stands, told by its journal while it runs and afterwards."""

from __future__ import annotations

import dataclasses
import math

import pytest

from pytest_ansorbench.bench import FixedRepeats, Watch
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.storage import StorageError, read_journal
from tests.bench.conftest import ONE, PLAN, TWO, Another
from tests.faults import Doubling

LIMITED = dataclasses.replace(PLAN, limits=Limits({"search_ratio": 0.9}))


@pytest.fixture
def session(make_session):
    session = make_session()
    session.prepare(["doubling", "another", "third"])
    session.run(Doubling(), [ONE, TWO], LIMITED)
    return session


def test_what_is_over_what_runs_and_what_waits(session):
    overview = Watch(session.journal).look()
    assert [case.label for case in overview.cases] == ["doubling"]
    assert overview.waiting == ("another", "third")
    assert [machine["cpu"] for machine in overview.machines.values()] == ["made up"]
    assert not overview.is_over
    [case] = overview.cases
    assert (case.done, case.repeats, case.is_over, case.left_s) == (2, 2, True, 0.0)
    assert [run.strategy for run in case.runs] == ["one", "two"]
    assert [(run.trials, run.spent) for run in case.runs] == [(4, 1.0), (4, 1.0)]
    assert all(run.best_gflops > 0.0 for run in case.runs)
    assert [gate.metric for gate in case.gates] == ["search_ratio"]


def test_the_time_left_is_that_of_cases_at_the_pace_so_far(session):
    overview = Watch(session.journal).look()
    search_s = sum(run.search_s for run in session.results[0].runs)
    assert overview.left_s == pytest.approx(2 * search_s)


def test_it_follows_line_by_line(session, tmp_path):
    lines = session.journal.read_bytes().splitlines(keepends=True)
    path = tmp_path / "0009.jsonl"
    path.write_bytes(lines[0])
    watch = Watch(path)
    overview = watch.look()
    assert (overview.cases, math.isinf(overview.left_s)) == ((), True)
    trials = []
    for end in range(2, len(lines) + 1):
        path.write_bytes(b"".join(lines[:end]))
        [case] = watch.look().cases
        trials.append(sum(run.trials for run in case.runs))
        assert case.is_over == (end == len(lines))
        assert case.left_s >= 0.0
    assert trials[:11] == [0, 0, 2, 4, 6, *[8] * 5, 0]


def test_it_knows_the_end(session):
    watch = Watch(session.journal)
    assert watch.look().left_s > 0.0
    session.conclude()
    overview = watch.look()
    assert (overview.is_over, overview.left_s) == (True, 0.0)


def test_a_case_that_goes_on_with_more_repeats_is_not_over(make_session, session):
    session.conclude()
    session.close()
    again = make_session(past=read_journal(session.journal))
    again.prepare()
    more = dataclasses.replace(LIMITED, repeats=FixedRepeats(range(3)))
    again.run(Doubling(), [ONE, TWO], more)
    [case] = Watch(again.journal).look().cases
    assert (case.done, case.repeats) == (3, 3)


def test_a_second_case_has_its_own_place(session):
    session.run(Another(), [ONE], PLAN)
    overview = Watch(session.journal).look()
    assert [case.label for case in overview.cases] == ["doubling", "another"]
    assert overview.waiting == ("third",)
    assert overview.cases[1].gates == ()


def test_a_line_that_does_not_follow_is_refused(session, tmp_path):
    lines = session.journal.read_bytes().splitlines(keepends=True)
    path = tmp_path / "0009.jsonl"
    path.write_bytes(lines[0] + lines[2])
    with pytest.raises(StorageError, match="the case 'doubling' has not begun"):
        Watch(path).look()
