"""`ansor-bench train-rules` as a whole, on two small workloads."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from pytest_ansorbench.cli import main, make_parser
from pytest_ansorbench.measure.outcomes import Built
from pytest_ansorbench.strategies import is_blind, load_rule_model
from pytest_ansorbench.strategies.rule_model import SHIPPED
from pytest_ansorbench.training import HELD_OUT, OTHER_FAMILIES, TODAY, TRAINING, Effort
from pytest_ansorbench.training.rule_samples import _tuned, load_samples
from pytest_ansorbench.workloads import CASES, Operator
from tests.fast_engine import FastEngine
from tests.strategies.setups import unchecked_tasks

WORKLOADS = [*TRAINING, *HELD_OUT, *OTHER_FAMILIES, *TODAY]
TRAINED, JUDGED = "matmul-b1-m16-n1024-k512", "matmul-b4-m80-n80-k64"
QUICK = [
    *("--trials", "8", "--programs", "10", "--draws", "2"),
    *("--workloads", f"{TRAINED},{JUDGED}"),
]


def train(folder, *more, output="rules.ubj"):
    return main(
        ["train-rules", "-o", str(folder / output), "--samples", str(folder / "samples"), *more]
    )


@pytest.fixture(scope="module", autouse=True)
def fast_engine(target):
    """Latencies are made up, of programs that nobody compiles."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "pytest_ansorbench.measure.local.engine.local_engine",
            lambda asked, settings: FastEngine(target, compiles=False),
        )
        yield


class UnbuildingEngine(FastEngine):
    """No program can be built."""

    def _built(self, program, check):
        return Built("build-error", 0.0, "planted")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    assert train(folder, *QUICK) == 0
    return folder


def test_no_shape_is_trained_on_that_a_case_has():
    ids = [workload.id for workload in WORKLOADS]
    assert len(set(ids)) == len(ids)
    shipped = [case for case in CASES if isinstance(case, Operator)]
    assert not {case.id for case in shipped} & set(ids)
    shapes = {str(case.input_shapes) for case in shipped}
    assert not shapes & {str(case.input_shapes) for case in WORKLOADS}


def test_every_workload_has_a_program():
    for workload in WORKLOADS:
        [task] = unchecked_tasks(workload)
        assert task.flops > 0, workload


def test_the_least_workload_of_each_family_has_a_reference():
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo

    falling = sorted(WORKLOADS, key=lambda workload: -workload.flops)
    for workload in {type(one): one for one in falling}.values():
        [task] = workload.tasks()
        # The last argument is the output.
        [*_, output] = ArgInfo.from_prim_func(task.mod["main"])
        assert task.check.expected.shape == tuple(int(extent) for extent in output.shape), workload


def test_samples_hold_what_every_rule_made_of_every_program(trained):
    samples = load_samples(trained / "samples" / f"{TRAINED}.npz")
    programs, rules, draws = samples.mutant_scores.shape
    assert (rules, draws) == (4, 2) and programs >= 6
    assert samples.features.shape[0] == samples.scores.shape[0] == programs
    assert np.isfinite(samples.features).all()
    valid = np.isfinite(samples.mutant_scores).sum(axis=2)
    assert np.all(valid + samples.inapplicable <= draws)
    tile = samples.rules.index("MutateTileSize")
    assert valid[:, tile].sum() > programs
    # A matmul has no compute location to mutate, and that is recorded as such.
    assert np.all(samples.inapplicable[:, samples.rules.index("MutateComputeLocation")] == draws)


def test_the_card_tells_what_the_model_was_made_of(trained):
    card = json.loads((trained / "rules.card.json").read_text())
    assert set(card) == {
        "command",
        "seed",
        "versions",
        "model",
        "data",
        "labels",
        "fit",
        "scores",
    }
    assert set(card["data"]["training"]) == {TRAINED}
    assert set(card["data"]["held_out"]) == {JUDGED}
    assert card["model"]["bytes"] == (trained / "rules.ubj").stat().st_size
    assert set(card["scores"]) == {"training", "held_out"}
    assert "trials=8" in card["data"]["collected"]
    assert load_rule_model(trained / "rules.ubj").rules


def test_what_was_collected_is_not_collected_again_and_gives_the_same_model(trained, capsys):
    files = {path: path.stat().st_mtime_ns for path in (trained / "samples").iterdir()}
    assert train(trained, *QUICK, output="again.ubj") == 0
    out = capsys.readouterr().out
    assert "trials ..." not in out
    assert "held out: accuracy" in out
    assert {path: path.stat().st_mtime_ns for path in (trained / "samples").iterdir()} == files
    assert (trained / "again.ubj").read_bytes() == (trained / "rules.ubj").read_bytes()
    cards = [json.loads((trained / f"{n}.card.json").read_text()) for n in ("rules", "again")]
    assert {**cards[0], "command": ""} == {**cards[1], "command": ""}


