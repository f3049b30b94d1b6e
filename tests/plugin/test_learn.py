"""`--ansor-learn`: a bench adds to the user's own model, and later ones begin with it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pytest_ansorbench.cli import main
from pytest_ansorbench.storage import read_journal
from pytest_ansorbench.strategies import Experience, load_program_model
from pytest_ansorbench.strategies.program_model import SHIPPED
from pytest_ansorbench.training import LearningFolder
from pytest_ansorbench.training.programs import load_programs
from pytest_ansorbench.workloads import BatchMatmul
from tests.plugin.conftest import measuring_fast
from tests.plugin.project import Project

pytestmark = pytest.mark.usefixtures("unbuilding_engine")

CASE = BatchMatmul(batch=1, m=24, n=16, k=16)
CASES = """
import pytest
from pytest_ansorbench.workloads import BatchMatmul

@pytest.mark.parametrize("case", [BatchMatmul(batch=1, m=24, n=16, k=16)], ids=str)
def test_own(ansor_bench, case):
    ansor_bench(case)
"""
QUICK = (
    "--ansor-strategy=random,draft+transfer",
    *("--ansor-trials=8", "--ansor-round=4", "--ansor-repeats=1"),
    *("--ansor-final-turns=2", "--ansor-final-sets=1"),
    "--ansor-learn=own",
)


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """A project whose bench has learnt, and what that printed."""
    project = Project(tmp_path_factory.mktemp("taught"))
    project.write("test_cases.py", CASES)
    (project.root / "own").mkdir()
    project.write("own/draft.ubj", "a session that was killed before it wrote the card")
    with measuring_fast(compiles=False):
        return project, project.bench(*QUICK)


def test_a_bench_adds_its_programs_and_leaves_a_model(taught):
    project, outcome = taught
    assert outcome.code == 0, outcome.text
    assert "learnt: 16 programs added to" in outcome.out and "16 in all" in outcome.out
    own = project.root / "own"
    [samples] = (own / "samples").iterdir()
    programs = load_programs(samples)
    assert programs.case == "matmul-b1-m24-n16-k16"
    assert programs.features.shape == (16, 493) and programs.search_s > 0.0
    card = json.loads((own / "draft.card.json").read_text())
    assert card["base"] == "draft.ubj" and card["data"]["programs"] == 16
    trees = load_program_model(own / "draft.ubj").booster.num_boosted_rounds()
    known, shipped = Experience(path=own / "draft.npz").known(), Experience().known()
    assert set(shipped) <= set(known)
    assert card["experience"]["trials"] > sum(len(one.throughput) for one in shipped.values())
    assert trees > load_program_model(SHIPPED).booster.num_boosted_rounds()


def test_a_model_that_was_cut_short_is_made_anew(taught):
    assert "own: its model was cut short, so this session began with the shipped" in taught[1].out


def test_the_next_bench_begins_with_it_and_adds_to_it(taught, tmp_path):
    project = taught[0].copy(tmp_path)
    outcome = project.bench(*QUICK, "--ansor-seed=1")
    assert "16 programs added to" in outcome.out and "32 in all" in outcome.out
    models = [
        read_journal(path).entries[0].conditions["learnt_model"]
        for path in sorted(project.journal().parent.iterdir())
    ]
    assert models[0] == "" and len(models[1]) == 12


def test_sessions_of_one_second_are_kept_apart(taught, tmp_path):
    [path] = (taught[0].root / ".ansor_bench" / "journals").iterdir()
    past = read_journal(path)
    beside = replace(past, path=path.with_name("0002.jsonl.gz"))
    folder = LearningFolder(tmp_path)
    tasks = [replace(task, name="矩" * 80) for task in CASE.tasks()]  # 240 bytes
    for one, files in ((past, 1), (beside, 2), (beside, 2)):
        folder.learn(one, lambda _: tasks)
        assert len([*folder.samples.iterdir()]) == files


def test_a_run_goes_on_with_the_model_that_it_began_with_or_not_at_all(taught, tmp_path):
    outcome = taught[0].copy(tmp_path).bench(*QUICK, "--ansor-resume=1")
    assert outcome.code != 0
    assert "learnt_model" in outcome.text


def test_nothing_is_learnt_unless_asked(tmp_path):
    project = Project(tmp_path)
    project.write("test_cases.py", CASES)
    outcome = project.bench(*QUICK[:-1], "--ansor-trials=4")
    assert outcome.code == 0 and "learnt: " not in outcome.out


def test_a_journal_of_a_shipped_case_of_any_shape_can_be_trained_from(taught, tmp_path, capsys):
    journal = taught[0].journal()
    arguments = ["train-draft", "--from", str(journal), "-o", str(tmp_path / "m.ubj")]
    assert main([*arguments, "--trees", "5"]) == 0
    assert "matmul-b1-m24-n16-k16: 16 programs" in capsys.readouterr().out


def test_a_journal_of_ones_own_case_cannot(taught, tmp_path, capsys):
    project = taught[0].copy(tmp_path)
    text, family = b"".join(project.journal_lines()), b'"family":"BatchMatmul"'
    assert text.count(family) == 1
    project.cut_journal([text.replace(family, b'"family":"MatmulOfMine"')])
    arguments = ["train-draft", "--from", str(project.journal()), "-o", str(tmp_path / "m.ubj")]
    assert main(arguments) == 2
    assert "case 'matmul-b1-m24-n16-k16' is none that ships" in capsys.readouterr().err


def test_the_folder_of_samples_can(taught, tmp_path, capsys):
    own = taught[0].root / "own"
    arguments = ["train-draft", "--from", str(own), "-o", str(tmp_path / "m.ubj"), "--trees", "5"]
    assert main(arguments) == 0
    assert "16 programs" in capsys.readouterr().out
    assert load_program_model(tmp_path / "m.ubj").booster.num_boosted_rounds() == 5


def test_programs_of_a_journal_that_are_samples_too_count_once(taught, tmp_path):
    arguments = ["train-draft", "--from", str(taught[0].root), "-o", str(tmp_path / "m.ubj")]
    assert main([*arguments, "--trees", "5"]) == 0
    assert json.loads((tmp_path / "m.card.json").read_text())["data"]["programs"] == 16


def test_a_folder_that_cannot_be_written_costs_no_result(tmp_path):
    project = Project(tmp_path)
    project.write("test_cases.py", CASES)
    project.write("own", "a file")
    outcome = project.bench(*QUICK, "--ansor-json=result.json")
    assert (outcome.code, outcome.out.count("nothing learnt: ")) == (1, 1)
    assert project.json("result.json")["cases"]
