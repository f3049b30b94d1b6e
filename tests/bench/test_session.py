"""Sessions: engine, journal, refusals, interrupts, and going on."""

from __future__ import annotations

import dataclasses
import math
import re
import signal
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from pytest_ansorbench.bench import RepeatsUntilSettled, UnsupportedCaseError, Watch, experiment
from pytest_ansorbench.budget import UNLIMITED_TRIALS, Budget, Trials
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.records import Estimate, Gate
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.stats.looks import Looks
from pytest_ansorbench.storage import read_journal
from pytest_ansorbench.storage.entries import CaseEntry, RepeatEntry, RoundEntry
from pytest_ansorbench.strategies import Registry
from pytest_ansorbench.workloads import BadProgram, BatchMatmul, Mlp, Task, from_te
from pytest_ansorbench.workloads.definition import definition_of, made
from tests.bench.conftest import ONE, PLAN, RUNS, TWO, Another, repeats
from tests.bench.recorded import record
from tests.fast_engine import FastEngine
from tests.faults import Doubling
from tests.paced import PacedEngine
from tests.workloads.odd_programs import scalar_argument

CASE = Doubling()
MATMUL = BatchMatmul(batch=1, m=16, n=16, k=16)
RANDOM = Registry().get("random")
ARMS = [dataclasses.replace(RANDOM, name=name) for name in ("one", "two")]
TIMED = Budget(Trials(4), 2, run_time_s=60.0)


class Recording:
    """Progress that remembers."""

    def __init__(self):
        self.standings, self.notes, self.cleared = [], [], 0

    def note(self, what):
        self.notes.append(what)

    def update(self, standing):
        self.standings.append(standing)

    def clear(self):
        self.cleared += 1


def test_a_case_is_run_and_judged(make_session):
    session = make_session()
    result = session.run(CASE, [ONE, TWO], PLAN)
    assert result.strategies == ("one", "two")
    assert [(run.strategy, run.seed) for run in result.runs] == [
        *(("one", 0), ("two", 0), ("one", 1), ("two", 1)),
    ]
    assert all(len(run.trials) == 4 for run in result.runs)
    assert [verdict.comparison.challenger.strategy for verdict in result.verdicts] == ["two"]
    assert session.results == (result,)


def test_the_result_says_what_makes_each_case_anew(make_session):
    session = make_session()
    shipped = session.run(MATMUL, ARMS[:1], PLAN).definition
    assert shipped == definition_of(MATMUL) and made(shipped) == MATMUL
    own = session.run(CASE, [ONE], PLAN).definition
    assert own["made"]["name"] == "Doubling" and own["made"]["module"] == "tests.faults"
    begun = read_journal(session.journal).of(CaseEntry)
    assert [entry.definition for entry in begun] == [shipped, own]


def test_a_case_that_no_file_can_define_is_run_all_the_same(make_session):
    nameless = from_te("nameless", lambda: None)
    object.__setattr__(nameless, "tasks", CASE.tasks)
    object.__setattr__(nameless, "flops", CASE.flops)
    assert make_session().run(nameless, [ONE], PLAN).definition is None


def test_the_result_names_machine_commit_and_settings(make_session):
    session = make_session()
    result = session.run(CASE, [ONE], PLAN)
    whole = session.result()
    assert {run.machine for run in result.runs} == set(whole.machines)
    assert [machine["cpu"] for machine in whole.machines.values()] == ["made up"]
    assert whole.settings == {"trials": 4}
    assert set(whole.commit) >= {"id", "dirty"}
    assert whole.cases == (result,)


def test_nothing_is_started_before_it_is_needed(make_session, target):
    engine = FastEngine(target)
    session = make_session(engine)
    session.prepare()
    assert not engine.started
    assert session.journal is None
    session.run(CASE, [ONE], PLAN)
    assert engine.started
    session.close()
    assert not engine.started


def test_the_journal_has_every_step(make_session):
    session = make_session()
    session.run(CASE, [ONE, TWO], repeats(1))
    session.finish()
    session.conclude()
    past = read_journal(session.journal)
    kinds = [type(entry).__name__ for entry in past.entries]
    assert kinds == [
        *("CaseEntry", "RepeatEntry", *["RoundEntry"] * 4),
        *("SetEntry", "SetEntry", "LeadsEntry", "FinalEntry"),
        "EndEntry",
    ]
    assert past.finished


def timed(make_session, monkeypatch, target, **options):
    """A session whose runs end by their clock, and its plan: 6 trials of half a second."""
    engine = PacedEngine(target, 0.5, monkeypatch)
    runs = dataclasses.replace(RUNS, budget=Budget(Trials(UNLIMITED_TRIALS), 4, run_time_s=3.0))
    return make_session(engine, **options), dataclasses.replace(PLAN, runs=runs)


