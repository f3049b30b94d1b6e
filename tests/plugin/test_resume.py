"""`--ansor-resume`: after a kill or an interrupt, at most the round under way is lost."""

from __future__ import annotations

import json

import pytest

from pytest_ansorbench.storage import Journal, read_journal, read_result
from pytest_ansorbench.storage.entries import FinalEntry, RoundEntry
from tests.plugin.conftest import beside_another, measuring_fast
from tests.plugin.project import CASES, Project, trials

pytestmark = pytest.mark.usefixtures("fast_engine")

BUDGET = ("--ansor-trials=8", "--ansor-round=1", "--ansor-repeats=2", "--ansor-json=result.json")

CONFTEST = """
from tests.proposers import scripted

def pytest_ansorbench_strategies(config):
    return [scripted(*[("fine",)] * 8, name=name) for name in ("one", "two")]
"""


@pytest.fixture
def long(project):
    project.write("conftest.py", CONFTEST)
    return project


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A project whose session was killed."""
    made = Project(tmp_path_factory.mktemp("killed"))
    made.write("conftest.py", CONFTEST)
    made.write("test_cases.py", CASES)
    with measuring_fast():
        assert made.bench(*BUDGET).code == 0
    made.cut_journal(made.journal_lines()[:6])
    (made.root / "result.json").unlink()
    return made


@pytest.fixture
def interrupted(killed, tmp_path):
    """A copy of it, to go on with."""
    return killed.copy(tmp_path)


def test_killed_again_and_again_it_comes_to_the_same_end(long):
    assert long.bench(*BUDGET).code == 0
    for left in (4, 22, 30):  # in the first repeat, in its end, and in the second
        kept = long.journal_lines()[:left]
        long.cut_journal(kept)
        outcome = long.bench(*BUDGET, "--ansor-resume")
        assert outcome.code == 0, outcome.text
        # Nothing that was on disk was done again.
        assert long.journal_lines()[:left] == kept
    past = read_journal(long.journal())
    assert past.finished
    rounds = [entry for entry in past.entries if isinstance(entry, RoundEntry)]
    assert len(rounds) == 2 * 2 * 8
    assert sum(isinstance(entry, FinalEntry) for entry in past.entries) == 2
    [case] = long.json("result.json")["cases"]
    assert len(case["runs"]) == 4
    for run in case["runs"]:
        assert [trial["index"] for trial in trials(run)] == list(range(8))
        times = [trial["search_s"] for trial in trials(run)]
        assert times == sorted(times)
        mine = [e for e in rounds if (e.strategy, e.seed) == (run["strategy"], run["seed"])]
        assert [trial["latencies_s"] for trial in trials(run)] == [
            list(trial.latencies_s) for entry in mine for trial in entry.trials
        ]
        assert [r["decisions"]["learnt"] for r in run["rounds"]] == list(range(1, 9))


def test_a_line_cut_short_is_dropped_with_a_note(interrupted):
    with interrupted.journal().open("ab") as stream:
        stream.write(b'{"kind":"round","lab')
    outcome = interrupted.bench(*BUDGET, "--ansor-resume")
    assert outcome.code == 0, outcome.text
    assert "a last line that was cut short (20 bytes) was dropped; its round is run again" in (
        outcome.out
    )


BEFORE_IT_IS_STORED = """
import shutil
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    shutil.copytree(session.config.rootpath / ".ansor_bench", "killed")
"""


def test_killed_before_its_result_is_stored_a_session_stores_it_when_resumed(project):
    project.write("conftest.py", (project.root / "conftest.py").read_text() + BEFORE_IT_IS_STORED)
    assert project.bench("--ansor-save=main").code == 0
    assert not (project.root / "killed" / "0001_main.json").exists()
    (project.root / "killed").rename(project.root / "left")
    outcome = project.bench("--ansor-save=main", "--ansor-storage=left", "--ansor-resume")
    assert outcome.code == 0, outcome.text
    first, again = (
        read_result(project.root / name / "0001_main.json") for name in (".ansor_bench", "left")
    )
    assert again.cases == first.cases


def test_an_interrupted_session_is_saved_when_it_has_gone_on_to_its_end(project):
    project.write("test_stop.py", "def test_stop(): raise KeyboardInterrupt\n")
    stopped = project.bench("--ansor-save=main", "test_cases.py", "test_stop.py")
    assert stopped.code == 2, stopped.text
    assert "not saved: --ansor-save: not all has run yet" in stopped.out
    assert not [*(project.root / ".ansor_bench").glob("*.json")]
    resumed = project.bench("--ansor-resume", "--ansor-save=main", "test_cases.py")
    assert resumed.code == 0, resumed.text
    [path] = (project.root / ".ansor_bench").glob("*.json")
    assert len(read_result(path).cases) == 1


def test_a_journal_stays_open_while_some_of_its_cases_are_not_asked_for(project):
    assert beside_another(project).bench().code == 0
    project.cut_journal(project.journal_lines()[:-1])
    words = ("--ansor-resume", "--ansor-save=main")
    some = project.bench(*words, "-k", "another")
    assert some.code == 0, some.text
    assert "left in the journal, as no test tuned them: doubling" in some.out
    assert "to go on where this stopped: --ansor-resume=0001" in some.out
    assert "not saved: --ansor-save: not all has run yet" in some.out
    assert not read_journal(project.journal()).finished
    assert project.bench(*words).code == 0
    [path] = (project.root / ".ansor_bench").glob("*.json")
    assert len(read_result(path).cases) == 2
    assert read_journal(project.journal()).finished


ANOTHER = """
from tests.bench.conftest import Another