def test_samples_collected_otherwise_are_refused(trained, tmp_path, capsys):
    (trained / "samples" / f"{JUDGED}.npz").rename(tmp_path / "aside.npz")
    try:
        assert train(trained, *QUICK, "--seed", "5", output="other.ubj") == 2
    finally:
        (tmp_path / "aside.npz").rename(trained / "samples" / f"{JUDGED}.npz")
    assert "seed=0" in (err := capsys.readouterr().err) and "seed=5" in err
    assert "choose another folder with --samples" in err


@pytest.mark.parametrize(
    "words",
    [
        ["--trials", "80"],
        ["--programs", "11"],
        ["--draws", "20"],
        ["--seed", "5"],
        ["--target", '{"kind": "llvm", "mcpu": "haswell", "num-cores": 1}'],
    ],
    ids=lambda words: words[0],
)
def test_samples_of_another_effort_seed_or_target_are_refused(trained, capsys, words):
    assert train(trained, *QUICK, *words, output="other.ubj") == 2
    err = capsys.readouterr().err
    assert "trials=8, round_trials=32, programs=10, draws=2, seed=0" in err
    assert f"{words[0].strip('-')}={words[1]}" in err or "haswell" in err
    assert not (trained / "other.ubj").exists()


def test_few_trials_train_the_cost_model(target):
    [case] = [workload for workload in WORKLOADS if workload.id == TRAINED]
    with FastEngine(target, compiles=False) as engine:
        setup = _tuned(case, engine, Effort(trials=4), seed=0)
    assert not is_blind(setup.cost_model)


def test_labels_of_an_untrained_cost_model_are_refused(target, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        "pytest_ansorbench.measure.local.engine.local_engine",
        lambda asked, settings: UnbuildingEngine(target),
    )
    assert train(tmp_path, *QUICK) == 2
    message = f"bad samples of {TRAINED}: too few of 8 trials are valid"
    assert message in capsys.readouterr().err
    assert not [*(tmp_path / "samples").iterdir()]


def test_a_damaged_file_is_named(trained, tmp_path, capsys):
    path = trained / "samples" / f"{JUDGED}.npz"
    content = path.read_bytes()
    path.write_bytes(content[:100])
    try:
        assert train(trained, *QUICK, output="other.ubj") == 2
    finally:
        path.write_bytes(content)
    assert f"bad samples {path}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--workloads", "nonsense"], "bad workloads 'nonsense': 'nonsense' is none of conv2d"),
        (["--workloads", f"{TRAINED},b"], f"bad workloads '{TRAINED},b': 'b' is none of conv2d"),
        (["--workloads", TRAINED], f"bad workloads '{TRAINED}': expected at least one of conv2d"),
        (["--trials", "0"], "bad trials 0: expected at least 1, e.g. 4"),
    ],
)
def test_bad_words_are_refused(tmp_path, capsys, words, message):
    assert train(tmp_path, *words) == 2
    assert message in capsys.readouterr().err


def test_the_commands_defaults_are_those_of_the_package():
    given = vars(make_parser().parse_args(["train-rules", "-o", "rules.ubj"]))
    effort = dataclasses.asdict(Effort())
    assert {name: given[name] for name in effort if name in given} == {
        name: value for name, value in effort.items() if name != "round_trials"
    }


def test_an_output_of_another_kind_is_refused(tmp_path, capsys):
    assert train(tmp_path, output="rules.pickle") == 2
    assert "expected a .ubj or .json file" in capsys.readouterr().err


def test_an_interrupt_says_how_to_go_on(tmp_path, capsys, monkeypatch):
    def interrupted(case, *search):
        raise KeyboardInterrupt

    monkeypatch.setattr("pytest_ansorbench.training.rule_samples._tuned", interrupted)
    assert train(tmp_path, *QUICK) == 3
    told = capsys.readouterr()
    assert f"1/2 {TRAINED}: 8 trials ..." in told.out
    assert (
        f"interrupted; the same command goes on with what is in {tmp_path / 'samples'}" in told.err
    )


@pytest.mark.slow
def test_the_shipped_card_is_what_its_command_makes_of_its_samples(tmp_path):
    samples = Path(__file__).parents[2] / "docs" / "results" / "rule-samples"
    output = tmp_path / "rules.ubj"
    assert main(["train-rules", "--samples", str(samples), "-o", str(output)]) == 0
    shipped = json.loads(SHIPPED.with_suffix(".card.json").read_text())
    made = json.loads(output.with_suffix(".card.json").read_text())
    for key in ("seed", "data", "labels", "fit"):
        assert made[key] == shipped[key], key
    # Another CPU or another XGBoost may round otherwise.
    for part, scores in shipped["scores"].items():
        assert made["scores"][part] == pytest.approx(scores, abs=0.01), part
    assert hashlib.sha256(SHIPPED.read_bytes()).hexdigest() == shipped["model"]["sha256"]