def test_runs_that_end_by_their_clock_are_counted_in_seconds(make_session, monkeypatch, target):
    session, plan = timed(make_session, monkeypatch, target)
    progress = Recording()
    result = session.run(MATMUL, ARMS, plan, progress)
    assert [(len(run.trials), run.search_s) for run in result.runs] == [(6, 3.0)] * 4
    assert {(run.run_time_s, run.stopped) for run in result.runs} == {(3.0, "")}
    last = progress.standings[-1]
    assert (last.runs_done, last.runs_total, last.remaining_s) == (4.0, 4, 0.0)
    assert [one.run.spent for one in progress.standings[:4]] == [1 / 6, 2 / 6, 3 / 6, 4 / 6]
    [case] = Watch(session.journal).look().cases
    assert [(run.spent, run.trials) for run in case.runs] == [(1.0, 6)] * 2


@pytest.mark.parametrize("trial", [2, 5, 11, 14, 23])
def test_interrupted_anywhere_its_clock_goes_on(make_session, monkeypatch, target, trial):
    first, plan = timed(make_session, monkeypatch, target)
    with pytest.raises(KeyboardInterrupt):
        first.run(MATMUL, ARMS, plan, Interrupted(trial))
    first.close()
    past = read_journal(first.journal)
    [watched] = Watch(first.journal).look().cases
    done_s = sum(entry.round.search_s for entry in past.of(RoundEntry))
    assert watched.left_s == pytest.approx(12.0 - done_s if done_s else math.inf)
    session, plan = timed(make_session, monkeypatch, target, past=past)
    progress = Recording()
    result = session.run(MATMUL, ARMS, plan, progress)
    assert [(len(run.trials), run.search_s) for run in result.runs] == [(6, 3.0)] * 4
    last = progress.standings[-1]
    assert last.runs_done == pytest.approx(last.runs_total)


