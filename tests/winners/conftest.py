"""A result of small searches: an operator with two arms, and a network."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.bench import LocalExecutor, Site
from pytest_ansorbench.budget import Budget, Trials
from pytest_ansorbench.strategies import Registry
from pytest_ansorbench.workloads import BatchMatmul, Mlp
from tests.bench.conftest import PLAN, RUNS, session_in
from tests.fast_engine import FastEngine
from tests.synthetic import with_runs

MATMUL = BatchMatmul(batch=1, m=16, n=16, k=16)
MLP = Mlp(features=16, hidden=(8, 8), classes=4)


@pytest.fixture(scope="package")
def tuned(target, tmp_path_factory):
    """The result; which of its programs is the fastest is made up."""
    folder = tmp_path_factory.mktemp("tuned")
    site = Site(FastEngine(target, compiles=False), storage=folder)
    random = Registry().get("random")
    arms = [random, dataclasses.replace(random, name="again")]
    runs = dataclasses.replace(RUNS, budget=Budget(Trials(2, per_task=True), 2))
    with session_in(folder, lambda: LocalExecutor(site)) as session:
        session.run(MATMUL, arms, PLAN)
        session.run(MLP, arms[:1], dataclasses.replace(PLAN, runs=runs))
    return session.result()


def found_so(result, caches):
    """A result whose runs found the caches in another way."""
    cases = tuple(with_runs(case, caches=caches) for case in result.cases)
    return dataclasses.replace(result, cases=cases)
