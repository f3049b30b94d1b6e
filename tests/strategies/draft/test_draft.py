"""The search as a whole, on a small task whose throughput is made up, so that truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pytest_ansorbench.strategies import (
    BoostedTrees,
    Draft,
    Neighbourhood,
    SharpeningShares,
    StrategyError,
    Survey,
    XGBoostModel,
)
from pytest_ansorbench.strategies.decisions.registers import registers_of
from pytest_ansorbench.workloads import BatchMatmul
from tests.strategies.setups import make_setup, observed

MATMUL = BatchMatmul(batch=1, m=64, n=64, k=64)
TINY = BatchMatmul(batch=1, m=2, n=1, k=1)
BRIEF = Draft(
    model=BoostedTrees(trees=60),
    neighbourhood=Neighbourhood(random=100, parents=12, children=12, climbs=2, climbers=40),
)
"""Looks at a fifth of the points; what it is to find is made up, and simple."""
PLAIN = replace(BRIEF, vector_units=None, first_trials=16, growth=0.5)


def made_up(candidate):
    """Throughput by decisions: sketch 1, with tiles that are as square as can be, is best."""
    note = candidate.payload
    off = sum(
        float(np.std(np.log2(decision))) for decision in note["decisions"] if type(decision) is list
    )
    return 100.0 * float(np.exp(-off / 2.0)) * (1.0 if note["sketch"] == 1 else 0.7)


def search(target, policy, *, trials=96, round_trials=16, case=MATMUL, seed=0):
    """A run of a policy: its rounds, each a list of candidates, and the proposer."""
    setup = make_setup(target, case=case, seed=seed, trials=trials)
    proposer, rounds = policy.start(setup), []
    while sum(map(len, rounds)) < trials and (candidates := proposer.propose(round_trials)):
        told(proposer, candidates)
        rounds.append(candidates)
    return rounds, proposer, setup


def told(proposer, candidates):
    gflops = [made_up(candidate) for candidate in candidates]
    sketches = [candidate.payload["sketch"] for candidate in candidates]
    proposer.learn(observed(candidates, sketches, gflops))
    return gflops


def best_of(rounds):
    return max(made_up(candidate) for candidates in rounds for candidate in candidates)


@pytest.fixture(scope="module")
def plain(target):
    return search(target, PLAIN)


def test_what_is_learnt_leads_to_faster_programs_than_chance(target, plain):
    drafted, proposer, _ = plain
    chance, _, _ = search(target, replace(PLAIN, model=BoostedTrees(least=10_000)))
    assert best_of(drafted) > 1.1 * best_of(chance)
    told_of = proposer.decisions()
    assert told_of["sketch_shares"][1] > 0.6
    drafts = told_of["drafts"]
    assert drafts["replayed"] >= len(drafts["measured"]) == len(drafts["predicted"])


def test_no_program_is_proposed_twice(plain):
    rounds, _, _ = plain
    every = [candidate.fingerprint for candidates in rounds for candidate in candidates]
    assert len(set(every)) == len(every) == 96


def test_batches_grow_up_to_the_rounds_size(target):
    policy = replace(PLAIN, first_trials=4, growth=0.5)
    rounds, _, _ = search(target, policy, trials=60)
    assert [len(candidates) for candidates in rounds[:7]] == [4, 4, 4, 6, 9, 13, 16]


def test_the_first_batches_are_small_where_something_is_known(target):
    known, _, _ = search(target, replace(BRIEF, opening_trials=3), trials=60)
    assert [len(candidates) for candidates in known[:7]] == [3, 3, 6, 8, 8, 8, 9]
    unknown, _, _ = search(target, replace(BRIEF, opening_trials=3, vector_units=None), trials=16)
    assert [len(candidates) for candidates in unknown] == [8, 8]


def test_a_first_batch_that_nothing_is_known_for_has_every_sketch(target):
    [batch], _, setup = search(target, PLAIN, trials=12)
    sketches = [candidate.payload["sketch"] for candidate in batch]
    assert {sketches.count(index) for index in range(len(setup.sketches))} <= {4, 5, 6}


class Knowing:
    """A cost model that knows the truth from the start, less some constant."""

    def __init__(self, less=0.0):
        self.asked = []
        self.less = less

    def start(self):
        return self

    def predict(self, context, candidates):
        self.asked.append(len(candidates))
        return np.array([known_throughput(candidate.sch) for candidate in candidates]) - self.less

    def update(self, context, candidates, results):
        pass


def known_throughput(schedule):
    """The made-up throughput of a program, read from its trace."""
    tiles = [
        [int(factor) for factor in schedule.trace.decisions[inst]]
        for inst in schedule.trace.insts
        if str(inst.kind.name) == "SamplePerfectTile"
    ]
    return float(np.exp(-sum(np.std(np.log2(factors)) for factors in tiles) / 2.0))


@pytest.mark.parametrize("model", [XGBoostModel, Knowing])
def test_a_resumed_search_goes_on_as_if_nothing_had_happened(target, model):
    setups = [make_setup(target, case=MATMUL, cost_model=model(), seed=5) for _ in range(2)]
    rounds, _ = resumed(BRIEF, *setups)
    assert ("surveyed" in rounds[0][0].payload) == (model is Knowing)


def resumed(policy, setup, other):
    """Four rounds of a search, and two proposers: its own, and one resumed before the last."""
    first, again = policy.start(setup), policy.start(other)
    rounds = []
    for _ in range(4):
        state = setup.rng.bit_generator.state
        rounds.append(first.propose(12))
        told(first, rounds[-1])
    *before, last = rounds
    again.recall([candidate for candidates in before for candidate in candidates])
    for candidates in before:
        told(again, candidates)
    other.rng.bit_generator.state = state
    batch = again.propose(12)
    assert [one.payload for one in batch] == [one.payload for one in last]
    told(again, batch)
    return rounds, (first, again)


def test_a_cost_model_that_is_trained_beforehand_is_asked_before_anything_is_measured(target):
    model = Knowing()
    policy = replace(BRIEF, survey=Survey(programs=60), explored_share=0.0, opening_trials=4)
    setup = make_setup(target, case=MATMUL, cost_model=model)
    proposer = policy.start(setup)
    first = proposer.propose(16)
    assert len(first) == policy.opening_trials
    assert model.asked == [60]
    assert len(first[0].payload["surveyed"]) == 60
    assert "surveyed" not in first[1].payload
    blind, _, _ = search(target, PLAIN, trials=16)
    assert np.mean([made_up(one) for one in first]) > np.mean([made_up(one) for one in blind[0]])


def test_scores_below_zero_count_as_no_throughput(target):
    """A stock model that other tasks have trained has some."""
    model = Knowing(less=0.1)
    setup = make_setup(target, case=MATMUL, cost_model=model)
    [first, *_] = Draft(survey=Survey(programs=60)).start(setup).propose(16)
    scores = [one["score"] for one in first.payload["surveyed"]]
    assert max(scores) == 1.0 and scores.count(0.0) > 1 and min(scores) == 0.0


def test_a_share_of_batches_goes_to_blocks_of_registers_that_were_tried_least(target):
    proposer = replace(BRIEF, explored_share=1.0).start(make_setup(target, case=MATMUL))
    blocks = []
    while len(blocks) < 8:
        batch = proposer.propose(16)
        told(proposer, batch)
        assert all(one.payload["predicted"] is not None for one in batch)
        blocks += map(block_of, batch)
    assert len(set(blocks)) == len(blocks)
    registers = registers_of(target)
    held = registers.count * registers.vector_bytes
    assert all(4 * rows * width <= held for rows, width in blocks)


def test_drafts_stand_beside_what_is_explored_and_no_program_is_both(target):
    tried = {}
    for share in (0.0, 0.5, 1.0):
        rounds, _, _ = search(target, replace(BRIEF, explored_share=share), trials=48)
        batch = [one for batch in rounds for one in batch]
        assert len({one.fingerprint for one in batch}) == len(batch)
        tried[share] = len({*map(block_of, batch)})
    assert tried[0.0] < tried[0.5] < tried[1.0]


def block_of(candidate):
    """Rows and columns of the innermost tiles of a product."""
    _, rows, columns, *_ = candidate.payload["decisions"]
    return rows[-1], columns[-1]


def test_without_a_guess_that_share_is_random_and_of_all_sketches(target):
    proposer = replace(PLAIN, explored_share=1.0).start(make_setup(target, case=MATMUL))
    told(proposer, proposer.propose(16))
    batch = proposer.propose(16)
    assert [candidate.payload["predicted"] for candidate in batch] == [None] * 16
    assert len({candidate.payload["sketch"] for candidate in batch}) > 1


def test_failed_trials_count_as_slow_ones(target):
    setup = make_setup(target, case=MATMUL)
    proposer = PLAIN.start(setup)
    candidates = proposer.propose(16)
    sketches = [candidate.payload["sketch"] for candidate in candidates]
    proposer.learn(observed(candidates, sketches, [0.0] * len(candidates)))
    assert proposer.decisions()["drafts"]["measured"] == [0.0] * len(candidates)
    assert proposer.propose(16)  # at random again, as nothing is known


def test_a_payload_of_other_sketches_is_refused(target):
    rounds, _, _ = search(target, PLAIN, trials=4)
    other = PLAIN.start(make_setup(target, case=TINY))
    with pytest.raises(StrategyError, match=r"bad payload .* expected decisions of sketch"):
        other.recall(rounds[0])


def test_sharing_is_asked_for_what_is_known(target):
    asked = []

    class Noted(SharpeningShares):
        def shares(self, gflops, trials):
            asked.append((list(gflops), trials))
            return super().shares(gflops, trials)

    rounds, _, setup = search(target, replace(PLAIN, sharing=Noted()), trials=40)
    assert asked[0] == ([0.0] * len(setup.sketches), [0] * len(setup.sketches))
    assert sum(asked[1][1]) == len(rounds[0])
    known = {index: [] for index in range(len(setup.sketches))}
    for candidates in rounds[:-1]:
        for one in candidates:
            known[one.payload["sketch"]].append(made_up(one))
    shown = [sorted(gflops)[-2 if len(gflops) > 16 else -1] for gflops in known.values()]
    assert asked[-1][0] == pytest.approx(shown)