def test_two_tests_of_one_case_are_two_cases(make_session):
    session = make_session()
    for _ in range(2):
        session.run(CASE, [ONE], repeats(1))
    labels = [one.label for one in read_journal(session.journal).of(CaseEntry)]
    assert labels == ["doubling", "doubling#2"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Numbered(Doubling):
    """A case with the id that the journal gives a second one."""

    id = "doubling#2"


def test_an_id_that_looks_like_a_second_case_is_told_from_one(make_session):
    session = make_session()
    for case in (CASE, Numbered(), CASE):
        session.run(case, [ONE], repeats(1))
    past = read_journal(session.journal)
    begun = [(e.label, e.case) for e in past.of(CaseEntry)]
    assert begun == [
        ("doubling", "doubling"),
        ("doubling#2", "doubling#2"),
        ("doubling#3", "doubling"),
    ]


def test_two_tests_of_a_case_go_on_in_any_order(make_session):
    arms = {"first": [ONE, TWO], "second": [ONE]}
    first = make_session()
    for test in arms:
        first.run(CASE, arms[test], repeats(1), test=test)
    first.close()
    session = make_session(past=read_journal(first.journal))
    again = [session.run(CASE, arms[test], repeats(1), test=test) for test in [*arms][::-1]]
    assert again == [*first.results][::-1]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Changed(Doubling):
    """Another version of the case, under the same id."""

    version = "2"


def test_two_programs_under_one_id_are_refused(make_session):
    session = make_session()
    session.run(CASE, [ONE], repeats(1))
    with pytest.raises(UnsupportedCaseError, match="bad case 'doubling': another test has another"):
        session.run(Changed(), [ONE], repeats(1))
    assert len(session.results) == 1
    assert len(read_journal(session.journal).of(CaseEntry)) == 1


def test_progress_counts_all_arms_and_repeats(make_session):
    progress = Recording()
    make_session().run(CASE, [ONE, TWO], PLAN, progress)
    assert [4 * standing.runs_done for standing in progress.standings] == list(range(1, 17))
    assert {standing.runs_total for standing in progress.standings} == {4}
    assert [standing.repeat for standing in progress.standings] == [1] * 8 + [2] * 8
    assert progress.notes == ["doubling  measuring what was found, in turn"] * 2
    assert progress.cleared >= 1


def test_progress_counts_a_repeat_beyond_the_planned_ones(make_session):
    estimate = Estimate(1.0, 0.5, 2.0)
    gate = Gate("throughput_ratio", 1.5, "undecided", "chance", estimate, 1, 0.01, open=True)
    looks = Looks(1, 2, if_suspect=True)
    wanted = RepeatsUntilSettled(0, looks, further_gates=lambda result: [gate])
    progress = Recording()
    make_session().run(CASE, [ONE], dataclasses.replace(PLAN, repeats=wanted), progress)
    assert [standing.runs_total for standing in progress.standings] == [1] * 4 + [2] * 4


class Interrupted(Recording):
    """Progress that is interrupted at a trial."""

    def __init__(self, at):
        super().__init__()
        self.at = at

    def update(self, standing):
        super().update(standing)
        if len(self.standings) == self.at:
            raise KeyboardInterrupt


def interrupted_at(session, trial, plan=PLAN):
    with pytest.raises(KeyboardInterrupt):
        session.run(CASE, [ONE, TWO], plan, Interrupted(trial))
    session.close()
    return read_journal(session.journal)


@pytest.fixture(scope="module")
def whole(target, tmp_path_factory):
    """The result of a session that nothing disturbed."""
    return record(target, tmp_path_factory.mktemp("whole"), 2)[0]


@pytest.mark.parametrize("trial", [1, 8, 9, 16])
def test_interrupted_anywhere_it_goes_on_to_the_same_end(make_session, whole, trial):
    past = interrupted_at(make_session(), trial)
    session = make_session(past=past)
    progress = Recording()
    result = session.run(CASE, [ONE, TWO], PLAN, progress)
    assert [run.trials[-1].latencies_s for run in result.runs] == [
        run.trials[-1].latencies_s for run in whole.runs
    ]
    assert [run.final for run in result.runs] == [run.final for run in whole.runs]
    # What had been measured is on record once, and nothing of it was measured again.
    entries = read_journal(session.journal).of(RoundEntry)
    rounds = [(e.seed, e.strategy, e.round.index) for e in entries]
    assert len(rounds) == len(set(rounds)) == 8
    behind = sum(len(e.trials) for e in past.of(RoundEntry))
    assert len(progress.standings) == 16 - behind


def test_killed_after_any_line_it_goes_on_to_the_same_end(make_session):
    first = make_session()
    whole = first.run(CASE, [ONE, TWO], repeats(1))
    first.close()
    past = read_journal(first.journal)
    lines = first.journal.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + len(past.entries) == 11
    for kept in range(1, len(lines) + 1):
        path = first.journal.with_name(f"{1000 + kept}.jsonl")
        path.write_bytes(b"".join(lines[:kept]))
        session = make_session(past=read_journal(path))
        result = session.run(CASE, [ONE, TWO], repeats(1))
        session.close()
        for run, at_once in zip(result.runs, whole.runs, strict=True):
            assert (run.final, run.leads) == (at_once.final, at_once.leads)
            assert [trial.latencies_s for trial in run.trials] == [
                trial.latencies_s for trial in at_once.trials
            ]
        # Every piece is on record once, in the same order: none was measured again.
        assert path.read_bytes().startswith(b"".join(lines[:kept]))
        entries = read_journal(path).entries
        assert [type(entry) for entry in entries] == [type(entry) for entry in past.entries]


class Continued(Recording):
    """Progress in which the session goes on after a stop, at some trials."""

    def __init__(self, *at):
        super().__init__()
        self.at = at

    def update(self, standing):
        super().update(standing)
        if len(self.standings) in self.at:
            signal.raise_signal(signal.SIGCONT)


def test_a_round_in_which_the_session_was_stopped_is_run_again(make_session, whole):
    usual = signal.getsignal(signal.SIGCONT)
    session, progress = make_session(), Continued(1, 9)
    result = session.run(CASE, [ONE, TWO], PLAN, progress)
    assert len(progress.standings) == 16 + 2 * 2
    assert progress.notes.count("doubling  was stopped: its round is run again") == 2
    assert progress.standings[-1].runs_done == progress.standings[-1].runs_total == 4
    for run, undisturbed in zip(result.runs, whole.runs, strict=True):
        assert (run.final, run.leads) == (undisturbed.final, undisturbed.leads)
        assert [trial.index for trial in run.trials] == [*range(4)]
    session.close()
    assert signal.getsignal(signal.SIGCONT) == usual


def test_stopped_again_and_again_it_goes_on_all_the_same(make_session):
    session, progress = make_session(), Continued(*range(1, 1000))
    result = session.run(CASE, [ONE, TWO], PLAN, progress)
    assert len(progress.standings) == 4 * 16
    assert all(len(run.trials) == 4 for run in result.runs)


def test_an_interrupted_network_goes_on(make_session):
    network = Mlp(features=16, hidden=(8, 8), classes=4)
    random = Registry().get("random")
    runs = dataclasses.replace(RUNS, budget=Budget(Trials(2, per_task=True), 1))
    plan = dataclasses.replace(repeats(1), runs=runs)
    first = make_session()
    progress = Interrupted(6)
    with pytest.raises(KeyboardInterrupt):
        first.run(network, [random], plan, progress)
    tasks = len(network.tasks())
    assert progress.notes[0].endswith(f"running 1/{tasks} untuned: {network.tasks()[0].name}")
    first.close()
    past = read_journal(first.journal)
    [run] = make_session(past=past).run(network, [random], plan).runs
    assert len(run.trials) == 2 * tasks
    behind = [entry.round for entry in past.of(RoundEntry)]
    assert list(run.rounds[: len(behind)]) == behind
    assert run.final.status == "ok"


def test_an_interrupt_keeps_the_complete_repeats(make_session):
    session = make_session()
    interrupted_at(session, 9)
    [result] = session.results
    assert {run.seed for run in result.runs} == {0}


def test_an_interrupt_before_a_repeat_is_complete_leaves_no_result(make_session):
    session = make_session()
    interrupted_at(session, 3)
    assert session.results == ()


def test_a_complete_case_is_judged_without_starting_anything(make_session, target):
    first = make_session()
    whole = first.run(CASE, [ONE, TWO], PLAN)
    first.close()
    engine = FastEngine(target)
    again = make_session(engine, past=read_journal(first.journal))
    assert again.run(CASE, [ONE, TWO], PLAN) == whole
    assert not engine.started


def test_repeats_are_added_to_a_finished_case(make_session):
    first = make_session()
    first.run(CASE, [ONE, TWO], repeats(1))
    first.close()
    session = make_session(past=read_journal(first.journal))
    result = session.run(CASE, [ONE, TWO], repeats(3))
    assert [run.seed for run in result.runs] == [0, 0, 1, 1, 2, 2]
    rounds = read_journal(session.journal).of(RoundEntry)
    leads = [one.strategy for one in rounds if one.round.index == 1]
    assert leads == ["one", "two", "two", "one", "one", "two"]


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"strategies": [ONE]}, "strategies"),
        ({"plan": dataclasses.replace(RUNS, final=SideBySide.of_samples(9))}, "final_precision"),
        ({"plan": dataclasses.replace(RUNS, budget=Budget(Trials(6), 2))}, "trials"),
        ({"plan": dataclasses.replace(RUNS, budget=TIMED)}, "run_time_s None so far.*has 60.0"),
        ({"conditions": {"check": "all"}}, "check"),
    ],
)
def test_what_was_measured_otherwise_is_not_gone_on_with(make_session, target, changes, what):
    past = interrupted_at(make_session(), 3)
    conditions = {"conditions": changes["conditions"]} if "conditions" in changes else {}
    plan = dataclasses.replace(PLAN, runs=changes.get("plan", RUNS))
    engine = FastEngine(target)
    session = make_session(engine, past=past, **conditions)
    with pytest.raises(ResumeError, match=what):
        session.run(CASE, changes.get("strategies", [ONE, TWO]), plan)
    assert not engine.started


