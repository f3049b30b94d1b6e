"""The genetic search proposes like the engine's own, and as its policies say."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from pytest_ansorbench.search.sketches import SketchIndex
from pytest_ansorbench.strategies import (
    BadAnswer,
    Evolution,
    ExploreThenCommit,
    NoModel,
    ProgramMaker,
    StockEvolution,
    Strategy,
    StrategyError,
    UniformSketches,
    XGBoostModel,
)
from tests.search.rounds import finished, searching
from tests.strategies.setups import MATMUL, make_setup, observed

SMALL = {"population": 16, "generations": 2, "blind_generations": 1, "min_unmeasured": 8}
LARGER = {**SMALL, "population": 24}
SMALLER = {**SMALL, "population": 8}
EARLY = XGBoostModel(warmup_samples=1)  # trained after the first round


@dataclass(frozen=True)
class Always:
    """Draws the whole population from one sketch."""

    sketch: int

    def start(self, sketches):
        alone = np.zeros(sketches)
        alone[self.sketch] = 1.0

        class Chooser:
            def shares(self):
                return alone

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


def search(engine, proposer, trials=6):
    """A search of two rounds."""
    strategy = Strategy("mine", proposer=proposer, cost_model=EARLY)
    return searching(MATMUL, strategy, engine, seed=0, trials=2 * trials, round_trials=trials)


def ended(engine, proposer, trials=6):
    made = search(engine, proposer, trials)
    finished(made)
    return made


def fingerprints(candidates):
    return [candidate.fingerprint for candidate in candidates]


def test_its_defaults_are_the_engines():
    from tvm.s_tir.meta_schedule.search_strategy import EvolutionarySearch

    ours, stock = Evolution(), StockEvolution()
    expected = {
        "population_size": ours.population,
        "genetic_num_iters": ours.generations,
        "init_measured_ratio": ours.measured_share,
        "genetic_mutate_prob": ours.mutation_share,
        "eps_greedy": ours.random_share,
        "init_min_unmeasured": ours.min_unmeasured,
        "genetic_max_fail_count": ours.max_tries,
    }
    engines = inspect.signature(EvolutionarySearch.__init__).parameters
    assert {name: engines[name].default for name in expected} == expected
    assert ours.blind_generations == stock.generations == ours.generations
    assert (stock.population, stock.min_unmeasured) == (ours.population, ours.min_unmeasured)


@pytest.mark.parametrize("sketch", [0, 2])
def test_all_programs_come_from_the_sketch_the_policy_names(unbuilding_engine, sketch):
    run = ended(unbuilding_engine, Evolution(Always(sketch), **SMALL))
    assert {trial.sketch for trial in run.trials} == {sketch}


def test_a_uniform_policy_draws_from_every_sketch_and_never_twice_the_same(target):
    setup = make_setup(target)
    proposer = Evolution(UniformSketches(), **LARGER).start(setup)
    # Nothing is measured: what is proposed again and again must stay new.
    proposed = [candidate for _ in range(4) for candidate in proposer.propose(15)]
    assert len(set(fingerprints(proposed))) == len(proposed) == 60
    index = SketchIndex(setup.sketches)
    assert {index.of(candidate.trace) for candidate in proposed} == {0, 1, 2}


def test_recalled_programs_are_not_proposed_again(target):
    def proposer():
        return Evolution(**LARGER).start(make_setup(target, seed=3))

    np.random.seed(0)
    first = proposer().propose(16)
    again = proposer()
    again.recall(first)
    np.random.seed(0)
    assert not {*fingerprints(again.propose(16))} & {*fingerprints(first)}


def test_equal_seeds_give_equal_proposals_whatever_the_threads_do(target):
    def proposed(seed):
        proposer = Evolution(**LARGER).start(make_setup(target, seed=seed))
        np.random.seed(seed)  # which the untrained cost model predicts from
        return [fingerprints(proposer.propose(16)) for _ in range(2)]

    once = proposed(3)
    assert proposed(3) == once != proposed(4)


def test_the_rule_that_is_chosen_is_the_rule_that_is_applied(unbuilding_engine):
    run = ended(unbuilding_engine, Evolution(rules=OneRule("MutateUnroll"), **SMALL))
    for entry in run.rounds:
        assert set(entry.decisions["predicted_rules"]) == {"MutateUnroll"}
        assert "drawn_rules" not in entry.decisions
    # Before the model is trained its scores are random, and nothing is made of them.
    assert set(run.rounds[0].decisions["predicted_rules"]["MutateUnroll"]) == {"applied"}
    entry = run.rounds[1].decisions["predicted_rules"]["MutateUnroll"]
    assert entry["applied"] > 12
    assert 0 < entry["measured"] <= 6
    assert 0.0 <= entry["improved"] <= 1.0
    assert entry["predicted"] > 0.0 and 0.0 < entry["realised"] <= 1.0


def test_programs_that_score_alike_are_no_better_than_their_parents(target):
    class Flat:
        def predict(self, context, candidates):
            return np.ones(len(candidates))

    proposer = Evolution(**SMALL).start(replace(make_setup(target), cost_model=Flat()))
    proposer.propose(4)
    drawn = proposer.decisions()["drawn_rules"]
    assert {rule["improved"] for rule in drawn.values() if "improved" in rule} == {0.0}


def test_a_chosen_rule_with_nothing_to_change_is_booked_and_made_up_for(unbuilding_engine):
    # A matmul of this size has no compute location to mutate.
    run = ended(unbuilding_engine, Evolution(rules=OneRule("MutateComputeLocation"), **SMALL))
    decisions = run.rounds[1].decisions
    predicted = decisions["predicted_rules"]["MutateComputeLocation"]
    assert set(predicted) == {"inapplicable"}
    assert predicted["inapplicable"] > 12
    assert decisions["drawn_rules"]["MutateTileSize"]["applied"] > 12


def test_as_many_mutations_go_by_the_chosen_rule_as_the_share_says(unbuilding_engine):
    policy = Evolution(rules=OneRule("MutateUnroll"), rule_share=0.25, **SMALL)
    decisions = ended(unbuilding_engine, policy).rounds[1].decisions
    predicted = decisions["predicted_rules"]["MutateUnroll"]["applied"]
    drawn = sum(entry.get("applied", 0) for entry in decisions["drawn_rules"].values())
    assert 0.1 < predicted / (predicted + drawn) < 0.4


def test_features_are_extracted_once_for_model_and_rules(unbuilding_engine, monkeypatch):
    from tvm.s_tir.meta_schedule import feature_extractor

    seen, extracted = [], []

    class Counting:
        def __init__(self):
            self._stock = stock()

        def extract_from(self, context, candidates):
            extracted.append(len(candidates))
            return self._stock.extract_from(context, candidates)

    stock = feature_extractor.PerStoreFeature
    monkeypatch.setattr(feature_extractor, "PerStoreFeature", Counting)
    policy = OneRule("MutateTileSize", look=lambda features: seen.append(len(features())))
    searched = search(unbuilding_engine, Evolution(rules=policy, **SMALL))
    searched.step()
    seen.clear()
    extracted.clear()
    searched.step()
    scored, updated = extracted[: len(seen)], extracted[len(seen) :]
    assert scored == seen
    assert len(scored) == 1 + SMALL["generations"]
    assert len(updated) <= 1  # the cost model learns from the round's trials
    # Survivors and the best measured programs are scored once.
    assert sum(scored) < (1 + SMALL["generations"]) * SMALL["population"]


def test_without_blind_generations_nothing_is_searched_for_before_the_model_is_trained(
    unbuilding_engine,
):
    run = ended(unbuilding_engine, Evolution(**{**SMALL, "blind_generations": 0}))
    assert run.rounds[0].decisions == {"cost_model": "untrained", "generations": 0}
    assert run.rounds[1].decisions["generations"] == 2
    assert [trial.round for trial in run.trials] == [1] * 6 + [2] * 6


def test_where_few_draws_are_valid_as_many_are_proposed_as_are_wanted(target, monkeypatch):
    sample, batches = ProgramMaker.sample, []

    def rarely(self, sketches, seeds):
        """One program of every seventh batch."""
        batches.append(len(sketches))
        return sample(self, sketches[:1], seeds[:1]) if len(batches) % 7 == 0 else []

    monkeypatch.setattr(ProgramMaker, "sample", rarely)
    policy = Evolution(**{**SMALL, "population": 64, "blind_generations": 0})
    assert len(policy.start(make_setup(target)).propose(4)) == 4


def test_a_misleading_first_impression_is_corrected_in_what_is_proposed(target):
    etc = ExploreThenCommit(warmup_rounds=0, explore_rounds=1)
    setup = make_setup(target)
    few = {**SMALL, "population": 48, "min_unmeasured": 24, "blind_generations": 0}
    proposer = Evolution(etc, **few).start(setup)
    index = SketchIndex(setup.sketches)
    first_impression, truth = {0: 9.0, 1: 2.0, 2: 5.0}, {0: 1.0, 1: 2.0, 2: 5.0}
    mostly = []
    for turn in range(6):
        candidates = proposer.propose(20)
        sketches = [index.of(candidate.trace) for candidate in candidates]
        mostly.append(max(set(sketches), key=sketches.count))
        gflops = first_impression if turn == 0 else truth
        proposer.learn(observed(candidates, sketches, [gflops[sketch] for sketch in sketches]))
    assert mostly[1] == 0
    assert mostly[4:] == [2, 2]
    assert proposer.decisions()["committed_sketch"] == 2


def test_a_space_of_which_nothing_valid_can_be_drawn_ends_the_run(target, monkeypatch):
    monkeypatch.setattr(ProgramMaker, "sample", lambda self, sketches, seeds: [])
    assert Evolution(**SMALL).start(make_setup(target)).propose(4) is None
    undirected = Evolution(**{**SMALL, "blind_generations": 0})
    assert undirected.start(make_setup(target)).propose(4) is None


@pytest.mark.parametrize("policy", [Evolution(), StockEvolution()], ids=str)
def test_a_search_by_scores_needs_a_cost_model(target, policy):
    with pytest.raises(StrategyError, match=r"ranks programs by a cost model.*XGBoostModel\(\)"):
        policy.start(make_setup(target, cost_model=NoModel()))


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_extreme_shares_are_borne_with(unbuilding_engine, share):
    proposer = Evolution(
        **SMALL,
        mutation_share=share,
        random_share=share,
        measured_share=share,
    )
    assert len(ended(unbuilding_engine, proposer, trials=4).trials) == 8


@pytest.mark.parametrize(
    ("name", "good"), [("sketches", "UniformSketches"), ("rules", "StockRules")]
)
@pytest.mark.parametrize("value", [None, UniformSketches])
def test_what_is_no_policy_is_refused(name, good, value):
    with pytest.raises(ValueError, match=rf"bad {name} .*: expected .* e\.g\. {good}\(\)"):
        Evolution(**{name: value})


@dataclass(frozen=True)
class Answering:
    """A sketch or rule policy whose chooser gives the answers it is told to."""

    answers: dict

    def start(self, _):
        return type("Chooser", (), {k: lambda *_, v=v: v for k, v in self.answers.items()})()


SOUND = {"shares": np.full(3, 1 / 3), "observe": None, "decisions": {}}


@pytest.mark.parametrize(
    "shares",
    [None, "uniform", [1.0], np.full(4, 0.25), [2.0, -1.0, 0.0], [0.5, 0.5, 0.5], [np.nan] * 3],
    ids=str,
)
def test_shares_that_are_no_distribution_are_refused(target, shares):
    policy = Answering({**SOUND, "shares": shares})
    proposer = Evolution(policy, **SMALL).start(make_setup(target))
    with pytest.raises(BadAnswer, match=r"bad shares .*: expected a (probability|sum of 1)"):
        proposer.propose(4)


def test_shares_of_32_bits_are_taken(target):
    policy = Answering({**SOUND, "shares": np.array([0.1, 0.2, 0.7], np.float32)})
    assert len(Evolution(policy, **SMALL).start(make_setup(target)).propose(4)) == 4


@pytest.mark.parametrize("rules", [None, [0.0] * 8, [4] * 8, [-2] * 8, [0], "tile"], ids=repr)
def test_rules_that_are_no_indices_are_refused(target, rules):
    policy = Evolution(rules=Answering({"choose": rules}), **SMALLER)
    with pytest.raises(
        BadAnswer, match=r"bad rules .*: expected an index from 0 to 3 or BY_WEIGHT"
    ):
        policy.start(make_setup(target)).propose(4)


@pytest.mark.parametrize("decisions", [None, [], {"at": {1, 2}}, {1: 2}], ids=repr)
def test_decisions_that_are_no_json_are_refused(target, decisions):
    proposer = Evolution(Answering({**SOUND, "decisions": decisions})).start(make_setup(target))
    with pytest.raises(BadAnswer, match="bad decisions"):
        proposer.decisions()


@pytest.mark.parametrize("answers", [{}, {"shares": None, "observe": None}])
def test_a_chooser_without_its_methods_is_refused(target, answers):
    with pytest.raises(BadAnswer, match=r"of start: expected .* it has no .*decisions"):
        Evolution(Answering(answers)).start(make_setup(target))


@pytest.mark.parametrize("scores", [None, [1.0], "good", [np.nan] * 8], ids=str)
def test_scores_that_are_no_numbers_are_refused(target, scores):
    model = Answering({"predict": scores, "update": None})
    setup = replace(make_setup(target), cost_model=model.start(None))
    with pytest.raises(BadAnswer, match=r"bad scores .*: expected a number for each candidate"):
        Evolution(**SMALLER).start(setup).propose(4)