@pytest.mark.ansor_bench(trials=4, round=2, repeats=1, strategy="one,raising")
@pytest.mark.parametrize("case", [Another()], ids=str)
def test_another(ansor_bench, case):
    ansor_bench(case)
"""


def test_a_strategy_that_raises_costs_its_case_alone(project):
    project.write("test_cases.py", CASES + ANOTHER)
    raising = '    return [\n        scripted(("no such kernel",), name="raising"),\n'
    project.replace("conftest.py", "    return [\n", raising)
    outcome = project.bench("--ansor-save=main")
    assert outcome.code == 1, outcome.text
    assert "to go on where this stopped: --ansor-resume=0001" in outcome.out
    assert not read_journal(project.journal()).finished
    [path] = (project.root / ".ansor_bench").glob("*.json")
    result = read_result(path)
    assert [case.case for case in result.cases] == ["doubling"] and result.lost == ("another",)


def test_a_session_whose_engine_gave_up_goes_on(long):
    with measuring_fast(fails_at=3):
        outcome = long.bench(*BUDGET)
    assert outcome.code == 1, outcome.text
    assert "the measurement engine gave up: planted" in outcome.out
    assert "to go on where this stopped: --ansor-resume=0001" in outcome.out
    resumed = long.bench(*BUDGET, "--ansor-resume")
    assert resumed.code == 0, resumed.text
    past = read_journal(long.journal())
    assert past.finished
    assert len([entry for entry in past.entries if isinstance(entry, RoundEntry)]) == 2 * 2 * 8


def test_journals_that_cannot_be_read_are_passed_over_and_told(interrupted):
    interrupted.journal(2).touch()
    interrupted.journal(3).write_bytes(bytes(4096))
    interrupted.journal(4).write_text('{"kind": "session", "journal_version": 1}\n')
    outcome = interrupted.bench(*BUDGET, "--ansor-resume")
    assert outcome.code == 0, outcome.text
    assert outcome.out.count("passed over: bad journal ") == 3
    assert read_journal(interrupted.journal()).finished
    assert interrupted.journal(2).exists()
    nothing = interrupted.bench(*BUDGET, "--ansor-resume")
    assert nothing.code == 4
    assert "no interrupted run in" in nothing.err
    for reason in ("got an empty file", "got NUL bytes alone", "journal_version 1 is not"):
        assert nothing.err.count(reason) == 1
    assert interrupted.bench(*BUDGET).code == 0
    assert read_journal(interrupted.journal(5)).finished


def test_a_session_that_runs_is_passed_over(interrupted):
    with Journal.reopen(read_journal(interrupted.journal())) as running:
        outcome = interrupted.bench(*BUDGET, "--ansor-resume")
    assert outcome.code == 4, outcome.text
    assert "no interrupted run in" in outcome.err
    assert f"passed over: {running.path}: a session is writing it" in outcome.err


def test_other_settings_are_refused(interrupted):
    outcome = interrupted.bench(*BUDGET, "--ansor-resume", "--ansor-trials=16")
    assert outcome.code == 1
    assert "doubling was measured with trials 8 so far, and now has 16" in outcome.out
    assert "give the same settings, or start anew" in outcome.out
    assert "to go on where this stopped: --ansor-resume=0001" in outcome.out
    assert not read_journal(interrupted.journal()).finished


def test_another_machine_is_refused(interrupted):
    path = interrupted.journal()
    content = path.read_text().split("\n")
    session = json.loads(content[0])
    session["machine"]["cpu"] = "another one"
    path.write_text("\n".join([json.dumps(session), *content[1:]]))
    outcome = interrupted.bench(*BUDGET, "--ansor-resume")
    assert "the run was begun on another machine (cpu: another one is now" in outcome.refusal


def test_damage_is_refused_with_file_and_line(interrupted):
    path = interrupted.journal()
    content = path.read_text().split("\n")
    content[2] = content[2].replace("doubling", "tripling")
    path.write_text("\n".join(content))
    outcome = interrupted.bench(*BUDGET, "--ansor-resume")
    assert "0001.jsonl', line 3: the case 'tripling' has not begun" in outcome.refusal


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--ansor-resume"], "no interrupted run in"),
        (["--ansor-resume=7"], "bad --ansor-resume '7': expected the number or path of a journal"),
        (["--ansor-resume", "--ansor-replay=x.json"], "a replay runs nothing that could go on"),
    ],
)
def test_nothing_to_go_on_from_is_told(project, arguments, what):
    assert what in project.bench(*arguments).refusal
