"""Searches that a host runs: the same search as here, resumed, given up, refused."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys

import numpy as np
import psutil
import pytest

from pytest_ansorbench.bench.prepared import prepare
from pytest_ansorbench.budget import UNLIMITED_TRIALS
from pytest_ansorbench.codec import to_json
from pytest_ansorbench.hosted import (
    HostedSearch,
    HostedStrategy,
    HostProcess,
    UnhostableError,
    process,
)
from pytest_ansorbench.hosted.agreement import agreed, digest
from pytest_ansorbench.measure.engine import ElsewhereError, EngineError
from pytest_ansorbench.measure.local.interpreter import Interpreter
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.records import LastRanking, Remeasurement, TaskRanking
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.search.loop import Search
from pytest_ansorbench.storage.entries import LastCheckEntry
from pytest_ansorbench.strategies import (
    BadModel,
    BuildLimit,
    FixedMeasurement,
    LastCheck,
    Registry,
    StrategyError,
)
from pytest_ansorbench.workloads import MATRIX_NORM, Mlp, Operator, Softmax
from tests import interpreters
from tests.measure.local.processes import gone
from tests.spaces import Recomputing

CASE = MATRIX_NORM[0]
RANDOM = Registry().get("random")


def opening(target):
    return lambda: {"target": str(target), "settings": dataclasses.asdict(EngineSettings())}


class Ranking:
    """A host whose last check crowns a certain trial: no strategy of the package has one."""

    name, is_running, root = "old", True, interpreters.ROOT

    def __init__(self, host, crowned):
        agreed(host, CASE, CASE.tasks())
        self.cases = dict(host.cases)
        compared = (Remeasurement(crowned, "ok", (1.0,), sets=(0,), places=(0,)),)
        self.ranking = LastRanking(0.1, (TaskRanking(0, compared, crowned),))

    def request(self, message):
        if message["op"] == "begin":
            return {"search": 1}
        return {"last_check": to_json(LastCheckEntry("", 3, "random", self.ranking))}


@pytest.fixture(scope="module")
def host(target, tmp_path_factory):
    """This interpreter under another path."""
    python = interpreters.as_it_is(tmp_path_factory.mktemp("pythons"))
    process = HostProcess("old", python, interpreters.ROOT, opening(target))
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


def test_what_a_last_check_crowned_is_the_best_again(finished, host):
    _, entries, _ = finished
    valid = [t for entry in entries for t in entry.trials if t.latency_s is not None]
    ranked = sorted(valid, key=lambda trial: trial.latency_s)
    strategy = dataclasses.replace(RANDOM, last_check=LastCheck())
    checked = HostedStrategy("x@old", strategy, Ranking(host, ranked[-1].index))
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


def test_a_host_that_is_killed_is_told_of_and_replaced(target, tmp_path, monkeypatch):
    """One that is started for real, and starts its fork server so."""
    host = HostProcess("old", interpreters.as_it_is(tmp_path), interpreters.ROOT, opening(target))
    arm = HostedStrategy("random@old", RANDOM, host)
    with monkeypatch.context() as patch:
        patch.setattr(process, "Interpreter", Interpreter)
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
    host.close()


KILLS_ITS_PARENT = """
import os, signal, time
os.kill(os.getppid(), signal.SIGKILL)
time.sleep(60)
"""
HAS_IT_IMPORTED = """
import sys
from pytest_ansorbench.measure.local.interpreter import Interpreter
host = Interpreter(None, "pytest_ansorbench.hosted.main")
print(host.pid, flush=True)
case = {"named": {"module": "deadly", "name": "CASE", "file": sys.argv[1]}}
host.channel.send({"op": "case", "case": case, "name": ""})
while True:
    host.channel.receive()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_a_host_ends_with_its_parent_whatever_it_is_doing(tmp_path):
    deadly = tmp_path / "deadly.py"
    deadly.write_text(KILLS_ITS_PARENT)
    command = [sys.executable, "-c", HAS_IT_IMPORTED, str(deadly)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        host = int(parent.stdout.readline())
        assert parent.wait(60.0) == -signal.SIGKILL
    gone([host])


@pytest.mark.parametrize(
    ("python", "message"),
    interpreters.UNFIT,
)
def test_an_interpreter_that_will_not_do_is_named_with_the_cure(tmp_path, target, python, message):
    host = HostProcess("old", python(tmp_path), interpreters.ROOT, opening(target))
    with pytest.raises(EngineError, match="toolchain old: ") as caught:
        begun(HostedStrategy("random@old", RANDOM, host))
    assert message in str(caught.value) and not host.is_running


def test_a_host_that_has_no_engine_is_ended(tmp_path):
    def hopeless():
        return {**opening("{}")(), "target": '{"kind": "nothing"}'}

    host = HostProcess("old", interpreters.as_it_is(tmp_path), interpreters.ROOT, hopeless)
    for _ in range(2):
        with pytest.raises(EngineError, match=r"toolchain old: .*nothing"):
            begun(HostedStrategy("random@old", RANDOM, host))
        assert not host.is_running


def test_arrays_of_any_type_are_told_apart():
    one, other = (np.full(4, value, "bfloat16") for value in (1.0, 2.0))
    assert digest(one) == digest(one.copy()) != digest(other)
    assert digest(one)[:2] == ["bfloat16", [4]]


@dataclasses.dataclass(frozen=True)
class Twice(Operator):
    """A user's case."""

    n: int
    id = property(lambda self: f"twice-{self.n}")
    flops = property(lambda self: self.n)
    reduction_length = 1
    input_shapes = property(lambda self: ((self.n,),))

    def expression(self, x):
        from tvm import te

        return te.compute((self.n,), lambda i: x[i] * 2.0)

    def reference(self, x):
        return x * 2.0


@dataclasses.dataclass(frozen=True)
class Moody(Twice):
    """A case that is another one in each process."""

    id = property(lambda self: f"moody-{os.getpid()}")


@dataclasses.dataclass(frozen=True)
class Faulty(Twice):
    """A case whose tasks only this process can make."""

    id = "faulty"

    def expression(self, x):
        # A worker of pytest-xdist has no spec.
        main = getattr(sys.modules["__main__"].__spec__, "name", "")
        assert main != "tests.forked"
        return super().expression(x)


def test_a_case_of_a_user_and_a_strategy_of_a_user_are_searched_there(host):
    case = Twice(32)
    mine = dataclasses.replace(RANDOM, name="mine", build_limit=BuildLimit(times=9.0))
    arm = HostedStrategy("mine@old", mine, host)
    arm.check()
    arm.check(case)
    search = HostedSearch(case, case.tasks(), arm, seed=3, budget_trials=2, round_trials=2)
    search.step()
    search.close()
    assert [trial.status for trial in search.trials] == ["ok", "ok"]


def test_a_design_space_of_a_user_is_made_there(host, engine):
    case, mine = Softmax(m=8, n=8), dataclasses.replace(RANDOM, name="mine", space=Recomputing())
    here = Search(case, case.tasks(), mine, engine, **ONE_ROUND)
    stock = Search(case, case.tasks(), RANDOM, engine, **ONE_ROUND)
    there = HostedSearch(case, case.tasks(), HostedStrategy("mine@old", mine, host), **ONE_ROUND)
    there.step()
    there.close()
    [sketches, of_stock] = (one.tasks[0].sketches.fingerprints for one in (here, stock))
    assert there.last_round("label").sketches == sketches
    assert {*of_stock} < {*sketches}


@dataclasses.dataclass(frozen=True)
class Failing:
    """A proposer of a user that proposes nothing."""

    how: str

    def start(self, setup):
        raise {"told": StrategyError, "model": BadModel, "not": KeyError}[self.how](self.how)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("told", "^toolchain old: told$"),
        ("model", "^toolchain old: model$"),
        ("not", r"(?s)^toolchain old: Traceback.*KeyError: 'not'"),
    ],
)
def test_a_strategy_that_fails_there_is_no_fault_of_the_engine(host, how, message):
    failing = dataclasses.replace(RANDOM, name="failing", proposer=Failing(how))
    with pytest.raises(ElsewhereError, match=message):
        begun(HostedStrategy("failing@old", failing, host)).step()


