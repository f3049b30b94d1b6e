"""`--ansor-cluster`: a session whose repeats are carried out by workers."""

from __future__ import annotations

import json
import os

import psutil
import pytest

from pytest_ansorbench.storage import read_journal, read_result
from pytest_ansorbench.storage.entries import AbandonedEntry
from tests.cluster import dask_processes
from tests.forked import wait_until


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    with dask_processes.cluster(tmp_path_factory.mktemp("dask"), "one") as started:
        yield started


@pytest.fixture(scope="module")
def two_workers(workers):
    workers.start_worker("two")
    return workers


def test_repeats_are_carried_out_by_workers(project, workers):
    where = f"--ansor-cluster={workers.address}"
    words = ("--ansor-repeats=1", "--ansor-progress=believed", "--ansor-json=out.json")
    outcome = project.bench(where, *words)
    assert outcome.code == 0, outcome.text
    assert f"measuring on a cluster: asking tcp://{workers.address}, for 60 s" in outcome.out
    result = read_result(project.root / "out.json")
    [case] = result.cases
    assert [(run.seed, run.strategy) for run in case.runs] == [(0, "one"), (0, "two")]
    assert all(trial.status == "ok" for run in case.runs for trial in run.trials)
    assert {run.machine for run in case.runs} == set(result.machines)
    assert result.settings["cluster"] == f"tcp://{workers.address}"
    # What a worker starts ends with its block.
    for process in workers.workers.values():
        children = process.children(recursive=True)
        assert not [one for one in children if "fork_server" in " ".join(one.cmdline())]


OWN_CASE = """
import dataclasses
import pytest
from tests.faults import Doubling

@dataclasses.dataclass(frozen=True, kw_only=True)
class Own(Doubling):
    id = "own"

@dataclasses.dataclass(frozen=True, kw_only=True)
class Another(Doubling):
    id = "another"

@pytest.mark.ansor_bench(
    trials=4, round=2, repeats=2, strategy="one,two", final_turns=2, final_sets=1
)
@pytest.mark.parametrize("case", [Own(), Another()], ids=str)
def test_it(ansor_bench, case):
    ansor_bench(case)
"""


FAILING_CASES = """
import pytest
from tests.faults import Doubling

class Locked(Doubling):
    id = "locked"
    def __reduce__(self):
        raise TypeError("it stays here")

@pytest.mark.ansor_bench(trials=2, round=2, repeats=1, final_turns=2, final_sets=1)
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(Locked(), marks=pytest.mark.ansor_bench(strategy="one,two")),
        pytest.param(Doubling(), marks=pytest.mark.ansor_bench(strategy="one,silent")),
        pytest.param(Doubling(), marks=pytest.mark.ansor_bench(strategy="one,two")),
    ],
)
def test_it(ansor_bench, case):
    ansor_bench(case)
"""


def test_cases_that_fail_at_a_worker_keep_no_result_from_being_saved(project, workers):
    project.replace("conftest.py", "return [", 'return [scripted(name="silent"),')
    project.write("test_cases.py", FAILING_CASES)
    outcome = project.bench(f"--ansor-cluster={workers.address}", "--ansor-save=it")
    assert outcome.code == 1, outcome.text
    assert "2 failed, 1 passed" in outcome.out
    assert "locked or one of its strategies cannot be sent to a worker" in outcome.out
    assert "doubling with seed 0 failed at worker " in outcome.out
    assert "gave up" not in outcome.out
    [path] = (project.root / ".ansor_bench").glob("*_it.json")
    assert [case.case for case in read_result(path).cases] == ["doubling"]


@pytest.mark.slow
def test_several_processes_share_the_workers(project, two_workers):
    """Cases of the project itself, too: no worker can import its files."""
    project.write("test_cases.py", OWN_CASE)
    words = (f"--ansor-cluster={two_workers.address}", "-n2", "--ansor-json=out.json")
    outcome = project.bench_apart(*words)
    assert outcome.code == 0, outcome.text
    assert "2 passed" in outcome.out
    result = read_result(project.root / "out.json")
    assert sorted(case.case for case in result.cases) == ["another", "own"]
    assert all(len(case.runs) == 4 for case in result.cases)


@pytest.mark.slow
def test_an_interrupted_session_goes_on(project, two_workers):
    where = f"--ansor-cluster={two_workers.address}"
    with project.start(where, "--ansor-repeats=30", "--ansor-build-workers=1") as process:
        journals = project.journal().parent
        wait_until(lambda: any(b'"final"' in one.read_bytes() for one in journals.glob("*.jsonl")))
        out = process.interrupt()
    assert "to go on where this stopped: --ansor-resume=0001" in out
    words = (where, "--ansor-repeats=3", "--ansor-resume=1", "--ansor-json=out.json")
    again = project.bench_apart(*words)
    assert again.code == 0, again.text
    assert len(read_result(project.root / "out.json").cases[0].runs) == 6
    past = read_journal(project.journal())
    assert not [entry for entry in past.entries if isinstance(entry, AbandonedEntry)]


@pytest.mark.slow
def test_workers_can_be_started_here_and_share_out_the_cores(project):
    cores = len(os.sched_getaffinity(0))
    count = min(2, cores)
    before = {one.pid for one in psutil.Process().children(recursive=True)}
    words = (f"--ansor-cluster=local:{count}", "--ansor-repeats=1", "--ansor-json=out.json")
    outcome = project.bench_apart(*words)
    assert outcome.code == 0, outcome.text
    result = read_result(project.root / "out.json")
    assert len(result.cases[0].runs) == 2
    [machine] = result.machines.values()
    assert json.loads(machine["target"])["num-cores"] == cores // count
    assert {one.pid for one in psutil.Process().children(recursive=True)} <= before


def test_libraries_that_compute_on_no_gpu_are_refused_once_it_is_known(project, workers):
    outcome = project.bench(
        f"--ansor-cluster={workers.address}",
        '--ansor-target={"kind": "cuda", "arch": "sm_90"}',
        "--ansor-reference-kernels=numpy",
    )
    assert outcome.code == 4, outcome.text
    refused = "bad --ansor-reference-kernels 'numpy': on a GPU other libraries are not timed"
    assert refused in outcome.text


NOWHERE = "--ansor-cluster=127.0.0.1:9"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ansor-cluster=head"], "bad --ansor-cluster 'head': expected HOST:PORT"),
        (
            [NOWHERE, "--ansor-cluster-wait=1"],
            "bad --ansor-cluster: no Dask scheduler at tcp://127.0.0.1:9 within 1 s",
        ),
        ([NOWHERE, "--ansor-rpc=127.0.0.1:9:x"], "bad --ansor-rpc: it is about one machine"),
        ([NOWHERE, "--ansor-learn=own"], "bad --ansor-learn: it is about one machine"),
        (["--ansor-cluster=local:999"], "999 workers share"),
        (["--ansor-cluster=local:2", "-n2"], "bad option -n: each process would start workers"),
        ([NOWHERE, "-n2", "--ansor-resume"], "bad option -n: each process has a journal"),
        (
            [NOWHERE, "-n2", "--ansor-max-suite-search-ratio=0.9"],
            "bad option -n: a gate of the suite is about the runs of all processes",
        ),
    ],
)
def test_what_cannot_be_is_refused(project, words, message):
    outcome = project.bench(*words)
    assert outcome.code == 4, outcome.text
    assert message in outcome.text
