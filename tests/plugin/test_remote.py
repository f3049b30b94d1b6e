"""`--ansor-rpc`: a session whose programs run on a device."""

from __future__ import annotations

import pytest

from pytest_ansorbench.storage import list_journals, read_journal, read_result
from tests.forked import wait_until
from tests.measure.remote import devices
from tests.plugin.conftest import beside_another, with_a_case

#: Nothing here is about leads, which would be built and measured again.
BELIEVED = "--ansor-progress=believed"


@pytest.fixture(scope="module")
def tracker():
    with devices.tracker() as running, devices.server(running):
        yield running


@pytest.fixture(scope="module")
def tuned(tracker, tmp_path_factory):
    """A project whose case was tuned on a device, and what that printed."""
    project = with_a_case(tmp_path_factory.mktemp("tuned"))
    where = f"--ansor-rpc={devices.address(tracker)}"
    return project, project.bench(where, BELIEVED, "--ansor-json=out.json")


def test_a_case_is_tuned_on_a_device(tuned, tracker):
    project, outcome = tuned
    where = devices.address(tracker)
    assert outcome.code == 0, outcome.text
    result = read_result(project.root / "out.json")
    [machine] = result.machines.values()
    assert machine["device"] == devices.KEY
    assert str(tracker.port) not in str(dict(machine))
    [case] = result.cases
    assert all(trial.status == "ok" for run in case.runs for trial in run.trials)
    assert all(run.final.status == "ok" for run in case.runs)
    assert result.settings["rpc"] == str(where)
    assert f"measuring on a device: asking {where}, for 60 s at most" in outcome.out
    wait_until(lambda: devices.queue(tracker).free == 1)


def test_an_interrupted_session_goes_on_on_the_device_and_nowhere_else(tuned, tmp_path, tracker):
    project = tuned[0].copy(tmp_path)
    words = ("--ansor-repeats=2", "--ansor-resume=1", "--ansor-json=out.json", BELIEVED)
    again = project.bench(f"--ansor-rpc={devices.address(tracker)}", *words)
    assert again.code == 0, again.text
    assert len(read_result(project.root / "out.json").cases[0].runs) == 4
    outcome = project.bench("--ansor-repeats=3", "--ansor-resume=1", BELIEVED)
    assert "the run was begun on another machine" in outcome.refusal


@pytest.mark.slow
def test_each_process_of_xdist_has_a_device(project, tracker):
    with devices.server(tracker):
        outcome = beside_another(project).bench_apart(
            f"--ansor-rpc={devices.address(tracker)}", "-n2", "--ansor-json=out.json"
        )
    assert outcome.code == 0, outcome.text
    assert "2 passed" in outcome.out
    result = read_result(project.root / "out.json")
    assert sorted(case.case for case in result.cases) == ["another", "doubling"]
    assert all(len(case.runs) == 2 for case in result.cases)
    assert all(name in outcome.out for name in ("doubling", "another"))
    journals = list_journals(project.root / ".ansor_bench")
    assert [read_journal(path).finished for path in journals] == [True, True]


@pytest.mark.slow
def test_the_device_is_given_back_on_an_interrupt(project, tracker):
    where = f"--ansor-rpc={devices.address(tracker)}"
    with project.start(where, "--ansor-repeats=50", "--ansor-build-workers=1") as process:
        wait_until(project.journal().exists)
        assert devices.queue(tracker).free == 0
        out = process.interrupt()
    assert "to go on where this stopped: --ansor-resume=0001" in out
    wait_until(lambda: devices.queue(tracker).free == 1)


NOWHERE = "--ansor-rpc=127.0.0.1:9:x"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([NOWHERE], "bad --ansor-rpc: no tracker at 127.0.0.1"),
        (["--ansor-rpc=nowhere"], "bad --ansor-rpc 'nowhere': expected HOST:PORT:KEY of a tracker"),
        (["--ansor-rpc-server=nowhere"], "bad --ansor-rpc-server 'nowhere': expected HOST:PORT"),
        (
            [NOWHERE, "--ansor-rpc-server=127.0.0.1:1"],
            "bad --ansor-rpc-server '127.0.0.1:1': expected it or --ansor-rpc, not both",
        ),
        (
            [NOWHERE, "--ansor-linker=nowhere-gcc"],
            "bad --ansor-linker 'nowhere-gcc': there is no such command",
        ),
        (
            [NOWHERE, "-n2", "--ansor-max-suite-search-ratio=0.9"],
            "bad option -n: a gate of the suite is about the runs of all processes",
        ),
        ([NOWHERE, "-n2", "--ansor-resume"], "bad option -n: each process has a journal"),
        ([NOWHERE, "-n2", "--ansor-learn=own"], "bad option -n: each process has a journal"),
        ([NOWHERE, "--ansor-cores=0"], "bad --ansor-cores: it is about this machine"),
        ([NOWHERE, "--ansor-roofline"], "bad --ansor-roofline: it is about this machine"),
        ([NOWHERE, "--ansor-caches=network"], "bad --ansor-caches: it is about this machine"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(project, arguments, message):
    assert message in project.bench(*arguments).refusal


def test_no_device_is_asked_for_once_collection_has_failed(project):
    unknown = project.bench(NOWHERE, "--ansor-strategy=nobody")
    assert "bad strategy 'nobody'" in unknown.refusal
    project.write("test_broken.py", "import nothing_of_this_name\n")
    broken = project.bench(NOWHERE)
    assert broken.code == pytest.ExitCode.INTERRUPTED, broken.text
    assert "No module named 'nothing_of_this_name'" in broken.out
    assert "asking" not in broken.text + unknown.text
