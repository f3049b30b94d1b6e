"""Sessions as people have them: beside other plugins, with late fixtures and strict warnings."""

from __future__ import annotations

import gc
import xml.etree.ElementTree as ET

import pytest

from pytest_ansorbench.plugin.refusals import LATE
from pytest_ansorbench.storage import read_journal
from pytest_ansorbench.storage.entries import RoundEntry
from tests.forked_servers import living_servers
from tests.plugin.conftest import measuring_fast

REPLAY = "--ansor-replay=saved.json"
HOLDS = "--ansor-max-early-search-ratio=0.9"
BROKEN = "--ansor-max-early-search-ratio=0.1"
BROKEN_SUITE = "--ansor-max-suite-search-ratio=0.2"
SECOND_CHANCE = "run again, but judged once: a gate gets no second chance"


def real(plugin: str) -> tuple[str, str]:
    """Options that let a plugin of others into a session."""
    pytest.importorskip(f"pytest_{plugin}")
    return "-p", plugin


@pytest.fixture
def reruns():
    # With pytest-xdist it would open a socket that no session closes.
    return (*real("rerunfailures"), "-p", "no:xdist", "--reruns=2")


def once_each(junit, name):
    """In how many test cases of the XML a property stands, which is never there twice."""
    properties = [list(case.iter("property")) for case in ET.parse(junit).iter("testcase")]
    counts = [[one.get("name") for one in of_case].count(name) for of_case in properties]
    assert max(counts) == 1
    return sum(counts)


def test_a_broken_gate_gets_no_second_chance(saved, reruns):
    files = ("--ansor-json=out.json", "--junitxml=junit.xml")
    outcome = saved.bench(REPLAY, BROKEN, *reruns, *files)
    assert outcome.code == 1, outcome.text
    assert "1 failed" in outcome.out and "2 rerun" in outcome.out
    assert outcome.out.count(SECOND_CHANCE) == 1
    assert [case["case"] for case in saved.json("out.json")["cases"]] == ["a"]
    assert once_each(saved.root / "junit.xml", "ansor_fast_verdict") == 3


def test_a_broken_suite_gets_none_either(everything, reruns):
    outcome = everything.bench(REPLAY, BROKEN_SUITE, *reruns, "--junitxml=junit.xml")
    assert outcome.code == 1, outcome.text
    assert "1 failed, 3 passed" in outcome.out and "2 rerun" in outcome.out
    assert once_each(everything.root / "junit.xml", "ansor_suite_fast_verdict") == 3


FLAKY = """
from tests.saved_cases import SAVED

tries = {"before": 0, "after": 0}

def again(when):
    tries[when] += 1
    assert tries[when] > 1, "flaky"

def test_before(ansor_bench):
    again("before")
    ansor_bench(SAVED[0])

def test_after(ansor_bench):
    ansor_bench(SAVED[1])
    again("after")
"""


def test_a_test_that_fails_otherwise_is_run_again_and_tuned_once(everything, reruns):
    everything.write("test_cases.py", FLAKY)
    outcome = everything.bench(REPLAY, HOLDS, *reruns, "--ansor-json=out.json")
    assert outcome.code == 0, outcome.text
    assert "2 passed" in outcome.out and "2 rerun" in outcome.out
    assert f"test_cases.py::test_after: {SECOND_CHANCE}" in outcome.out
    assert outcome.out.count(SECOND_CHANCE) == 1
    assert [case["case"] for case in everything.json("out.json")["cases"]] == ["a", "b"]


def test_a_test_that_is_run_again_goes_on_where_the_engine_gave_up(project, reruns):
    with measuring_fast(fails_at=3):
        outcome = project.bench(*reruns)
    assert outcome.code == 0, outcome.text
    assert "1 passed" in outcome.out and "1 rerun" in outcome.out
    past = read_journal(project.journal())
    assert past.finished
    rounds = [
        (e.label, e.strategy, e.round.index) for e in past.entries if isinstance(e, RoundEntry)
    ]
    assert len(rounds) == len(set(rounds)) == 4
    assert {label for label, *_ in rounds} == {"doubling"}


HANGING = """
import pytest
from tests.faults import Doubling

pytestmark = pytest.mark.ansor_bench(
    trials=2, round=2, repeats=1, final_turns=2, final_sets=1, strategy="one,two"
)

def test_before(ansor_bench):
    ansor_bench(Doubling())

@pytest.mark.timeout(1)
@pytest.mark.ansor_bench(strategy="hanging")
def test_hanging(ansor_bench):
    ansor_bench(Doubling())

def test_next(ansor_bench):
    ansor_bench(Doubling())
"""


@pytest.fixture
def _alarms_are_heard():
    """What a signal handler raises within a callback of gc is lost, and Hypothesis has one."""
    callbacks = [*gc.callbacks]
    gc.callbacks.clear()
    yield
    gc.callbacks.extend(callbacks)


