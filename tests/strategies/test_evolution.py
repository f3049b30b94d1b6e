"""The genetic search proposes like the engine's own, and as its policies say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from pytest_ansorbench.search import Search
from pytest_ansorbench.strategies import (
    Evolution,
    ExploreThenCommit,
    Observation,
    Strategy,
    UniformSketches,
    XGBoostModel,
)
from pytest_ansorbench.workloads import BatchMatmul

MATMUL = BatchMatmul(batch=1, m=16, n=16, k=16)
SMALL = {"population": 48, "generations": 2, "blind_generations": 2, "min_unmeasured": 8}
EARLY = XGBoostModel(warmup_samples=1)  # trained after the first round


@dataclass(frozen=True)
class Always:
    """Draws the whole population from one sketch."""

    sketch: int

    def start(self, sketches):
        self_shares = np.zeros(sketches)
        self_shares[self.sketch] = 1.0

        class Chooser:
            def shares(self):
                return self_shares

            def observe(self, sketches, gflops):
                pass

            def decisions(self):
                return {}

        return Chooser()


@dataclass(frozen=True)
class OneRule:
    """Has every program mutated by one rule."""

    rule: str
    look: Callable = lambda features: None

    def start(self, rules):
        index, look = list(rules).index(self.rule), self.look

        class Chooser:
            def choose(self, programs, features):
                look(features)
                return np.full(programs, index)

        return Chooser()


def search(engine, proposer, *, trials=6, rounds=2, cost_model=EARLY, seed=0):
    return Search(
        MATMUL,
        MATMUL.tasks(),
        Strategy("mine", proposer=proposer, cost_model=cost_model),
        engine,
        seed=seed,
        budget_trials=rounds * trials,
        round_trials=trials,
    )


def finished(each):
    while not each.finished:
        each.step()
    return each.record()


@pytest.mark.parametrize("sketch", [0, 2])
def test_all_programs_come_from_the_sketch_the_policy_names(engine, sketch):
    run = finished(search(engine, Evolution(Always(sketch), **SMALL)))
    assert {trial.sketch for trial in run.trials} == {sketch}
    assert run.failed_trials == 0


def test_a_uniform_policy_draws_from_every_sketch_and_never_twice_the_same(engine):
    from tvm_ffi import structural_hash

    each = search(engine, Evolution(UniformSketches(), **SMALL))
    # Asked directly, without measuring: what is proposed again and again must stay new.
    proposed = [candidate for _ in range(4) for candidate in each.tasks[0]._proposer.propose(30)]
    assert len(proposed) == 120
    assert len({structural_hash(candidate.sch.mod) for candidate in proposed}) == 120
    assert {each.tasks[0].sketches.of(candidate.sch) for candidate in proposed} == {0, 1, 2}


def test_equal_seeds_give_equal_proposals_whatever_the_threads_do(engine):
    from tvm_ffi import structural_hash

    def proposed(seed):
        each = search(engine, Evolution(**SMALL), seed=seed)
        with each._random_state.installed():
            rounds = [each.tasks[0]._proposer.propose(16) for _ in range(2)]
        return [structural_hash(candidate.sch.mod) for batch in rounds for candidate in batch]

    assert proposed(3) == proposed(3)
    assert proposed(3) != proposed(4)


def test_the_rule_that_is_chosen_is_the_rule_that_is_applied(engine):
    run = finished(search(engine, Evolution(rules=OneRule("MutateUnroll"), **SMALL)))
    for each in run.rounds:
        assert set(each.decisions["predicted_rules"]) == {"MutateUnroll"}
        assert "drawn_rules" not in each.decisions
    # Before the model is trained its scores are random, and nothing is made of them.
    assert set(run.rounds[0].decisions["predicted_rules"]["MutateUnroll"]) == {"applied"}
    entry = run.rounds[1].decisions["predicted_rules"]["MutateUnroll"]
    assert entry["applied"] > 50
    assert 0 < entry["measured"] <= 6
    assert 0.0 <= entry["improved"] <= 1.0
    assert entry["predicted"] > 0.0 and 0.0 < entry["realised"] <= 1.0


def test_a_chosen_rule_with_nothing_to_change_is_booked_and_made_up_for(engine):
    # A matmul of this size has no compute location to mutate.
    run = finished(search(engine, Evolution(rules=OneRule("MutateComputeLocation"), **SMALL)))
    decisions = run.rounds[1].decisions
    predicted = decisions["predicted_rules"]["MutateComputeLocation"]
    assert set(predicted) == {"inapplicable"}
    assert predicted["inapplicable"] > 50
    assert decisions["drawn_rules"]["MutateTileSize"]["applied"] > 50


def test_as_many_mutations_go_by_the_chosen_rule_as_the_share_says(engine):
    policy = Evolution(rules=OneRule("MutateUnroll"), rule_share=0.25, **SMALL)
    decisions = finished(search(engine, policy)).rounds[1].decisions
    predicted = decisions["predicted_rules"]["MutateUnroll"]["applied"]
    drawn = sum(entry.get("applied", 0) for entry in decisions["drawn_rules"].values())
    assert 0.1 < predicted / (predicted + drawn) < 0.4


def test_features_are_extracted_once_for_model_and_rules(engine):
    seen = []
    policy = OneRule("MutateTileSize", look=lambda features: seen.append(features()))
    each = search(engine, Evolution(rules=policy, **SMALL))
    extractor = each.tasks[0]._shared.cost_model.extractor
    each.step()
    seen.clear()
    extracted = []
    stock = extractor._stock

    class Counting:
        def extract_from(self, context, candidates):
            extracted.append(len(candidates))
            return stock.extract_from(context, candidates)

    extractor._stock = Counting()
    with each._random_state.installed():
        each.tasks[0]._proposer.propose(8)
    assert extracted == [len(features) for features in seen]
    assert len(extracted) == 1 + SMALL["generations"]
    # Survivors and the best measured programs are scored once.
    assert sum(extracted) < (1 + SMALL["generations"]) * SMALL["population"]


def test_without_blind_generations_nothing_is_searched_for_before_the_model_is_trained(engine):
    each = search(engine, Evolution(**{**SMALL, "blind_generations": 0}))
    run = finished(each)
    assert run.rounds[0].decisions == {"generations": 0}
    assert run.rounds[1].decisions["generations"] == 2
    assert [trial.round for trial in run.trials] == [1] * 6 + [2] * 6


def test_a_misleading_first_impression_is_corrected_in_what_is_proposed(engine):
    from tvm.s_tir.meta_schedule.runner import RunnerResult

    etc = ExploreThenCommit(warmup_rounds=0, explore_rounds=1)
    each = search(engine, Evolution(etc, blind_generations=0), cost_model=XGBoostModel())
    first_impression, truth = {0: 9.0, 1: 2.0, 2: 5.0}, {0: 1.0, 1: 2.0, 2: 5.0}
    mostly = []
    for turn in range(6):
        candidates = each.tasks[0]._proposer.propose(40)
        sketches = [each.tasks[0].sketches.of(candidate.sch) for candidate in candidates]
        mostly.append(max(set(sketches), key=sketches.count))
        gflops = first_impression if turn == 0 else truth
        each.tasks[0]._proposer.learn(
            [
                Observation(candidate, RunnerResult([1e-3], None), sketch, gflops[sketch])
                for candidate, sketch in zip(candidates, sketches, strict=True)
            ]
        )
    assert mostly[1] == 0
    assert mostly[4:] == [2, 2]
    assert each.tasks[0]._proposer.decisions()["committed_sketch"] == 2


def test_a_space_of_which_nothing_valid_can_be_drawn_ends_the_run(engine):
    each = search(engine, Evolution(**SMALL))
    each.tasks[0]._proposer._maker.sample = lambda sketches, seeds: []
    assert finished(each).stopped == "the strategy proposes nothing more"


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_extreme_shares_are_borne_with(engine, share):
    proposer = Evolution(
        **{**SMALL, "population": 16},
        mutation_share=share,
        random_share=share,
        measured_share=share,
    )
    assert len(finished(search(engine, proposer, trials=4)).trials) == 8


@pytest.mark.parametrize(
    ("parameter", "value", "good"),
    [
        ("population", 0, 512),
        ("generations", -1, 4),
        ("blind_generations", -1, 4),
        ("min_unmeasured", 0, 50),
        ("max_tries", -1, 10),
        ("measured_share", 1.5, 0.2),
        ("mutation_share", -0.1, 0.85),
        ("random_share", float("nan"), 0.05),
    ],
)
def test_bad_parameters_are_refused_by_name(parameter, value, good):
    with pytest.raises(ValueError, match=rf"bad {parameter} {value}: expected .* e\.g\. {good}"):
        Evolution(**{parameter: value})
