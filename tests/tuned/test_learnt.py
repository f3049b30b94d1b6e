"""Other models begin with what a folder's models have shown."""

from __future__ import annotations

import contextlib
import dataclasses
import json

import pytest

from pytest_ansorbench.cli import tune as command
from pytest_ansorbench.storage.entries import CaseEntry
from pytest_ansorbench.strategies import Registry
from pytest_ansorbench.training.programs import programs_of
from pytest_ansorbench.tuning.learnt import equipped
from pytest_ansorbench.workloads import BatchMatmul
from pytest_ansorbench.workloads.case import case_version
from tests.bench.test_session import Interrupted, Recording

pytestmark = pytest.mark.usefixtures("fast_engine")
PRODUCT = BatchMatmul(batch=1, m=16, n=16, k=16)
ANOTHER = BatchMatmul(batch=1, m=16, n=16, k=8)


def test_a_strategy_with_experience_gets_that_of_other_cases(place, monkeypatch):
    assert place.quickly("models:product", "--trials", "8") == 0
    told, shown = [], Recording()
    transfer = Registry().get("draft+transfer")
    past = place.past()
    same, other, resized = (PRODUCT.id, version_of(PRODUCT)), ("other", ""), (PRODUCT.id, "")
    asked = (transfer, past, [same], place.out, shown, told.append)
    assert equipped(*asked) is transfer and not told
    for one in (other, resized):
        learnt = equipped(transfer, past, [one], place.out, shown, told.append)
        assert learnt.cost_model.path == place.out / "learnt" / "draft.ubj"
    assert told[0].startswith(f"learnt: 8 programs added to {place.out / 'learnt'}, ")
    assert len(told) == len(shown.notes) == shown.cleared == 2
    random = Registry().get("random")
    assert equipped(random, past, [other], place.out, shown, told.append) is random
    assert len(told) == len(shown.notes) == shown.cleared == 2
    equipped(*asked)
    assert len(told) == 2
    monkeypatch.setattr("pytest_ansorbench.tuning.learnt._learn", lambda *_: "learnt: planted")
    (place.out / "learnt" / "draft.card.json").unlink()  # as a kill leaves it
    assert equipped(*asked) is transfer and told[2:] == ["learnt: planted"]


def test_a_journal_that_has_grown_is_learnt_from_once(place):
    for trials in ("2", "4"):
        assert place.quickly("models:product", "--trials", trials) == 0
        asked = (Registry().get("draft+transfer"), place.past(), [("other", "")], place.out)
        equipped(*asked, Recording(), lambda _: None)
    card = json.loads((place.out / "learnt" / "draft.card.json").read_text())
    assert card["data"]["programs"] == len(place.trials()) == 4


def test_a_stopped_call_learns_nothing_from_its_own_first_case(place, monkeypatch):
    words = ("models:product", "models:another", "--trials", "4", "--round", "1")
    with monkeypatch.context() as patch:
        patch.setattr(command, "_progress", lambda: Interrupted(3))
        assert place.quickly(*words) == 3
    monkeypatch.setattr("pytest_ansorbench.tuning.learnt._learn", lambda *_: "learnt: planted")
    told, shown, transfer = [], Recording(), Registry().get("draft+transfer")
    past, another = place.past(), (ANOTHER.id, version_of(ANOTHER))
    for version, lines in ((version_of(PRODUCT), 0), ("other", 1)):
        asked = [(PRODUCT.id, version), another]
        assert equipped(transfer, past, asked, place.out, shown, told.append) is transfer
        assert len(told) == len(shown.notes) == lines
    assert not (place.out / "learnt").exists()


def test_a_stopped_call_of_other_versions_goes_on_with_what_it_began_with(place, monkeypatch):
    words = ("models:product", "models:another", "--trials", "1")
    for version, at in (("1", 2), ("2", 1)):
        monkeypatch.setattr(BatchMatmul, "version", version, raising=False)
        with monkeypatch.context() as patch:
            patch.setattr(command, "_progress", lambda at=at: Interrupted(at))
            assert place.quickly(*words) == 3
    begun = place.past().of(CaseEntry)
    assert [entry.version for entry in begun if entry.case == ANOTHER.id] == ["1"]
    monkeypatch.setattr("pytest_ansorbench.tuning.learnt._learn", lambda *_: 1 / 0)
    asked = (Registry().get("draft+transfer"), place.past(), [(PRODUCT.id, "2"), (ANOTHER.id, "2")])
    assert equipped(*asked, place.out, Recording(), lambda _: None) is asked[0]


def test_what_two_searches_have_begun_with_is_learnt_once(place):
    for trials in ("2", "4"):
        assert place.quickly("models:product", "--trials", trials) == 0
    learnt = programs_of(place.past(), lambda case: PRODUCT.tasks())
    assert [len(programs.latencies_s) for programs in learnt] == [4]


def test_a_program_of_another_tvm_costs_no_other_what_was_learnt(place):
    assert place.quickly("models:product", "models:another", "--trials", "4") == 0
    past = place.past()
    entries = [
        dataclasses.replace(one, programs=["unreadable"])
        if isinstance(one, CaseEntry) and one.case == PRODUCT.id
        else one
        for one in past.entries
    ]
    told, asked = [], (Registry().get("draft+transfer"), dataclasses.replace(past, entries=entries))
    equipped(*asked, [("other", "")], place.out, Recording(), told.append)
    assert told[0].startswith(f"nothing learnt from {PRODUCT.id}: ")
    assert told[1].startswith("learnt: 4 programs added")


@pytest.mark.parametrize(("error", "told"), [(KeyboardInterrupt, []), (OSError, [1])])
def test_nothing_stays_on_the_screen(place, monkeypatch, error, told):
    def failing(*_):
        raise error("planted")

    assert place.quickly("models:product", "--trials", "2") == 0
    monkeypatch.setattr("pytest_ansorbench.tuning.learnt._learn", failing)
    shown, cleared = Recording(), []
    with contextlib.suppress(KeyboardInterrupt):
        asked = (Registry().get("draft+transfer"), place.past(), [("other", "")], place.out)
        equipped(*asked, shown, lambda line: cleared.append(shown.cleared))
    assert shown.cleared == 1 and cleared == told


def version_of(case):
    return case_version(case, case.tasks())