@pytest.mark.usefixtures("_alarms_are_heard")
def test_a_time_limit_in_mid_search_costs_one_test_and_leaves_nothing_running(project):
    project.write("test_cases.py", HANGING)
    project.replace(
        "conftest.py",
        "    return [\n",
        '    return [\n        scripted(("hang",) * 2, name="hanging"),\n',
    )
    words = ("--ansor-run-timeout=60", "--ansor-progress=believed", "--ansor-json=out.json")
    outcome = project.bench(*real("timeout"), *words)
    assert outcome.code == 1, outcome.text
    assert "1 failed, 2 passed" in outcome.out
    assert "from pytest-timeout" in outcome.out
    assert "to go on where this stopped: --ansor-resume=0001" in outcome.out
    runs = [run for case in project.json("out.json")["cases"] for run in case["runs"]]
    assert [run["strategy"] for run in runs] == ["one", "two", "one", "two"]
    servers = living_servers()
    assert servers and not any(server.children() for server in servers)


LATELY = """
import pytest
from tests.saved_cases import SAVED

def test_late(request):
    request.getfixturevalue("ansor_bench")(SAVED[0])
"""

FIXTURES = """
import unittest

import pytest
from tests.saved_cases import SAVED

@pytest.mark.usefixtures("ansor_bench")
def test_named(request):
    request.getfixturevalue("ansor_bench")(SAVED[0])

@pytest.fixture
def tuned(ansor_bench):
    return ansor_bench(SAVED[1])

def test_through_a_fixture(tuned):
    assert tuned.case == "b"

class TestOld(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def _keep(self, ansor_bench):
        self.bench = ansor_bench

    def test_in_a_unittest(self):
        self.bench(SAVED[2])
"""

INDIRECT = """
import pytest
from tests.saved_cases import SAVED

@pytest.fixture
def case(request):
    return SAVED[SAVED.index(request.param) {change}]

@pytest.mark.parametrize("case", SAVED[:1], indirect=True, ids=str)
def test_indirect(ansor_bench, case):
    assert ansor_bench(case).case == case.id
"""


def test_a_fixture_asked_for_late_is_skipped_without_the_option(everything):
    everything.write("test_cases.py", LATELY)
    outcome = everything.pytest("-rs")
    assert outcome.code == 0, outcome.text
    assert "1 skipped" in outcome.out
    assert "tuning case; run it with --ansor-bench" in outcome.out


def test_asked_for_late_it_tunes_but_has_no_gate_that_nobody_counted(everything):
    everything.write("test_cases.py", LATELY)
    fine = everything.bench(REPLAY)
    assert fine.code == 0, fine.text
    assert "1 passed" in fine.out
    for words in ([HOLDS], [BROKEN_SUITE], ["--ansor-shard=1/2"]):
        refused = everything.bench(REPLAY, *words)
        assert refused.code == 1, refused.text
        assert LATE in " ".join(refused.out.split())


def test_fixtures_of_all_kinds_are_judged_and_each_is_in_one_part(everything):
    everything.write("test_cases.py", FIXTURES)
    skipped = everything.pytest()
    assert skipped.code == 0, skipped.text
    assert "3 skipped" in skipped.out
    whole = everything.bench(REPLAY, HOLDS)
    assert whole.code == 0, whole.text
    assert "3 passed" in whole.out
    for index in (1, 2):
        part = (f"--ansor-shard={index}/2", f"--ansor-json={index}.json")
        outcome = everything.bench(REPLAY, HOLDS, *part)
        assert outcome.code == 0, outcome.text
    merged = everything.ansor_bench("merge", "1.json", "2.json", "-o", "all.json")
    assert (merged.code, merged.out) == (0, "all.json: 3 cases, 30 runs from 2 results\n")


def test_indirect_parameters_are_cases(everything):
    everything.write("test_cases.py", INDIRECT.format(change=""))
    outcome = everything.bench(REPLAY, HOLDS, "--ansor-case=a")
    assert outcome.code == 0, outcome.text
    assert "1 passed" in outcome.out


def test_a_fixture_may_make_another_case_of_its_parameter_unless_that_was_shared_out(everything):
    everything.write("test_cases.py", INDIRECT.format(change="+ 1"))
    outcome = everything.bench(REPLAY, HOLDS)
    assert outcome.code == 0, outcome.text
    refused = everything.bench(REPLAY, "--ansor-shard=1/1")
    assert refused.code == 1, refused.text
    assert "bad case 'b': the test was shared out by its parameter, the case 'a'" in refused.out


CACHE = ("-p", "cacheprovider")

FAILS_ONE = """
import pytest
from tests.saved_cases import SAVED

@pytest.mark.parametrize("case", SAVED, ids=str)
def test_case(ansor_bench, case):
    ansor_bench(case)
    assert case.id != "a"
"""


