"""Searches of a landscape are real, need no TVM, and see nothing but what was measured."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ansorbench.cli import main
from pytest_ansorbench.cli.exits import sentence
from pytest_ansorbench.landscapes.files import read_landscape
from pytest_ansorbench.landscapes.records import Landscape, PointRecord
from pytest_ansorbench.landscapes.replaying import Plan, replay
from pytest_ansorbench.report.build import result_report
from pytest_ansorbench.report.render.formats import RENDERERS
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.judging import judge_arms
from pytest_ansorbench.stats.limits import Allowance, Limits
from pytest_ansorbench.stats.paired_runs import pair_runs
from pytest_ansorbench.stats.suite import judge_suites
from pytest_ansorbench.stats.trajectory import Trajectory
from pytest_ansorbench.storage import read_result, result_changes
from pytest_ansorbench.strategies import (
    BadModel,
    Draft,
    Experience,
    Genetic,
    Grid,
    NoModel,
    PointSearch,
    PointSearchPolicy,
    Registry,
    StrategyError,
    Suggestion,
)
from pytest_ansorbench.strategies.proposer import DecisionPolicy
from tests.landscapes.recorded import LANDSCAPES, timed
from tests.pages import REPOSITORY, page
from tests.strategies.point_searches import brief, needing
from tests.synthetic import make_judged, with_runs

OF_PROGRAMS = ("autotvm-loops", "autotvm-relations", "autotvm-treegru")
"""Their models are told of programs, which a landscape does not have."""
NAMES = [
    one.name
    for one in Registry()
    if isinstance(one.proposer, DecisionPolicy) and one.name not in OF_PROGRAMS
]
WHOLE = Plan(trials=1_000, round_trials=16, repeats=1)


def runs_of(landscape, *names, plan=WHOLE):
    [case] = replay([landscape], [brief(name) for name in names], plan).cases
    return case.runs


def programs(landscape):
    return {one.program for one in landscape.results if one.program}


@pytest.mark.parametrize("name", [one for one in NAMES if one != "tpe"])
def test_it_ends_with_the_best_and_measures_no_program_twice(landscape, name):
    """The whole landscape is within its budget."""
    best_s = min(min(one.times.runtimes, default=1.0) for one in landscape.results)
    [run] = runs_of(landscape, name)
    assert len(run.trials) == len(programs(landscape))
    assert run.final is not None and run.final.latency_s == pytest.approx(best_s)
    assert run.stopped == "the strategy proposes nothing more"
    assert run.estimated_s == pytest.approx(best_s)


@pytest.mark.parametrize("name", ["droplet", "annealing", "autotvm", "draft"])
def test_a_search_finds_a_known_optimum_before_chance_does(landscape, name):
    """Throughput falls with each step away from the optimum: 24 of some 80 trials are enough."""
    spaces, found = landscape.subject.spaces, 0
    points = [(one.index, v) for one in spaces for v in one.every().tolist()]
    for seed in range(3):
        at, best = points[7 * seed + 3]

        def latency_s(place, at=at, best=best):
            index, vector = points[place]
            away = sum(a != b for a, b in zip(vector, best, strict=True)) + 2 * (index != at)
            return 1e-3 * 1.5**away

        hidden = timed(landscape, latency_s)
        plan = replace(WHOLE, trials=24, seed=seed, round_trials=4)
        [run] = runs_of(hidden, name, plan=plan)
        found += run.estimated_s <= 1.5e-3
    assert found >= 2


@settings(max_examples=6, deadline=None)
@given(trials=st.integers(1, 100), round_trials=st.integers(1, 20), seed=st.integers(0, 3))
def test_budgets_of_trials_are_kept(landscape, trials, round_trials, seed):
    plan = Plan(trials, round_trials, 1, seed=seed)
    for run in runs_of(landscape, "genetic", "droplet", plan=plan):
        assert len(run.trials) == min(trials, len(programs(landscape)))
        assert all(0 < sum(t.round == r.index for t in run.trials) <= round_trials
                   for r in run.rounds[:-1])  # fmt: skip


def test_budgets_of_recorded_seconds_are_kept(landscape):
    """Each point takes half a second; no round begins after the time."""
    slow = timed(landscape, lambda place: 1e-3 * (1 + place))
    [run] = runs_of(slow, "grid", plan=replace(WHOLE, round_trials=4, run_time_s=5.0))
    assert len(run.trials) == 12
    assert run.search_s == pytest.approx(run.trials[-1].search_s) and 6.0 <= run.search_s < 6.5
    times = [one.times for one in slow.results]
    assert {one.benchmark_time for one in times} == {0.5}
    assert all(one.propose_s == one.learn_s == 0.0 for one in run.rounds)


@needing(NAMES)
def test_the_same_seed_is_the_same_run_and_another_one_is_not(landscape, name):
    plan = replace(WHOLE, trials=24, repeats=2)
    one, other = (runs_of(landscape, name, plan=plan) for _ in range(2))
    assert one == other
    assert name == "grid" or one[0].trials != one[1].trials


def test_the_order_of_files_does_not_matter(landscape):
    others = [landscape, timed(landscape, lambda place: 1e-3 / (1 + place))]
    plan = replace(WHOLE, trials=16, repeats=2)
    one, other = (replay(order, [brief("genetic")], plan) for order in (others, others[::-1]))
    assert one.cases == other.cases and one.settings == other.settings
    assert len({run.landscape for case in one.cases for run in case.runs}) == 2


def test_a_task_that_a_case_calls_often_is_told_by_a_single_call(landscape):
    task = replace(landscape.subject.task, weight=3)
    thrice = Landscape.of(replace(landscape.subject, task=task), landscape.results, 1.0)
    [one], [other] = (runs_of(which, "grid") for which in (landscape, thrice))
    assert Trajectory.of(other).best_s == Trajectory.of(one).best_s
    assert other.flops == one.flops == landscape.subject.task.flops


def test_slices_are_noise_and_results_count_their_median(landscape):
    """Slices at the same place of two points are no neighbours in time."""

    def noisy(place, one):
        slices = (1e-3 * (1 + place), 1.1e-3 * (1 + place), 5e-3 * (1 + place))
        turned = (*slices[place % 3 :], *slices[: place % 3])
        return replace(one, times=replace(one.times, runtimes=turned))

    points = tuple(noisy(*pair) for pair in enumerate(landscape.results))
    made = Landscape.of(landscape.subject, points, 1.0)
    grid, genetic = runs_of(made, "grid", "genetic")
    assert {len(trial.latencies_s) for trial in grid.trials} == {1}
    assert len({round(trial.latency_s % 1e-3, 6) for trial in grid.trials}) > 1
    assert sorted(t.latencies_s for t in grid.trials) == sorted(
        t.latencies_s for t in genetic.trials
    )
    levels = {one.latency_s for one in made.results}
    paired = pair_runs([grid], [genetic], Criteria())
    for side in (*paired.reference, *paired.challenger):
        assert {lead.latencies_s for lead in side.run.leads} <= {(one,) for one in levels}
        assert {side.final_s, *side.latency_s.tolist()} <= levels


def test_what_a_search_draws_says_nothing_of_slices(landscape):
    drawn = []

    class Drawing(Grid):
        def search(self, space, rng, trials):
            drawn.extend(rng.random(len(landscape.results)).tolist())
            return super().search(space, rng, trials)

    def told_apart(place, one):
        slices = (1.0 + place, 1.25 + place, 1.5 + place)
        return replace(one, times=replace(one.times, runtimes=slices))

    points = tuple(told_apart(*pair) for pair in enumerate(landscape.results))
    made = Landscape.of(landscape.subject, points, 1.0)
    [case] = replay([made], [replace(brief("grid"), proposer=Drawing())], WHOLE).cases
    seen = {int(one.latency_s) - 1: int(one.latency_s % 1.0 * 4.0) for one in case.runs[0].trials}
    assert len(seen) == len(programs(landscape))
    assert any(at != int(3.0 * drawn[place]) for place, at in seen.items())


def test_what_has_no_program_is_no_trial_and_failures_are(landscape):
    results = [*timed(landscape, lambda place: None if place % 3 else 1e-3).results]
    gone = results[0].program
    results = [
        PointRecord.no_program(one.configuration) if one.program == gone else one for one in results
    ]
    made = Landscape.of(landscape.subject, tuple(results), 1.0)
    [run] = runs_of(made, "grid")
    assert len(run.trials) == len(programs(made)) == len(programs(landscape)) - 1
    assert {trial.status for trial in run.trials} == {"ok", "run-error"}
    [run] = runs_of(timed(landscape, lambda place: None), "draft", plan=replace(WHOLE, trials=20))
    assert len(run.trials) == 20 and run.final.status == "run-error" and run.leads == ()


@pytest.mark.parametrize("search", [Draft(vector_units=None), Genetic()], ids=["draft", "genetic"])
def test_points_are_drawn_until_one_is_a_program(search):
    """Of 1,976 points one in fifty is."""
    whole = read_landscape(LANDSCAPES / "softmax-m1536-n128.json.gz")
    results = tuple(
        PointRecord.no_program(one.configuration) if place % 50 else one
        for place, one in enumerate(whole.results)
    )
    made = Landscape.of(whole.subject, results, 1.0)
    plan = replace(WHOLE, trials=1, repeats=20)
    [case] = replay([made], [replace(brief("draft"), proposer=search)], plan).cases
    assert [len(run.trials) for run in case.runs] == [1] * 20


@dataclass(frozen=True)
class Empty(DecisionPolicy):
    """Proposes nothing, round after round."""

    def start(self, setup):
        return self

    def propose(self, trials):
        return []

    def learn(self, batch):
        raise AssertionError("nothing was measured")

    recall = learn

    def decisions(self):
        return {}


def test_empty_rounds_end_a_search(landscape):
    strategy = replace(brief("grid"), proposer=Empty())
    [case] = replay([landscape], [strategy], WHOLE).cases
    assert case.runs[0].stopped == "5 rounds without a new candidate"


@pytest.mark.parametrize(
    ("note", "decided", "told"),
    [
        ({"number": np.int64(1)}, {}, "bad payload of strategy 'mine'"),
        ({}, {"number": np.int64(1)}, "bad decisions"),
    ],
)
def test_answers_are_refused_as_in_a_session(landscape, note, decided, told):
    class Noting(PointSearchPolicy):
        def search(self, space, rng, trials):
            return Noted(space, rng)

    class Noted(PointSearch):
        def __init__(self, space, rng):
            self.space, self.rng = space, rng

        def ask(self, wanted, taken):
            yield Suggestion(self.space.draw(self.rng), note)

        def tell(self, tried):
            pass

        def decisions(self):
            return decided

    strategy = replace(brief("grid"), name="mine", proposer=Noting())
    with pytest.raises(StrategyError, match=f"{told}.*expected a JSON value at .*number") as error:
        replay([landscape], [strategy], WHOLE)
    assert "strategy 'mine'" in sentence(error.value)


def test_experience_that_cannot_be_read_is_told_in_a_sentence(landscape, tmp_path):
    own = Draft(experience=Experience(tmp_path / "own.npz"))
    with pytest.raises(BadModel) as error:
        replay([landscape], [replace(brief("draft"), proposer=own)], WHOLE)
    told = f"bad experience {tmp_path / 'own.npz'}: No such file or directory; expected a file"
    assert sentence(error.value).startswith(told) and "strategy 'draft'" in sentence(error.value)


@pytest.mark.parametrize("name", ["default", "optimized", "random"])
def test_searches_that_make_programs_are_refused_before_any_other_begins(landscape, name):
    with pytest.raises(StrategyError, match=f"bad strategy '{name}': .* recorded runs of the same"):
        replay([landscape], [brief("grid"), Registry().get(name)], WHOLE)


def test_verdicts_are_labelled_and_gate_nothing(landscape):
    result = replay(
        [landscape], [brief("grid"), brief("genetic")], replace(WHOLE, trials=40, repeats=3)
    )
    [case] = result.cases
    limits = Limits({"search_ratio": 1e-6, "throughput_ratio": 1e6})
    verdicts = judge_arms(case.strategies, case.runs, Criteria(), limits)
    assert len(verdicts) == 1 and not verdicts[0].gates
    assert all(not one.gates for one in judge_suites([case], Criteria(), limits))
    measured = with_runs(case, landscape="")
    verdicts = judge_arms(case.strategies, measured.runs, Criteria(), limits)
    assert len(verdicts[0].gates) == 2
    text = RENDERERS["terminal"].render(result_report(make_judged(*result.cases)))
    assert f"6 runs searched {landscape.fingerprint}, not a machine" in text
    allowances = [Allowance.parse("search_time:1%")]
    for before, incomparable in ((result, False), (replace(result, cases=(measured,)), True)):
        [changes, *_] = result_changes(
            before, result, allowances, criteria=Criteria(), any_machine=True
        )
        assert not changes.gates
        assert bool(changes.incomparable) == incomparable


def test_replay_takes_no_tvm(landscape_file, tmp_path):
    code = """
