"""The round loop on real searches: budget, clock, records, and faults."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import psutil
import pytest

from pytest_ansorbench.measure.local.engine import LocalEngine
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.strategies import (
    BUILTIN,
    BuildLimit,
    LimitedSpace,
    Registry,
)
from tests.faults import Doubling
from tests.proposers import scripted
from tests.search import rounds
from tests.strategies.setups import MATMUL

search = functools.partial(rounds.searching, seed=0)


def run_of(case, strategy, engine, **options):
    """Search to the end; the run."""
    made = search(case, strategy, engine, **options)
    return rounds.run_of(case, made, rounds.finished(made))


#: Those that have a second round, which takes a whole genetic search; the others share its parts.
TWICE = ("default", "optimized", "random")
#: Those whose first rounds are smaller than they may be.
SMALL = ("draft", "draft+transfer", "default+droplet")


def brief(strategy):
    """The strategy with a population that takes a moment to breed."""
    return dataclasses.replace(strategy, proposer=smaller(strategy.proposer))


def smaller(proposer):
    fields = {field.name for field in dataclasses.fields(proposer)}
    less = {"population": 16, "min_unmeasured": 8, "generations": 1, "blind_generations": 1}
    less = {name: value for name, value in less.items() if name in fields}
    if "first" in fields:  # a search that another one follows
        less["first"] = smaller(proposer.first)
    return dataclasses.replace(proposer, **less)


@pytest.mark.parametrize("strategy", BUILTIN, ids=lambda strategy: strategy.name)
def test_every_shipped_strategy_spends_its_budget_on_valid_trials(fast_engine, strategy):
    spends_its_budget(fast_engine, brief(strategy))


@pytest.mark.slow
def test_the_reference_as_it_ships_spends_its_budget_on_valid_trials(engine):
    spends_its_budget(engine, Registry().get("default"))


def spends_its_budget(engine, strategy):
    heard = []
    sizes = [4, 2] if strategy.name in TWICE else [2, 2] if strategy.name in SMALL else [4]
    run = run_of(
        MATMUL,
        strategy,
        engine,
        trials=sum(sizes),
        round_trials=4,
        on_trial=lambda at: heard.append((len(at.trials), at.best_gflops)),
    )
    assert run.stopped == ""
    assert [trial.index for trial in run.trials] == list(range(sum(sizes)))
    rounds_of_trials = [number for number, size in enumerate(sizes, 1) for _ in range(size)]
    assert [trial.round for trial in run.trials] == rounds_of_trials
    assert run.failed_trials == 0
    [task] = run.tasks
    sketches = 1 if strategy.space == LimitedSpace() else 3
    assert len(task.sketches) == len(set(task.sketches)) == sketches
    # TVM's post-optimization changes annotations, too, by which sketches are told apart.
    unknown = {-1} if strategy.name == "default+droplet" else set()
    assert {trial.sketch for trial in run.trials} <= {*range(sketches)} | unknown
    assert [done for done, _ in heard] == list(range(1, sum(sizes) + 1))
    assert heard[-1][1] == pytest.approx(run.flops / run.best_trials[0].latency_s / 1e9)


def test_search_time_is_the_sum_of_the_phases_and_never_runs_back(engine):
    run = run_of(MATMUL, Registry().get("random"), engine, trials=6, round_trials=3)
    assert all(
        min(one.propose_s, one.build_s, one.run_s) > 0 and one.learn_s >= 0 for one in run.rounds
    )
    times = [trial.search_s for trial in run.trials]
    assert times == sorted(times)
    assert times[-1] <= run.search_s == pytest.approx(sum(one.search_s for one in run.rounds))
    first = run.rounds[0]
    assert times[0] > first.propose_s + first.build_s


def test_faulty_candidates_are_counted_and_the_search_goes_on(target, lasting_servers):
    strategy = scripted(
        ("overrun", "wrong", "crash", "unbuildable"),
        ("greedy", "hang", "fine"),
        ("fine", "endless-build"),
    )
    with LocalEngine(target, EngineSettings(build_timeout_s=2, run_timeout_s=1)) as engine:
        run = run_of(Doubling(), strategy, engine, trials=9, round_trials=4)
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


def test_what_compiles_for_too_long_is_given_up_by_what_others_took(engine):
    limit = BuildLimit(times=20.0, least_s=1e-3, first_s=0.8, after=2)
    strategy = dataclasses.replace(
        scripted(("endless-build",), ("fine", "fine", "fine"), ("fine", "endless-build", "fine")),
        build_limit=limit,
    )
    run = run_of(Doubling(), strategy, engine, trials=7, round_trials=3)
    assert [trial.status for trial in run.trials] == [
        *("build-timeout", "ok", "ok", "ok"),
        *("ok", "build-timeout", "ok"),
    ]
    early, late = (trial for trial in run.trials if trial.status != "ok")
    assert 0.8 <= early.build_s < 2.8
    allowed_s = limit.limit_s([trial.build_s for trial in run.trials[:4]])
    assert allowed_s <= late.build_s < allowed_s + 2.0
    assert f"{allowed_s:g} s" in late.error


class Cramped(LocalEngine):
    """An engine that holds two programs at a time."""

    capacity = 2


def test_a_batch_that_the_engine_cannot_hold_is_measured_in_parts(target, lasting_servers):
    with Cramped(target) as engine:
        made = search(
            Doubling(), scripted(("fine",) * 5), engine, trials=5, round_trials=5,
            on_trial=lambda at: held.append(len(psutil.Process(engine.server_pid).children())),
        )  # fmt: skip
        held = []
        made.step()
    assert [trial.status for trial in made.trials] == ["ok"] * 5
    assert held == [1, 0, 1, 0, 0]


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
    rounds.finished(made)
    assert [one.restarts for one in made.rounds] == [0, 1, 0]
    assert [trial.status for trial in made.trials] == ["ok"] * 3


def test_what_a_trial_took_is_recorded(engine):
    strategy = scripted(("fine", "unbuildable"))
    run = run_of(Doubling(), strategy, engine, trials=2, round_trials=2)
    fine, unbuildable = run.trials
    assert min(fine.build_s, fine.run_s, fine.peak_memory_mb) > 0
    assert unbuildable.build_s > 0
    assert unbuildable.run_s == 0


def test_a_schedule_from_outside_the_design_space_has_no_sketch(engine):
    run = run_of(Doubling(), scripted(("fine",)), engine, trials=1, round_trials=1)
    assert run.trials[0].sketch == -1


def test_more_candidates_than_asked_for_are_not_measured(engine):
    run = run_of(Doubling(), scripted(("fine",) * 5), engine, trials=2, round_trials=2)
    assert len(run.trials) == 2


def test_an_exhausted_strategy_ends_the_run_with_a_reason(engine):
    run = run_of(Doubling(), scripted(("fine",), None), engine, trials=4, round_trials=1)
    assert run.stopped == "the strategy proposes nothing more"
    assert len(run.trials) == 1


def test_empty_rounds_are_borne_with_five_times(engine):
    empty = scripted(("fine",), *[()] * 9)
    run = run_of(Doubling(), empty, engine, trials=4, round_trials=1)
    assert run.stopped == "5 rounds without a new candidate"
    assert len(run.rounds) == 6


def test_a_run_without_a_valid_trial_has_no_best(engine):
    made = search(Doubling(), scripted(("wrong",)), engine, trials=1, round_trials=1)
    rounds.finished(made)
    assert made.tasks[0].best is None
    assert made.estimated_s is None
    assert made.best_gflops == 0


def test_the_best_is_the_fastest_valid_trial(engine):
    made = search(Doubling(), scripted(("wrong", "fine")), engine, trials=2, round_trials=2)
    rounds.finished(made)
    best = made.tasks[0].best
    assert (best.index, best.latency_s) == (1, made.trials[1].latency_s)


def test_searches_that_take_turns_do_not_touch_numpys_global_state(unbuilding_engine):
    np.random.seed(5)
    expected = np.random.uniform(size=3).tolist()
    np.random.seed(5)
    drawn = []
    small = brief(Registry().get("default"))
    made = search(MATMUL, small, unbuilding_engine, trials=4, round_trials=2)
    while not made.finished:
        drawn.append(np.random.uniform())
        made.step()
    drawn.append(np.random.uniform())
    assert drawn == expected