def test_what_the_host_cannot_have_is_said_before_anything_is_asked(host):
    @dataclasses.dataclass(frozen=True)
    class Local(Twice):
        pass

    with pytest.raises(UnhostableError, match=r"'x@old' for the case twice-3: .*Local of"):
        HostedStrategy("x@old", RANDOM, host).check(Local(3))
    there = dataclasses.replace(RANDOM, measurement=local_measurement())
    with pytest.raises(UnhostableError, match=r"'x@old': .* is defined inside a"):
        HostedStrategy("x@old", there, host).check()


def local_measurement():
    @dataclasses.dataclass(frozen=True)
    class Local(FixedMeasurement):
        pass

    return Local()


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (Moody(3), "its id is 'moody-[0-9]+' there; let the id depend on fields alone"),
        (Faulty(3), "its tasks cannot be made there: AssertionError"),
    ],
)
def test_a_case_that_is_another_one_there_is_refused(host, case, message):
    with pytest.raises(UnhostableError, match=f"bad strategy 'random@old' for .*{message}"):
        HostedSearch(case, case.tasks(), HostedStrategy("random@old", RANDOM, host), **ONE_ROUND)


ONE_ROUND = {"seed": 3, "budget_trials": 2, "round_trials": 2}


def heavier(task):
    return dataclasses.replace(task, weight=7)


