"""`ansor-bench train-draft` on measured programs: made-up ones for laws, a journal's for real."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace

import numpy as np
import pytest

from pytest_ansorbench.cli import main, make_parser
from pytest_ansorbench.strategies import POOLED, Experience, load_program_model
from pytest_ansorbench.strategies.program_model import SHIPPED
from pytest_ansorbench.training import BadSamples, ProgramFitSettings
from pytest_ansorbench.training.arrays import digest, save_arrays
from pytest_ansorbench.training.experience import (
    MOST,
    cross_predict_decisions,
    experience_of,
    joined,
)
from pytest_ansorbench.training.fit_programs import (
    cross_predict_programs,
    fit_programs,
    score_programs,
)
from pytest_ansorbench.training.programs import Programs, load_programs
from tests.training.samples import make_samples

QUICK = ProgramFitSettings(trees=30, depth=3, learning_rate=0.2, columns=0.5)


def made_up(seed, programs=120, scale=1e-3):
    """A task whose programs are slow by their seventh and eleventh feature, on its own scale.

    Decisions of two kinds of sketches, of three and two columns, tell the same.
    """
    rng = np.random.default_rng(seed)
    features = rng.random((programs, POOLED)).astype(np.float32)
    latencies_s = scale * np.exp2(3.0 * features[:, 7] - 2.0 * features[:, 11])
    latencies_s[rng.random(programs) < 0.05] = math.inf
    decisions = np.stack([features[:, 7], features[:, 11], features[:, 0]], axis=1)
    kinds = np.where(rng.random(programs) < 0.5, "three", "two")
    decisions[kinds == "two", 2] = np.nan
    kinds[0], decisions[0] = "", np.nan
    name = f"case-{seed}"
    return Programs(name, name, "made up", features, latencies_s, 12.5, kinds, decisions)


@pytest.fixture(scope="module")
def tasks():
    return [made_up(seed, scale=10.0**-seed) for seed in range(6)]


@pytest.fixture
def folder(tasks, tmp_path):
    for task in tasks:
        save_arrays(task, tmp_path / f"{task.case}.npz")
    return tmp_path


def train(folder, *more, source=None):
    return main(
        ["train-draft", "--from", str(source or folder), "-o", str(folder / "m.ubj"), *more]
    )


def test_programs_survive_their_file(folder, tasks):
    assert digest([load_programs(folder / "case-3.npz")]) == digest([tasks[3]])


def test_what_is_learnt_on_some_tasks_holds_on_others(tasks):
    scores = score_programs(tasks, cross_predict_programs(tasks, QUICK, folds=3))
    assert scores.tasks == 6
    assert scores.rank_correlation > 0.6
    assert scores.drawn < scores.picked <= 1.0


def test_a_model_that_knows_nothing_picks_as_chance_does(tasks):
    rng = np.random.default_rng(0)
    scores = score_programs(tasks, [rng.random(len(task.latencies_s)) for task in tasks])
    assert abs(scores.rank_correlation) < 0.2
    assert scores.picked == pytest.approx(scores.drawn, abs=0.1)


def test_equal_data_give_an_equal_model(tasks, tmp_path):
    for name in ("one.ubj", "two.ubj"):
        fit_programs(tasks, replace(QUICK, trees=10)).save(tmp_path / name)
    assert (tmp_path / "one.ubj").read_bytes() == (tmp_path / "two.ubj").read_bytes()


def test_a_model_that_goes_on_from_another_keeps_its_trees(tasks):
    base = fit_programs(tasks[:3], QUICK)
    more = fit_programs(tasks[3:], replace(QUICK, trees=10), base)
    assert base.booster.num_boosted_rounds() == 30
    assert more.booster.num_boosted_rounds() == 40


def test_experience_has_the_trials_of_all_tasks_by_kind_relative_to_the_best(tasks):
    known = experience_of(tasks[:2])
    assert {kind: trials.features.shape[1] for kind, trials in known.items()} == {
        "three": 3,
        "two": 2,
    }
    assert sum(len(trials.throughput) for trials in known.values()) == 2 * 119
    every = np.concatenate([trials.throughput for trials in known.values()])
    expected = np.concatenate([task.latencies_s.min() / task.latencies_s[1:] for task in tasks[:2]])
    np.testing.assert_allclose(np.sort(every), np.sort(expected))


def test_experience_of_several_is_joined_up_to_a_number_of_trials():
    known = experience_of([made_up(seed, programs=700) for seed in range(2)])
    more = joined(known, experience_of([made_up(7, programs=1_400)]))
    assert [len(trials.throughput) for trials in more.values()] == [MOST, MOST]


def test_decisions_of_other_tasks_predict_a_task(tasks):
    scores = score_programs(tasks, cross_predict_decisions(tasks))
    assert scores.rank_correlation > 0.6


def test_a_task_without_a_valid_trial_is_no_experience():
    failed = replace(made_up(0), latencies_s=np.full(120, math.inf))
    assert experience_of([failed]) == {}


def test_without_a_valid_trial_there_is_nothing_to_learn():
    failed = replace(made_up(0), latencies_s=np.full(120, math.inf))
    with pytest.raises(ValueError, match="nothing to train on"):
        fit_programs([failed], QUICK)


def test_one_task_with_a_valid_trial_is_enough_to_learn_from(tasks, tmp_path):
    save_arrays(tasks[0], tmp_path / "valid.npz")
    failed = replace(tasks[1], latencies_s=np.full(120, math.inf))
    save_arrays(failed, tmp_path / "failed.npz")
    assert train(tmp_path, "--trees", "3") == 0
    card = json.loads((tmp_path / "m.card.json").read_text())
    assert [*card["scores"]] == ["training"] and len(card["data"]["tasks"]) == 2


def test_a_single_program_makes_a_model_that_is_read_and_has_no_scores(tmp_path):
    single = replace(made_up(0, programs=1), latencies_s=np.array([1e-3]))
    save_arrays(single, tmp_path / "single.npz")
    assert train(tmp_path, "--trees", "3") == 0
    card = tmp_path / "m.card.json"
    assert json.loads(card.read_text())["scores"] == {}
    card.write_text(card.read_text().replace('"scores": {}', '"scores": NaN'))
    assert load_program_model(tmp_path / "m.ubj").predict(single.features).shape == (1,)


def test_the_command_writes_a_model_and_its_card(folder, capsys):
    assert train(folder, "--trees", "15") == 0
    out = capsys.readouterr().out
    assert "case-2, case-2: 120 programs" in out
    assert "cross validated: rank correlation 0." in out and "to what took 75 s to measure" in out
    card = json.loads((folder / "m.card.json").read_text())
    assert set(card) == {
        *("command", "versions", "model", "experience"),
        *("base", "data", "fit", "scores"),
    }
    assert card["data"]["programs"] == 720 and card["data"]["measuring_s"] == 75
    assert 0 < card["data"]["failed"] < 100
    assert card["data"]["tasks"]["case-5"] == 120
    assert card["fit"]["trees"] == 15 and card["base"] is None
    assert card["model"]["bytes"] == (folder / "m.ubj").stat().st_size
    assert "decisions cross validated: rank correlation 0." in out
    assert card["experience"]["kinds"] == 2 and card["experience"]["trials"] == 714
    assert card["experience"]["bytes"] == (folder / "m.npz").stat().st_size
    assert set(Experience(path=folder / "m.npz").known()) == {"two", "three"}
    assert load_program_model(folder / "m.ubj").predict(made_up(9).features).shape == (120,)


def test_an_interrupt_does_not_deny_what_it_leaves(tmp_path, tasks, capsys, monkeypatch):
    def interrupted(card, model):
        raise KeyboardInterrupt

    module = "pytest_ansorbench.training.train_draft"  # whose name a function of the package has
    monkeypatch.setattr(sys.modules[module], "write_card", interrupted)
    save_arrays(tasks[0], tmp_path / "one.npz")
    assert train(tmp_path, "--trees", "1") == 3
    assert (tmp_path / "m.ubj").exists() and (tmp_path / "m.npz").exists()
    assert capsys.readouterr().err == "ansor-bench: interrupted; the same command starts anew\n"


def test_other_arrays_in_a_folder_are_passed_over(folder):
    save_arrays(make_samples(), folder / "rules.npz")
    np.savez(folder / "weights.npz", bias=np.zeros(3))
    assert train(folder, "--trees", "3") == 0
    assert json.loads((folder / "m.card.json").read_text())["data"]["programs"] == 720


def test_a_task_of_two_sessions_is_one_task(folder, tasks):
    save_arrays(replace(tasks[5], search_s=13.5), folder / "again.npz")
    assert train(folder, "--trees", "3") == 0
    card = json.loads((folder / "m.card.json").read_text())
    assert (card["data"]["tasks"]["case-5"], card["data"]["programs"]) == (240, 840)
    for path in folder.glob("case-[0-4].npz"):
        path.unlink()
    assert train(folder, "--trees", "3") == 0
    assert [*json.loads((folder / "m.card.json").read_text())["scores"]] == ["training"]


@pytest.mark.parametrize("predict", [cross_predict_decisions, cross_predict_programs])
def test_what_another_session_measured_of_a_task_is_left_out_with_it(tasks, predict):
    options = (QUICK,) if predict is cross_predict_programs else ()
    [alone, *_], [left_out, _, twin] = (
        predict(data, *options) for data in (tasks[:2], [*tasks[:2], tasks[0]])
    )
    np.testing.assert_array_equal(left_out, alone)
    np.testing.assert_array_equal(twin, alone)
    assert score_programs([tasks[0], tasks[0]], [twin, twin]).tasks == 1


def test_experience_is_no_source_but_what_goes_with_a_base(tmp_path, capsys):
    experience = SHIPPED.with_suffix(".npz")
    assert main(["train-draft", "--from", str(experience), "-o", str(tmp_path / "m.ubj")]) == 2
    told = capsys.readouterr().err
    assert f"bad source {str(experience)!r}: the decisions that lie beside a model" in told
    assert "the model as base" in told


def test_the_command_goes_on_from_a_model(folder):
    assert train(folder, "--trees", "3", "--base", str(SHIPPED)) == 0
    trees = load_program_model(SHIPPED).booster.num_boosted_rounds()
    assert load_program_model(folder / "m.ubj").booster.num_boosted_rounds() == trees + 3
    card = json.loads((folder / "m.card.json").read_text())
    assert card["base"] == "draft.ubj"
    assert card["experience"]["kinds"] == 2 + len(Experience().known())


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("missing", "bad source 'missing': expected journals (.jsonl) or samples (.npz)"),
        ("result.json", "bad source 'result.json': a result does not keep programs"),
        ("missing.npz", "bad samples missing.npz"),
        ("missing.jsonl", "bad journal 'missing.jsonl': expected an existing file"),
    ],
)
def test_a_source_without_programs_is_named(folder, source, message, capsys):
    assert train(folder, source=source) == 2
    assert message in capsys.readouterr().err


def test_an_empty_folder_is_named(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert train(tmp_path, source=tmp_path / "empty") == 2
    assert "expected journals (.jsonl) or samples (.npz)" in capsys.readouterr().err


def test_rows_that_do_not_fit_are_refused(tasks, tmp_path):
    save_arrays(replace(tasks[0], latencies_s=np.ones(3)), tmp_path / "bad.npz")
    with pytest.raises(BadSamples, match=r"latencies_s is float64\[3\]; expected floating\[120\]"):
        load_programs(tmp_path / "bad.npz")
    save_arrays(replace(tasks[0], decisions=np.ones((3, 2))), tmp_path / "bad.npz")
    with pytest.raises(BadSamples, match=r"its decisions is float64\[3, 2\]; expected"):
        load_programs(tmp_path / "bad.npz")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--base", "missing.ubj"], "bad program model missing.ubj"),
        (["-o", "model.txt"], "bad output 'model.txt': expected a .ubj or .json file"),
    ],
)
def test_bad_words_are_answered(folder, words, message, capsys):
    assert train(folder, *words) == 2
    assert message in capsys.readouterr().err


def test_help_says_what_it_learns_from(capsys):
    with pytest.raises(SystemExit):
        make_parser().parse_args(["train-draft", "--help"])
    out = " ".join(capsys.readouterr().out.split())
    assert "Learns from programs that were measured before" in out
    assert "--base FILE" in out
