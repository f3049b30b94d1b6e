"""Candidates in a journal: programs, traces and payloads come back equal."""

from __future__ import annotations

import base64
import dataclasses
import json
import zlib

import pytest
from hypothesis import given, settings

from pytest_ansorbench.packed import PackedError
from pytest_ansorbench.search.candidates import pack, select, unpack
from pytest_ansorbench.strategies import Candidate, NoModel, ProgramMaker, Strategy, undecided
from tests.faults import module
from tests.proposers import QUICK
from tests.search.rounds import searching, stepped
from tests.strategies.setups import MATMUL
from tests.test_codec import JSON_VALUES


def fine(payload=None):
    from tvm.s_tir import Schedule

    return Candidate.from_schedule(Schedule(module("fine")), payload)


@settings(deadline=None)  # the first program is parsed, which takes a second
@given(payload=JSON_VALUES)
def test_a_payload_comes_back_equal(payload):
    text = pack([fine(payload), fine()])
    first, second = unpack(text, None)
    assert json.dumps(first.payload) == json.dumps(payload)
    assert second.payload is None


def test_text_of_earlier_versions_has_no_payloads():
    from tvm import ir

    program = {"program": ir.save_json(module("fine"))}
    text = base64.b64encode(zlib.compress(json.dumps([program]).encode())).decode()
    [candidate] = unpack(text, None)
    assert candidate.payload is None
    assert pack([candidate]) == pack([fine()])


def test_one_of_several_is_kept_without_its_payload():
    text = pack([fine({"number": one}) for one in range(3)])
    [candidate] = unpack(select(text, 2), None)
    assert candidate.payload is None
    assert select(text, 0) == pack([fine()])
    with pytest.raises(PackedError, match="expected a packed candidate at 3 of 3"):
        select(text, 3)


@pytest.mark.parametrize(
    "packed", [{"payload": 1}, {"program": "", "payload": 1, "more": 2}, {"trace": [], "x": 1}]
)
def test_other_keys_are_refused(packed):
    text = base64.b64encode(zlib.compress(json.dumps([packed]).encode())).decode()
    with pytest.raises(PackedError, match="expected a candidate's trace or program"):
        unpack(text, None)


class Numbering:
    """Proposes sampled programs with a number each, and notes what it is told."""

    def __init__(self):
        self.learnt = []
        self.recalled = []
        self.proposed = 0

    def start(self, setup):
        self.maker = ProgramMaker(setup.context)
        self.sketches = undecided(setup.sketches)
        return self

    def propose(self, trials):
        candidates = []
        for _ in range(trials):
            self.proposed += 1
            program = self.maker.replay(self.sketches[0], self.proposed)
            candidates.append(program.candidate({"number": self.proposed, "of": ["a", None]}))
        return candidates

    def learn(self, batch):
        self.learnt += [seen.candidate.payload["number"] for seen in batch]

    def recall(self, candidates):
        self.recalled = [candidate.payload for candidate in candidates]
        self.proposed = max(payload["number"] for payload in self.recalled)

    def decisions(self):
        return {"learnt": self.learnt}


def search(engine, proposer, resumed=()):
    strategy = Strategy("numbering", proposer=proposer, cost_model=NoModel(), measurement=QUICK)
    return searching(MATMUL, strategy, engine, seed=0, trials=6, round_trials=2, resumed=resumed)


def test_payloads_come_back_in_learn_and_in_a_resumed_run(engine):
    first = Numbering()
    entries = stepped(search(engine, first), 2)
    assert first.learnt == [1, 2, 3, 4]
    again = Numbering()
    resumed = search(engine, again, entries)
    assert again.recalled == [{"number": n, "of": ["a", None]} for n in (1, 2, 3, 4)]
    assert again.learnt == [1, 2, 3, 4]
    [entry] = stepped(resumed, 1)
    assert entry.round.decisions == {"learnt": [1, 2, 3, 4, 5, 6]}


def test_a_journal_without_payloads_can_be_resumed(engine):
    entries = stepped(search(engine, Numbering()), 1)
    mod = MATMUL.tasks()[0].mod
    plain = [
        dataclasses.replace(
            entry,
            state=dataclasses.replace(
                entry.state,
                candidates=pack(
                    [
                        dataclasses.replace(candidate, payload=None)
                        for candidate in unpack(entry.state.candidates, mod)
                    ]
                ),
            ),
        )
        for entry in entries
    ]

    class Forgiving(Numbering):
        def recall(self, candidates):
            self.recalled = [candidate.payload for candidate in candidates]

        def learn(self, batch):
            self.learnt += [seen.candidate.payload for seen in batch]

    proposer = Forgiving()
    search(engine, proposer, plain)
    assert proposer.recalled == proposer.learnt == [None, None]
