"""Searches for points on throughput that is made up: no program is made, and the best is known."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from itertools import islice

import numpy as np
import pytest

from pytest_ansorbench.strategies import (
    AutoTVM,
    Chains,
    DecisionInputs,
    Registry,
    Strategy,
    Suggestion,
    TreeGRU,
    Tried,
)
from pytest_ansorbench.strategies.decisions.traced import TracedDesign
from pytest_ansorbench.workloads import BatchMatmul
from tests.strategies.setups import spaces_of

SMALL = BatchMatmul(batch=1, m=4, n=4, k=4)
"""Three sketches of 1,200 points each."""
SMALLER = BatchMatmul(batch=1, m=2, n=2, k=2)
"""The same of 128 points."""
SMALL_GRU = {"embedded": 16, "hidden": 16, "steps": 4}
"""Of a network that takes no time, and learns nothing."""


def needing(names):
    """Searches by name, without those whose library is not installed."""
    libraries = {"tpe": "optuna", "autotvm-treegru": "torch"}

    def marks(name):
        absent = name in libraries and find_spec(libraries[name]) is None
        return [pytest.mark.skip(reason=f"{libraries[name]} is not installed")] if absent else []

    return pytest.mark.parametrize("name", [pytest.param(one, marks=marks(one)) for one in names])


def design_space(target, case=SMALL) -> TracedDesign:
    spaces, maker, _ = spaces_of(target, case)
    return TracedDesign(spaces, maker)


def brief(name) -> Strategy:
    """A strategy that ships, with chains that are as short as its inputs are slow."""
    strategy = Registry().get(name)
    if not isinstance(strategy.proposer, AutoTVM):
        return strategy
    search = strategy.proposer
    chains = Chains(24, 24) if isinstance(search.inputs, DecisionInputs) else Chains(4, 4)
    is_neural = isinstance(search.model, TreeGRU)
    model = replace(search.model, **(SMALL_GRU if is_neural else {"trees": 20}))
    return replace(strategy, proposer=replace(search, model=model, chains=chains))


def every_point(space):
    return [(one.index, tuple(vector)) for one in space.spaces for vector in one.every().tolist()]


class Hidden:
    """Throughput with one best point: the further away in tile sizes, the slower."""

    def __init__(self, space, seed=0):
        self.space = space
        self.best = space.draw(np.random.default_rng(1_000 + seed))
        self._sizes = self._logs(self.best)

    def __call__(self, point) -> float:
        away = float(np.abs(self._logs(point) - self._sizes).sum())
        return 100.0 * np.exp(-away / 8.0) * (1.0 if point[0] == self.best[0] else 0.7)

    def _logs(self, point):
        decisions = self.space.note(point)["decisions"]
        return np.concatenate([np.log2(np.atleast_1d(one) + 1.0) for one in decisions])


def searched(policy, space, throughput, trials, *, seed=0, batch=16):
    """Run a policy as its proposer does; returns what was tried, in order, and the search."""
    search = policy.search(space, np.random.default_rng(seed), trials)
    taken, tried = set(), []
    while len(tried) < trials:
        wanted = min(batch, trials - len(tried))
        asked = {}
        for one in islice(search.ask(wanted, taken), 8 * wanted):
            if one.point not in taken:
                asked.setdefault(one.point, one)
            if len(asked) == wanted:
                break
        if not asked:
            left = [point for point in every_point(space) if point not in taken]
            asked = {point: Suggestion(point) for point in left[:wanted]}
        if not asked:
            break
        taken |= asked.keys()
        told = [Tried(at, throughput(at), as_json(one.note)) for at, one in asked.items()]
        search.memory = as_json(search.memory)
        search.tell(told)
        tried += told
    return tried, search


def as_json(value):
    """A value as a journal gives it back."""
    return json.loads(json.dumps(value))
