"""What `train-rules` and `train-draft` refuse, and what they take unless told otherwise."""

from __future__ import annotations

import pytest

from pytest_ansorbench.cli import main, make_parser
from pytest_ansorbench.strategies.model_file import file_facts, write_card
from pytest_ansorbench.training import HELD_OUT, TRAINING

ONE, OTHER = TRAINING[0].id, HELD_OUT[0].id


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-o", "rules.txt"], "bad output 'rules.txt': expected a .ubj or .json file"),
        (["--workloads", "conv9d"], "bad workloads 'conv9d': 'conv9d' is none of"),
        (["--workloads", ONE], f"bad workloads {ONE!r}: expected at least one of {OTHER}"),
        (["--workloads", OTHER], f"bad workloads {OTHER!r}: expected at least one of {ONE}"),
        (["--seed", "-1"], "bad --seed -1: expected 0 or more"),
        (["--trials", "0"], "bad trials 0: expected at least 1"),
        (["--programs", "0"], "bad programs 0: expected at least 1"),
        (["--draws", "0"], "bad draws 0: expected at least 1"),
        (["--workloads", f"{ONE},{OTHER}", "--target", "hexagon"], "bad --target 'hexagon'"),
    ],
)
def test_rules_cannot_be_learnt_from_it(tmp_path, capsys, words, message):
    output = [] if "-o" in words else ["-o", str(tmp_path / "rules.ubj")]
    assert main(["train-rules", "--samples", str(tmp_path), *output, *words]) == 2
    assert message in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "0001.jsonl"),
        (["--seed", "-1"], "bad --seed -1: expected 0 or more"),
        (["--trees", "0"], "bad trees 0: expected at least 1, e.g. 250"),
    ],
)
def test_a_draft_cannot_be_learnt_from_it(tmp_path, capsys, words, message):
    files = ["--from", str(tmp_path / "0001.jsonl"), "-o", str(tmp_path / "d.ubj")]
    assert main(["train-draft", *files, *words]) == 2
    assert message in capsys.readouterr().err


def test_nothing_is_collected_for_a_model_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "rules.card.json").mkdir()
    words = ["--samples", str(tmp_path / "samples"), "-o", str(tmp_path / "rules.ubj")]
    assert main(["train-rules", *words]) == 2
    assert "rules.card.json': expected a file, not a folder" in capsys.readouterr().err
    assert not (tmp_path / "samples").exists()


@pytest.mark.parametrize("words", [["train-rules"], ["train-draft", "--from", "0001.jsonl"]])
def test_the_card_of_another_model_is_not_written_over(tmp_path, capsys, words):
    other = tmp_path / "mine.json"
    other.write_text("a model")
    write_card({"model": file_facts(other)}, other)
    assert main([*words, "-o", str(tmp_path / "mine.ubj")]) == 2
    told = "mine.ubj': its card would replace that of mine.json; expected another name, e.g. new-"
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (["--from", "own.npz", "-o", "own.ubj"], "own.npz"),
        (["--from", ".", "-o", "own.ubj"], "own.npz"),
        (["--from", "own.npz", "--base", "base.ubj", "-o", "base.json"], "base.npz"),
    ],
)
def test_nothing_that_a_draft_learns_from_is_written_over(
    tmp_path, monkeypatch, capsys, words, file
):
    monkeypatch.chdir(tmp_path)
    for name in ("own.npz", "base.ubj", "base.npz"):
        (tmp_path / name).write_text("read")
    assert main(["train-draft", *words]) == 2
    assert f"bad output '{file}': it is read; expected another" in capsys.readouterr().err


def test_what_is_not_given_is_the_documented_effort():
    given = make_parser().parse_args(["train-rules", "-o", "rules.ubj"])
    assert (given.trials, given.programs, given.draws, given.seed) == (96, 160, 4, 0)
    assert make_parser().parse_args(["train-draft", "--from", "x", "-o", "d.ubj"]).trees == 250