def test_another_machine_cannot_go_on(make_session, target):
    past = interrupted_at(make_session(), 3)
    elsewhere = make_session(FastEngine(target, cpu="another"), past=past)
    with pytest.raises(ResumeError, match="cpu: made up is now another"):
        elsewhere.prepare()


def test_another_commit_goes_on_and_is_told(make_session):
    past = interrupted_at(make_session(), 3)
    session = make_session(past=past)
    session.prepare()
    assert not session.notes
    begun = {**past.session.commit, "id": "0" * 40, "dirty": True}
    earlier = dataclasses.replace(past, session=dataclasses.replace(past.session, commit=begun))
    session = make_session(past=earlier)
    session.prepare()
    [note] = session.notes
    assert note.startswith("begun at commit 000000000000 and changes, which the result tells, and")


@pytest.mark.parametrize(
    ("xgboost", "tvm", "what"),
    [
        ("2.1", "0.26", ""),
        ("3.0", "0.26", "with other packages (xgboost 2.1 is now 3.0); its runs cannot"),
        ("2.1", "0.27", "with other packages (old's apache-tvm 0.26 is now 0.27)"),
    ],
)
def test_other_packages_cannot_go_on(make_session, target, xgboost, tvm, what):
    def engine(xgboost, tvm):
        made = FastEngine(target)
        old = {"python": "3.12.1", "packages": {"apache-tvm": tvm}}
        made.machine = {
            **made.machine,
            "packages": {"xgboost": xgboost},
            "toolchains": {"old": old},
        }
        return made

    past = interrupted_at(make_session(engine("2.1", "0.26")), 3)
    session = make_session(engine(xgboost, tvm), past=past)
    with pytest.raises(ResumeError, match=re.escape(what)) if what else nullcontext():
        session.prepare()


