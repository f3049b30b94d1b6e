"""A policy refuses a number out of range by name, with its default as a good one."""

from __future__ import annotations

import itertools

import pytest

from pytest_ansorbench.strategies import (
    Annealing,
    AutoTVM,
    Bagged,
    Bandit,
    BoostedTrees,
    BuildLimit,
    Chains,
    Diversity,
    Draft,
    Droplet,
    Evolution,
    ExploreThenCommit,
    Genetic,
    GradientScheduler,
    LastCheck,
    Neighbourhood,
    ParzenEstimators,
    PretrainedModel,
    Prior,
    RankingTrees,
    SharpeningShares,
    Survey,
    Transfer,
    UpperConfidenceBound,
    VectorUnits,
)

REFUSED = {
    ("at least 0", -1): {
        Bandit: "exploration",
        Diversity: "weight",
        Evolution: "generations blind_generations max_tries",
        ExploreThenCommit: "warmup_rounds explore_rounds",
        Genetic: "elites",
        Neighbourhood: "random parents children climbs climbers offspring",
        Survey: "per_trial trials confidence",
        UpperConfidenceBound: "optimism",
    },
    ("at least 1", 0): {
        Annealing: "chains",
        Bandit: "window parents",
        BoostedTrees: "least trees depth",
        BuildLimit: "after",
        Chains: "count steps patience",
        Diversity: "ratio",
        Draft: "first_trials opening_trials full_trials",
        Droplet: "starts",
        Evolution: "population min_unmeasured",
        Genetic: "population",
        GradientScheduler: "window",
        Neighbourhood: "most_steps",
        ParzenEstimators: "startup_trials",
        PretrainedModel: "fading_trials least trees depth",
        Prior: "fading_trials",
        RankingTrees: "trees depth",
        SharpeningShares: "sharpen_trials",
        Survey: "programs",
        Transfer: "halving_trials",
    },
    ("at least 2", 1): {Bagged: "members", LastCheck: "top"},
    ("a number above 0", 0.0): {
        Annealing: "temperature",
        BoostedTrees: "slowest",
        BuildLimit: "times least_s first_s",
        Chains: "temperature",
        Draft: "growth",
        Prior: "credit",
        VectorUnits: "other_cycles spill_cycles",
    },
    ("a share from 0 to 1", -0.1, 1.5, float("nan")): {
        Annealing: "near_share",
        AutoTVM: "random_share",
        BoostedTrees: "rate columns floor leaf",
        Draft: "explored_share",
        Evolution: "measured_share mutation_share rule_share random_share",
        ExploreThenCommit: "history_weight explore_share",
        Genetic: "mutation",
        GradientScheduler: "alpha floor",
        LastCheck: "within share",
        Neighbourhood: "near_share",
        PretrainedModel: "rate columns",
        Prior: "own_share",
        RankingTrees: "rate",
        SharpeningShares: "least",
        Survey: "weight",
    },
}


@pytest.mark.parametrize("rule", REFUSED, ids=lambda rule: rule[0])
def test_a_number_out_of_range_is_refused(rule):
    expected, *values = rule
    said, right = {}, {}
    for policy, names in REFUSED[rule].items():
        for name, value in itertools.product(names.split(), values):
            place = f"{policy.__name__}({name}={value})"
            said[place] = refusal(policy, {name: value})
            right[place] = f"bad {name} {value}: expected {expected}, e.g. {getattr(policy, name)}"
    assert said == right


def refusal(policy, parameters):
    with pytest.raises(ValueError) as caught:
        policy(**parameters)
    return str(caught.value)