def test_the_suite_is_judged_last_though_it_failed_and_failures_come_first(everything):
    first = everything.bench(REPLAY, BROKEN_SUITE, *CACHE)
    assert first.code == 1, first.text
    again = everything.bench(REPLAY, BROKEN_SUITE, *CACHE, "--ff")
    assert "1 failed, 3 passed" in again.out
    assert "exceeds the limit 0.20: broken" in again.out


def test_a_suite_of_the_last_failures_is_not_passed_off_as_the_whole(everything):
    everything.write("test_cases.py", FAILS_ONE)
    first = everything.bench(REPLAY, BROKEN_SUITE, *CACHE)
    assert "2 failed, 2 passed" in first.out
    again = everything.bench(REPLAY, "--ansor-max-suite-search-ratio=0.9", *CACHE, "--lf")
    assert again.code == 1, again.text
    assert "2 failed" in again.out
    assert "--lf leaves those out that passed; run it without --lf" in again.out


def test_a_session_that_only_collects_writes_nothing(everything):
    files = ("--ansor-json=new/1.json", "--ansor-save=main")
    outcome = everything.bench(REPLAY, "--ansor-shard=1/2", *files, "--collect-only")
    assert outcome.code == 0, outcome.text
    assert not (everything.root / "new").exists()
    assert not [*everything.root.glob(".ansor_bench/*_main.json*")]


def test_a_test_that_is_there_twice_is_refused(everything):
    outcome = everything.bench(REPLAY, "--keep-duplicates", "test_cases.py", "test_cases.py")
    assert "test_cases.py::test_case[a]: it was collected twice" in outcome.refusal


TWO_BUDGETS = """
import pytest
from tests.faults import Doubling

@pytest.mark.ansor_bench(trials=4)
{parametrized}
def test_few(ansor_bench{case}):
    ansor_bench(Doubling())

@pytest.mark.ansor_bench(trials={trials})
{parametrized}
def test_many(ansor_bench{case}):
    ansor_bench(Doubling())
"""
SHOWN = {
    "parametrized": '@pytest.mark.parametrize("case", [Doubling()], ids=str)',
    "case": ", case",
}
HIDDEN = {"parametrized": "", "case": ""}
BRIEF = (
    *("--ansor-strategy=one,two", "--ansor-round=2", "--ansor-repeats=1"),
    *("--ansor-final-turns=2", "--ansor-final-sets=1"),
)


def test_a_case_under_two_budgets_is_refused_before_anything_runs(project):
    project.write("test_cases.py", TWO_BUDGETS.format(**SHOWN, trials=6))
    outcome = project.bench(*BRIEF)
    assert (
        "test_cases.py::test_many[doubling]: bad case 'doubling': "
        "test_cases.py::test_few[doubling] tunes it under another budget"
    ) in outcome.refusal


@pytest.mark.usefixtures("fast_engine")
def test_a_case_under_two_budgets_that_shows_late_fails_the_second_test(project):
    project.write("test_cases.py", TWO_BUDGETS.format(**HIDDEN, trials=6))
    outcome = project.bench(*BRIEF)
    assert outcome.code == 1, outcome.text
    assert "1 failed, 1 passed" in outcome.out
    assert "bad case 'doubling': test_cases.py::test_few tunes it under another" in outcome.out


@pytest.mark.usefixtures("fast_engine")
@pytest.mark.parametrize("how", [SHOWN, HIDDEN], ids=["shown", "hidden"])
def test_under_one_budget_its_runs_are_kept_apart_but_not_in_parts(project, how):
    project.write("test_cases.py", TWO_BUDGETS.format(**how, trials=4))
    outcome = project.bench(*BRIEF, "--ansor-json=out.json")
    assert outcome.code == 0, outcome.text
    assert [len(case["runs"]) for case in project.json("out.json")["cases"]] == [2, 2]
    refused = project.bench(*BRIEF, "--ansor-shard=1/1")
    assert refused.code == (4 if how is SHOWN else 1), refused.text
    assert "tunes it as well, and shards are put together by the ids of cases" in refused.text


@pytest.mark.usefixtures("fast_engine")
@pytest.mark.parametrize("ini", [False, True])
def test_a_session_runs_where_warnings_are_errors(project, ini):
    if ini:
        project.write("pytest.ini", "[pytest]\nfilterwarnings = error\n")
    outcome = project.bench(*(() if ini else ("-W", "error")), "--ansor-repeats=1")
    assert outcome.code == 0, outcome.text


def test_there_an_undecided_gate_is_an_error(saved):
    undecided = "--ansor-max-early-search-ratio=0.497"
    assert saved.bench(REPLAY, undecided).code == 0
    outcome = saved.bench(REPLAY, undecided, "-W", "error")
    assert outcome.code == 1, outcome.text
    assert "UndecidedWarning: a, fast against default" in outcome.out