def test_a_broken_engine_costs_one_case(make_session, target):
    engine = FastEngine(target, fails_at=2)
    session = make_session(engine)
    with pytest.raises(EngineError, match="planted"):
        session.run(CASE, [ONE], PLAN)
    assert not engine.started
    result = session.run(Another(), [ONE], PLAN)
    assert len(result.runs) == 2
    assert session.results == (result,)


def test_a_test_that_is_run_again_goes_on_after_its_last_round(make_session, target):
    session = make_session(FastEngine(target, fails_at=3))
    with pytest.raises(EngineError, match="planted"):
        session.run(CASE, [ONE, TWO], repeats(1), test="one")
    again = session.run(CASE, [ONE, TWO], repeats(1), test="one")
    other = session.run(CASE, [ONE], repeats(1), test="other")
    assert session.results == (again, other)
    past = read_journal(session.journal)
    labels = [entry.label for entry in past.of(CaseEntry)]
    assert labels == ["doubling", "doubling#2"]
    rounds = [(e.label, e.strategy, e.round.index) for e in past.of(RoundEntry)]
    assert len(rounds) == len(set(rounds)) == 4 + 2


def test_the_machine_of_a_case_is_known_while_it_is_decided_on_repeats(make_session):
    session, known = make_session(), []

    def gates(result):
        known.append(set(result.machines) <= set(session.machines))
        return ()

    looking = RepeatsUntilSettled(0, Looks(1, 2), further_gates=gates)
    session.run(CASE, [ONE], dataclasses.replace(PLAN, repeats=looking))
    assert known and all(known)


UNTIL_SETTLED = dataclasses.replace(
    PLAN, repeats=RepeatsUntilSettled(0, Looks(1, 2), of_suite=True)
)


def begun(session):
    return [(one.label, one.seed) for one in read_journal(session.journal).of(RepeatEntry)]


def test_cases_get_more_repeats_up_to_those_that_they_may_have(make_session):
    session = make_session()
    session.run(CASE, [ONE], UNTIL_SETTLED)
    assert session.more(2, math.inf)
    assert not session.more(3, math.inf)
    assert [run.seed for run in session.results[0].runs] == [0, 1]
    assert begun(session) == [("doubling", 0), ("doubling", 1)]


def test_none_gets_more_repeats_where_a_case_may_not_have_them(make_session):
    """All are judged at as many as the case that has fewest."""
    session = make_session()
    session.run(Another(), [ONE], UNTIL_SETTLED)
    session.run(CASE, [ONE], repeats(1))
    assert not session.more(2, math.inf)
    assert begun(session) == [("another", 0), ("doubling", 0)]


def test_a_deadline_holds_for_further_repeats_too(make_session, monkeypatch):
    now_s = [0.0]
    monkeypatch.setattr(experiment, "time", SimpleNamespace(monotonic=lambda: now_s[0]))

    class Slow(Recording):
        def update(self, standing):
            now_s[0] += 10.0

    session = make_session()
    session.run(CASE, [ONE], UNTIL_SETTLED, Slow())
    assert now_s == [40.0]
    assert not session.more(2, now_s[0] + 30.0)
    assert begun(session) == [("doubling", 0)]
    assert session.more(2, now_s[0] + 50.0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pair(Doubling):
    """Two tasks, but no program to judge them by."""

    id = "pair"

    def tasks(self):
        return super().tasks() * 2


def test_several_tasks_without_a_program_are_refused_before_anything_starts(make_session, target):
    engine = FastEngine(target)
    with pytest.raises(UnsupportedCaseError, match=r"it has 2 tasks, but no program\(\)"):
        make_session(engine).run(Pair(), [ONE], PLAN)
    assert not engine.started


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scalar(Doubling):
    """Doubles by a number that it is given."""

    id = "scalar"

    def tasks(self):
        from tvm import IRModule

        return (Task(name=self.id, mod=IRModule({"main": scalar_argument()}), flops=8),)


def test_a_program_that_cannot_be_tuned_is_refused_before_anything_starts(make_session, target):
    engine = FastEngine(target)
    with pytest.raises(BadProgram, match="argument 1 of 'scalar', 'a', is a scalar"):
        make_session(engine).run(Scalar(), [ONE], PLAN)
    assert not engine.started
