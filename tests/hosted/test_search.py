"""Searches that a host runs: the same search as here, resumed, given up, refused."""

from __future__ import annotations

import dataclasses
import json

import psutil
import pytest

from pytest_ansorbench.budget import UNLIMITED_TRIALS
from pytest_ansorbench.codec import to_json
from pytest_ansorbench.hosted import (
    HostedSearch,
    HostedStrategy,
    HostProcess,
    UnhostableCaseError,
)
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.records import LastRanking, TaskRanking
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.search.loop import Search
from pytest_ansorbench.storage.entries import LastCheckEntry
from pytest_ansorbench.strategies import LastCheck, Registry
from pytest_ansorbench.workloads import MATRIX_NORM, BatchMatmul
from tests import interpreters
from tests.measure.local.processes import gone

CASE = MATRIX_NORM[0]
RANDOM = Registry().get("random")


def opening(target):
    return lambda: {
        "op": "open",
        "target": str(target),
        "settings": dataclasses.asdict(EngineSettings()),
    }


class Ranking:
    """A host whose last check crowns a certain trial: no strategy of the package has one."""

    name, is_running = "old", True

    def __init__(self, crowned):
        self.ranking = LastRanking(0.1, (TaskRanking(0, (), crowned),))

    def request(self, message):
        if message["op"] == "begin":
            return {"search": 1}
        return {"last_check": to_json(LastCheckEntry("", 3, "random", self.ranking))}


@pytest.fixture(scope="module")
def host(target, tmp_path_factory):
    """This interpreter under another path."""
    python = interpreters.as_it_is(tmp_path_factory.mktemp("pythons"))
    process = HostProcess("old", python, opening(target))
    yield process
    process.close()


@pytest.fixture(scope="module")
def arm(host):
    return HostedStrategy("random@old", RANDOM, host)


def begun(arm, **options):
    return HostedSearch(
        CASE, CASE.tasks(), arm, **{"seed": 3, "budget_trials": 4, "round_trials": 2, **options}
    )


@pytest.fixture(scope="module")
def finished(arm):
    """A search at its end, with its entries and what it told of its trials."""
    told = []
    search = begun(arm, on_trial=lambda one: told.append((len(one.trials), one.best_gflops)))
    entries = []
    while not search.finished:
        search.step()
        entries.append(search.last_round("label"))
    search.step()  # does nothing
    search.close()
    return search, entries, told


def test_it_searches_the_design_space_that_a_search_here_does(finished, engine):
    _, entries, _ = finished
    here = Search(CASE, CASE.tasks(), RANDOM, engine, seed=3, budget_trials=4, round_trials=2)
    for entry in entries:
        here.step()
        expected = here.last_round("label")
        assert entry.sketches == expected.sketches
        assert entry.round.task == expected.round.task
        assert len(entry.trials) == len(expected.trials)
        assert entry.strategy == "random@old" and entry.label == "label"


def test_it_tells_of_every_trial_as_it_is_made(finished):
    search, _, told = finished
    assert [trials for trials, _ in told] == [1, 2, 3, 4]
    assert told[-1][1] == search.best_gflops > 0
    assert search.search_s == sum(one.search_s for one in search.rounds) > 0


def test_its_best_and_its_leads_are_those_of_its_trials(finished):
    search, _, _ = finished
    [task] = search.tasks
    valid = [trial for trial in search.trials if trial.latency_s is not None]
    fastest = min(valid, key=lambda trial: trial.latency_s)
    assert task.best.index == fastest.index and task.best is task.leads[-1]
    assert search.estimated_s == task.best.latency_s == fastest.latency_s
    latencies_s = [lead.latency_s for lead in task.leads]
    assert latencies_s == sorted(latencies_s, reverse=True)
    assert task.trials_done == 4
    assert task.best.program().toolchain == "old"


def test_leads_are_the_trials_that_were_faster_than_all_before(arm, finished):
    latencies_s = iter((3.0, 5.0, 4.0, 1.0))
    entries = [
        dataclasses.replace(
            entry,
            trials=tuple(
                dataclasses.replace(trial, status="ok", latencies_s=(next(latencies_s),))
                for trial in entry.trials
            ),
        )
        for entry in finished[1]
    ]
    [task] = begun(arm, resumed=entries).tasks
    assert [(lead.index, lead.latency_s) for lead in task.leads] == [(0, 3.0), (3, 1.0)]