def with_another_output(task):
    check = dataclasses.replace(task.check, expected=task.check.expected + 1.0)
    return dataclasses.replace(task, check=check)


@pytest.mark.parametrize(
    ("spoiled", "message"),
    [
        (lambda tasks: tasks * 2, "its number of tasks is 1 there and 2 here; leave one of the"),
        (lambda tasks: [*map(heavier, tasks)], r"is 1 x \(float32\[32\], .* there and 7 x"),
        (lambda tasks: Twice(16).tasks(), r"x \(float32\[32\], float32\[32\]\) there and 1 x"),
        (lambda tasks: [*map(with_another_output, tasks)], "computes something else there: 32 of"),
    ],
)
def test_tasks_that_are_others_there_are_refused(host, spoiled, message):
    case, arm = Twice(32), HostedStrategy("random@old", RANDOM, host)
    host.cases.clear()
    with pytest.raises(UnhostableError, match=message):
        HostedSearch(case, spoiled(case.tasks()), arm, **ONE_ROUND)


@pytest.fixture(scope="module")
def network(engine):
    case = Mlp(features=8, hidden=(4, 4), classes=2)
    return prepare(case, case.tasks(), engine, lambda text: None)


def test_a_network_is_searched_there_task_by_task_and_made_whole_again(host, arm, network, engine):
    tasks, check = network.tasks, network.network.check
    assert len(tasks) > 2
    search = HostedSearch(
        network.case,
        tasks,
        arm,
        seed=3,
        budget_trials=len(tasks),
        round_trials=1,
        scheduler="round-robin",
    )
    seen = []
    search._on_trial = lambda one: seen.append((one.tasks.index(one.current), one.estimated_s))
    while not search.finished:
        search.step()
    search.close()
    assert [task for task, _ in seen] == [*range(len(tasks))]
    assert [estimated_s is None for _, estimated_s in seen] == [True] * (len(tasks) - 1) + [False]
    assert search.estimated_s == sum(
        task.weight * one.best.latency_s for task, one in zip(tasks, search.tasks, strict=True)
    )
    assert [one.trials_done for one in search.tasks] == [1] * len(tasks)
    around = search.tasks[0].leads[0].program(tasks[0].surroundings)
    assert around.surroundings == tasks[0].surroundings is not None
    one, untuned = engine.measure_side_by_side(
        [search.network(), Program.network(network.network.mod)],
        check,
        SideBySide(turns=Span(2, 2), sets=Span(1, 1)),
    )
    assert one.status == untuned.status == "ok"
    whole = json.loads(search.network().serialized())
    assert len(whole["kernels"]) == len(tasks)


def test_a_network_with_other_weights_there_is_refused(host, arm, network, monkeypatch):
    *inputs, last = network.case.arguments()
    monkeypatch.setattr(Mlp, "arguments", lambda case: (*inputs, last * 2))
    host.cases.clear()
    with pytest.raises(UnhostableError, match="its inputs or weights are others there"):
        HostedSearch(network.case, network.tasks, arm, **ONE_ROUND)


def test_the_host_has_one_case_at_a_time_and_makes_the_others_anew(host):
    arm = HostedStrategy("random@old", RANDOM, host)
    for case in (Twice(32), Faulty(3), Twice(32)):
        if isinstance(case, Faulty):
            with pytest.raises(UnhostableError):
                HostedSearch(case, case.tasks(), arm, **ONE_ROUND)
            continue
        HostedSearch(case, case.tasks(), arm, **ONE_ROUND).close()
        assert len(host.cases) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, BrokenPipeError])
def test_what_ends_a_round_in_the_middle_ends_the_host(arm, host, error):
    def interrupt(search):
        raise error

    search = begun(arm, on_trial=interrupt)
    with pytest.raises(error):
        search.step()
    assert not host.is_running
    search.close()