import sys
from pathlib import Path
sys.modules["tvm"] = sys.modules["tvm_ffi"] = None
from pytest_ansorbench.cli import main
from pytest_ansorbench.landscapes.files import read_landscape
from pytest_ansorbench.landscapes.replaying import Plan, replay
from pytest_ansorbench.storage import write_result
from tests.strategies.point_searches import brief
file, output, *names = sys.argv[1:]
assert main(["landscape", "check", file]) == 0
found = replay([read_landscape(Path(file))], [*map(brief, names)], Plan(12, 6, 1))
write_result(found, Path(output))
"""
    output, names = tmp_path / "r.json.gz", [name for name in NAMES if name != "tpe"]
    done = subprocess.run(
        [sys.executable, "-c", code, str(landscape_file), str(output), *names],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=REPOSITORY,
    )
    assert done.returncode == 0, done.stderr
    [case] = read_result(output).cases
    assert [len(run.trials) for run in case.runs] == [12] * len(names)


def test_the_command_records_checks_replays_and_shows(
    made_up_engine, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("pytest_ansorbench.sessions.engine_of", lambda settings: made_up_engine)
    monkeypatch.chdir(tmp_path)
    case = "softmax-m1536-n128"
    record = ["landscape", "record", case, "-o", "scapes", "--points", "40"]
    assert main(record) == 0
    file = f"scapes/{case}.json.gz"
    assert f"written to {file}" in capsys.readouterr().out
    assert main(["landscape", "check", file]) == 0
    head, _, line, last = capsys.readouterr().out.splitlines()
    assert head.split()[:4] == ["operator", "points", "programs", "failed"]
    assert line.split()[0] == case and int(line.split()[1]) <= 40
    assert last == "1 checked, of made up: nothing is wrong"
    replayed = ["landscape", "replay", file, "--trials", "16", "--repeats", "2", "-o", "r.json"]
    assert main([*replayed, "--strategy", "grid,droplet", "--run-time", "9m"]) == 0
    assert "seconds proposing here" in capsys.readouterr().out
    assert main(["show", "r.json"]) == 0
    assert "not a machine" in capsys.readouterr().out
    for wrong, what in (
        ([*replayed, "--strategy", "grid,grid"], "expected each once"),
        ([*replayed, "--strategy", "grid", "--trials", "0"], "bad --trials 0"),
        ([*replayed, "--strategy", "grid", "-o", file], "it is read; expected another file"),
        ([*replayed[:3], *replayed[2:], "--strategy", "grid"], "expected each landscape once"),
        (["landscape", "replay", "gone", "--strategy", "grid", "-o", "r.json"], "landscape 'gone'"),
        *(
            ([*replayed, "--strategy", name], "these points have no programs")
            for name in OF_PROGRAMS
            # Without PyTorch that is what is missing first.
            if name != "autotvm-treegru" or find_spec("torch")
        ),
        ([*record, "--points", "30"], "it has the effort"),
        ([*record, "--license", "MIT"], "it has the license CC0-1.0, expected MIT"),
        ([*record, "--license", "mine"], "bad --license 'mine': expected one of CC0-1.0, "),
        (["landscape", "record", "resnet18-n1-s224", "-o", "scapes"], "expected an operator"),
    ):
        assert main(wrong) == 2
        assert what in capsys.readouterr().err
    (tmp_path / file).write_bytes(b"{}")
    assert main(["landscape", "check", file]) == 1
    assert "bad landscape" in capsys.readouterr().out
    assert np.isfinite(read_result(tmp_path / "r.json").cases[0].runs[0].search_s)


def test_a_search_of_ones_own_is_named_by_its_module(landscape_file, tmp_path, monkeypatch, capsys):
    """The page's own example."""
    (tmp_path / "climbing.py").write_text(page("docs/climbing.py"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    words = ["landscape", "replay", str(landscape_file), "--trials", "16", "-o", "r.json"]
    assert main([*words, "--strategy", "grid,climbing:CLIMB"]) == 0
    [case] = read_result(tmp_path / "r.json").cases
    assert case.strategies == ("grid", "climb")
    assert {len(run.trials) for run in case.runs} == {16}
    assert sys.modules["climbing"].CLIMB.cost_model == NoModel(), "nobody reads its scores"
    capsys.readouterr()
    for word, why in (
        ("climbing:BOLD", "AttributeError: module 'climbing' has no attribute 'BOLD'; expected a"),
        ("nowhere:BOLD", "No module named 'nowhere'; expected a name"),
        ("climbing:Climb", "expected a pytest_ansorbench.Strategy"),
        ("climbing:CLIMB,climbing:CLIMB", "expected each once"),
    ):
        assert main([*words, "--strategy", word]) == 2
        told = capsys.readouterr().err
        assert "bad --strategy" in told and why in told, told
    sys.modules.pop("climbing")
