"""The round loop on real searches: budget, clock, records, and faults."""

from __future__ import annotations

import numpy as np
import psutil
import pytest

from pytest_ansorbench.search import Search
from pytest_ansorbench.strategies import BUILTIN, Registry
from pytest_ansorbench.workloads import BatchMatmul
from tests.faults import Doubling
from tests.proposers import scripted

MATMUL = BatchMatmul(batch=1, m=16, n=16, k=16)


def search(case, strategy, engine, *, trials, round_trials, seed=0, **options):
    return Search(
        case,
        case.tasks(),
        strategy,
        engine,
        seed=seed,
        budget_trials=trials,
        round_trials=round_trials,
        **options,
    )


def finished(each):
    while not each.finished:
        each.step()
    return each.record()


@pytest.mark.parametrize("strategy", BUILTIN, ids=lambda strategy: strategy.name)
def test_every_shipped_strategy_spends_its_budget_on_valid_trials(engine, strategy):
    heard = []
    each = search(
        MATMUL,
        strategy,
        engine,
        trials=6,
        round_trials=4,
        on_trial=lambda at: heard.append((at.trials_done, at.best_gflops)),
    )
    run = finished(each)
    assert run.stopped == ""
    assert [trial.index for trial in run.trials] == list(range(6))
    assert [trial.round for trial in run.trials] == [1] * 4 + [2] * 2
    assert run.failed_trials == 0
    [task] = run.tasks
    assert len(task.sketches) == len(set(task.sketches)) == 3
    assert {trial.sketch for trial in run.trials} <= {0, 1, 2}
    assert [done for done, _ in heard] == list(range(1, 7))
    assert heard[-1][1] == pytest.approx(run.flops / run.best_trials[0].latency_s / 1e9)


def test_search_time_is_the_sum_of_the_phases_and_never_runs_back(engine):
    run = finished(search(MATMUL, Registry().get("random"), engine, trials=6, round_trials=3))
    assert all(
        min(each.propose_s, each.build_s, each.run_s) > 0 and each.learn_s >= 0
        for each in run.rounds
    )
    times = [trial.search_s for trial in run.trials]
    assert times == sorted(times)
    assert times[-1] <= run.search_s == pytest.approx(sum(each.search_s for each in run.rounds))
    first = run.rounds[0]
    assert times[0] > first.propose_s + first.build_s


def test_faulty_candidates_are_counted_and_the_search_goes_on(engine):
    strategy = scripted(
        ("overrun", "wrong", "crash", "unbuildable"),
        ("greedy", "hang", "fine"),
        ("fine", "endless-build"),
    )
    run = finished(search(Doubling(), strategy, engine, trials=9, round_trials=4))
    assert [trial.status for trial in run.trials] == [
        "wrong-result",
        "wrong-result",
        "run-error",
        "build-error",
        "run-error",
        "run-timeout",
        "ok",
        "ok",
        "build-timeout",
    ]
    assert all(bool(trial.error) == (trial.status != "ok") for trial in run.trials)
    assert run.failed_trials == 7
    assert run.best_trials[0].status == "ok"
    assert run.rounds[-1].decisions == {"learnt": 9, "valid": 2}


def test_a_batch_that_the_engine_cannot_hold_is_measured_in_parts(engine, monkeypatch):
    held = []
    build = engine.build
    monkeypatch.setattr(type(engine), "capacity", 2)
    monkeypatch.setattr(
        engine, "build", lambda mods, check: held.append(mods) or build(mods, check)
    )
    run = finished(search(Doubling(), scripted(("fine",) * 5), engine, trials=5, round_trials=5))
    assert [len(mods) for mods in held] == [2, 2, 1]
    assert [trial.status for trial in run.trials] == ["ok"] * 5


def test_an_interrupt_leaves_no_process_behind(engine):
    def interrupt(search):
        raise KeyboardInterrupt

    made = search(
        Doubling(), scripted(("fine",) * 3), engine, trials=3, round_trials=3, on_trial=interrupt
    )
    with pytest.raises(KeyboardInterrupt):
        made.step()
    assert not psutil.Process(engine.server_pid).children()


def test_a_server_that_dies_is_counted_in_its_round(engine):
    made = search(
        Doubling(), scripted(("fine",), ("fine",), ("fine",)), engine, trials=3, round_trials=1
    )
    made.step()
    psutil.Process(engine.server_pid).kill()
    run = finished(made)
    assert [each.restarts for each in run.rounds] == [0, 1, 0]
    assert [trial.status for trial in run.trials] == ["ok"] * 3


def test_what_a_trial_took_is_recorded(engine):
    run = finished(
        search(Doubling(), scripted(("fine", "unbuildable")), engine, trials=2, round_trials=2)
    )
    fine, unbuildable = run.trials
    assert min(fine.build_s, fine.run_s, fine.peak_memory_mb) > 0
    assert unbuildable.build_s > 0
    assert unbuildable.run_s == 0


def test_a_schedule_from_outside_the_design_space_has_no_sketch(engine):
    run = finished(search(Doubling(), scripted(("fine",)), engine, trials=1, round_trials=1))
    assert run.trials[0].sketch == -1


def test_more_candidates_than_asked_for_are_not_measured(engine):
    run = finished(search(Doubling(), scripted(("fine",) * 5), engine, trials=2, round_trials=2))
    assert len(run.trials) == 2


def test_an_exhausted_strategy_ends_the_run_with_a_reason(engine):
    run = finished(search(Doubling(), scripted(("fine",), None), engine, trials=4, round_trials=1))
    assert run.stopped == "the strategy proposes nothing more"
    assert len(run.trials) == 1


def test_empty_rounds_are_borne_with_five_times(engine):
    empty = scripted(("fine",), *[()] * 9)
    run = finished(search(Doubling(), empty, engine, trials=4, round_trials=1))
    assert run.stopped == "5 rounds without a new candidate"
    assert len(run.rounds) == 6


def test_a_run_without_a_valid_trial_has_no_winner(engine):
    each = search(Doubling(), scripted(("wrong",)), engine, trials=1, round_trials=1)
    finished(each)
    assert each.tasks[0].best is None
    assert each.best_gflops == 0
    final = each.final(None)
    assert (final.trial, final.status, final.latencies_s) == (None, "run-error", ())


def test_the_winner_is_the_fastest_valid_trial(engine):
    each = search(Doubling(), scripted(("wrong", "fine")), engine, trials=2, round_trials=2)
    finished(each)
    best = each.tasks[0].best
    [outcome] = engine.remeasure([(best.mod, best.args_info)], Doubling().check(), samples=3)
    final = each.final(outcome)
    assert (final.trial, final.status, len(final.latencies_s)) == (1, "ok", 3)


def test_searches_that_take_turns_do_not_touch_numpys_global_state(engine):
    np.random.seed(5)
    expected = np.random.uniform(size=3).tolist()
    np.random.seed(5)
    drawn = []
    each = search(MATMUL, Registry().get("default"), engine, trials=4, round_trials=2)
    while not each.finished:
        drawn.append(np.random.uniform())
        each.step()
    drawn.append(np.random.uniform())
    assert drawn == expected
