"""Searches of results, played again by `benchmarks/draft_replays.py`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tvm_ffi import structural_equal

from pytest_ansorbench.records import Remeasurement
from pytest_ansorbench.search import Search
from pytest_ansorbench.search.candidates import unpack
from pytest_ansorbench.strategies import Registry
from pytest_ansorbench.workloads import BatchMatmul
from tests.fast_engine import FastEngine
from tests.search.rounds import finished, run_of

MATMUL = BatchMatmul(batch=1, m=32, n=32, k=32)


@pytest.fixture
def script(import_script):
    return import_script("draft_replays")


@pytest.fixture(scope="module")
def searched(target):
    """A run, and its programs as the journal keeps them."""
    [task] = MATMUL.tasks()
    with FastEngine(target, compiles=False) as engine:
        search = Search(
            MATMUL, [task], Registry().get("draft"), engine,
            seed=3, budget_trials=20, round_trials=8,
        )  # fmt: skip
        entries = finished(search)
    programs = [one for entry in entries for one in unpack(entry.state.candidates, task.mod)]
    return replace(run_of(MATMUL, search, entries), round_trials=8), programs


def test_the_programs_of_a_run_are_those_that_were_measured(script, searched, target):
    run, programs = searched
    [task] = MATMUL.tasks()
    again = list(script.replayed(run, task, target))
    assert len(again) == len(programs) == 20
    assert all(
        structural_equal(one.mod, other.mod) for one, other in zip(again, programs, strict=True)
    )


def test_what_another_search_has_proposed_is_refused(script, searched, target):
    run, _ = searched
    [task] = MATMUL.tasks()
    with pytest.raises(ValueError, match=r"^bad run 'draft' of seed 4: round \d+ is not what"):
        list(script.replayed(replace(run, seed=4), task, target))


def test_trials_beside_a_lucky_leader_share_its_luck(script, searched):
    run, _ = searched
    latencies_s = (8e-3, 4e-3, 4e-3, 6e-3, 9e-3)
    trials = [
        replace(one, status="ok", latencies_s=(latency_s,))
        for one, latency_s in zip(run.trials, latencies_s, strict=False)
    ]
    leads = [Remeasurement(at, "ok", (8e-3,)) for at in (0, 1)]
    of_run = replace(run, trials=tuple(trials), leads=tuple(leads), flops=8_000_000)
    # The second led by luck, twice as fast as it is; the last was too slow to run beside it.
    assert script.confirmed_gflops(of_run) == pytest.approx([1.0, 1.0, 1.0, 2 / 3, 8 / 9])
