"""A strategy searches with what the user's own benches have taught, and with nothing else."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_ansorbench.strategies import Registry, Strategy
from pytest_ansorbench.strategies.model_file import card_beside
from pytest_ansorbench.strategies.program_model import SHIPPED
from pytest_ansorbench.training.learning import MODEL, LearningFolder
from pytest_ansorbench.training.train_draft import experience_beside


@pytest.fixture
def folder(tmp_path: Path) -> LearningFolder:
    for source in (SHIPPED, experience_beside(SHIPPED), card_beside(SHIPPED)):
        shutil.copy(source, tmp_path / source.name.replace(SHIPPED.stem, Path(MODEL).stem))
    return LearningFolder(tmp_path)


@pytest.fixture
def transfer() -> Strategy:
    return Registry().get("draft+transfer")


def test_the_shipped_model_and_experience_give_way_to_the_users(
    folder: LearningFolder, transfer: Strategy
) -> None:
    mine = folder.equipped(transfer)
    assert mine.cost_model.path == folder.model
    assert mine.proposer.experience.path == experience_beside(folder.model)


def test_others_of_the_users_own_stay(folder: LearningFolder, transfer: Strategy) -> None:
    model = replace(transfer.cost_model, path=Path("other.ubj"))
    experience = replace(transfer.proposer.experience, path=Path("other.npz"))
    own = replace(
        transfer, cost_model=model, proposer=replace(transfer.proposer, experience=experience)
    )
    assert folder.equipped(own) == own


def test_before_anything_is_learnt_all_stays(tmp_path: Path, transfer: Strategy) -> None:
    assert LearningFolder(tmp_path).equipped(transfer) is transfer


def test_a_model_that_was_cut_short_is_none(folder: LearningFolder, transfer: Strategy) -> None:
    """As where a kill came before its card, or two sessions have learnt at once."""
    assert folder.conditions["learnt_model"] and not folder.is_cut_short
    with (folder.path / MODEL).open("ab") as file:
        file.write(b"of another session")
    assert folder.is_cut_short and folder.conditions == {"learnt_model": ""}
    assert folder.equipped(transfer) is transfer