def test_the_best_is_a_kernel_that_can_be_built(finished, engine):
    [task] = finished[0].tasks
    [built] = engine.build([task.best.program()], CASE.tasks()[0].check)
    assert built.status == "ok"
    engine.discard(built)


def test_it_goes_on_from_its_entries(arm, finished):
    _, entries, _ = finished
    search = begun(arm, resumed=entries[:1])
    assert len(search.trials) == 2 and not search.finished
    search.step()
    assert [one.index for one in search.rounds] == [1, 2]
    assert [trial.index for trial in search.trials] == [0, 1, 2, 3]
    search.close()


def test_what_a_last_check_crowned_is_the_best_again(finished):
    _, entries, _ = finished
    valid = [t for entry in entries for t in entry.trials if t.latency_s is not None]
    ranked = sorted(valid, key=lambda trial: trial.latency_s)
    strategy = dataclasses.replace(RANDOM, last_check=LastCheck())
    checked = HostedStrategy("x@old", strategy, Ranking(ranked[-1].index))
    search = begun(checked, resumed=entries)
    assert search.last_check_due
    search.rank()
    assert not search.last_check_due and search.last_check("label").label == "label"
    assert search.search_s > sum(one.search_s for one in search.rounds)
    [task] = search.tasks
    assert task.best.index == task.leads[-1].index == ranked[-1].index
    again = begun(checked, resumed=entries, ranking=search.ranking)
    assert again.tasks[0].best.index == ranked[-1].index and not again.last_check_due


def test_its_clock_ends_it_and_goes_on(arm):
    timed = {"budget_trials": UNLIMITED_TRIALS, "run_time_s": 0.2}
    search, entries = begun(arm, **timed), []
    while not search.finished:
        search.step()
        entries.append(search.last_round("label"))
    search.close()
    before_s = sum(entry.round.search_s for entry in entries[:-1])
    assert before_s < 0.2 <= search.search_s and search.spent == 1.0
    again = begun(arm, resumed=entries, **timed)
    again.step()  # does nothing
    assert again.finished and len(again.trials) == len(search.trials)
    again.close()
    longer = begun(arm, resumed=entries, **{**timed, "run_time_s": search.search_s + 0.01})
    assert not longer.finished
    longer.step()
    assert len(longer.rounds) == len(entries) + 1
    longer.close()


def test_rounds_of_another_design_space_are_refused(arm, finished):
    _, entries, _ = finished
    other = dataclasses.replace(entries[0], sketches=("abc",))
    with pytest.raises(ResumeError, match="toolchain old: its design space is another one"):
        begun(arm, resumed=[other])


def test_a_host_that_is_killed_is_told_of_and_replaced(arm, host):
    search = begun(arm)
    pid = host._running.pid
    started = [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    psutil.Process(pid).kill()
    with pytest.raises(EngineError, match=r"toolchain old: its search process is gone.*SIGKILL"):
        search.step()
    search.close()  # nobody is there
    gone(started)
    again = begun(arm)
    again.step()
    assert len(again.trials) == 2
    again.close()


def test_ctrl_c_ends_the_host_in_the_middle_of_a_round(arm, host):
    def interrupt(search):
        raise KeyboardInterrupt

    search = begun(arm, on_trial=interrupt)
    with pytest.raises(KeyboardInterrupt):
        search.step()
    assert not host.is_running
    search.close()


@pytest.mark.parametrize(
    ("python", "message"),
    [
        (lambda folder: "/nowhere/python", "cannot start the interpreter '/nowhere/python'"),
        (interpreters.without_plugin, "install pytest-ansorbench there"),
        (interpreters.with_other_protocol, "speaks protocol 99 and not"),
    ],
)
def test_an_interpreter_that_will_not_do_is_named_with_the_cure(tmp_path, target, python, message):
    host = HostProcess("old", python(tmp_path), opening(target))
    with pytest.raises(EngineError, match="toolchain old: ") as caught:
        begun(HostedStrategy("random@old", RANDOM, host))
    assert message in str(caught.value) and not host.is_running


def test_only_cases_that_the_host_has_can_be_searched_there(arm):
    arm.check(CASE)
    with pytest.raises(UnhostableCaseError, match="expected an operator that ships"):
        arm.check(BatchMatmul(batch=1, m=3, n=3, k=3))


def test_what_is_asked_is_json(finished):
    _, entries, _ = finished
    assert json.dumps([to_json(entry) for entry in entries])
