"""Strategies as parts of stock `tune_tir`, with the policies that run under pytest."""

from __future__ import annotations

import pytest

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure import register_intrinsics
from pytest_ansorbench.metaschedule import search_strategy, tune_parts
from pytest_ansorbench.strategies import Evolution, ExploreThenCommit, Strategy, StrategyError
from pytest_ansorbench.workloads import BatchMatmul

MATMUL = BatchMatmul(batch=1, m=16, n=16, k=16)


@pytest.fixture(scope="module")
def target():
    resolved = resolve_target(None)
    register_intrinsics(resolved)
    return resolved


@pytest.fixture
def instant():
    """A builder and a runner that cost nothing: the search is what is under test."""
    from tvm.ir.utils import derived_object
    from tvm.s_tir import meta_schedule as ms

    @derived_object
    class Builder(ms.builder.PyBuilder):
        def build(self, inputs):
            return [ms.builder.BuilderResult("nowhere", None) for _ in inputs]

    @derived_object
    class Future(ms.runner.PyRunnerFuture):
        def __init__(self, seconds):
            self.seconds = seconds

        def done(self):
            return True

        def result(self):
            return ms.runner.RunnerResult([self.seconds], None)

    @derived_object
    class Runner(ms.runner.PyRunner):
        def run(self, inputs):
            return [Future(1e-3 / (index + 1)) for index, _ in enumerate(inputs)]

    return {"builder": Builder(), "runner": Runner()}


@pytest.mark.parametrize("name", ["default", "etc", "rules", "optimized", "random"])
def test_stock_tune_tir_takes_the_parts_of_a_strategy(name, target, instant, tmp_path):
    from tvm.s_tir import meta_schedule as ms

    database = ms.tune_tir(
        MATMUL.tasks()[0].mod,
        target,
        str(tmp_path),
        24,
        num_trials_per_iter=8,
        **instant,
        **tune_parts(name, target),
    )
    assert len(database) == 24


def test_a_kernel_tuned_that_way_builds_and_runs(target, tmp_path):
    import numpy as np
    import tvm
    from tvm.s_tir import meta_schedule as ms

    [task] = MATMUL.tasks()
    database = ms.tune_tir(
        task.mod, target, str(tmp_path), 4, num_trials_per_iter=4, **tune_parts("optimized", target)
    )
    schedule = ms.tir_integration.compile_tir(database, task.mod, target)
    kernel = tvm.compile(schedule.mod, target)
    arrays = [tvm.runtime.tensor(each) for each in task.check.inputs]
    out = tvm.runtime.tensor(np.zeros_like(task.check.expected))
    kernel["main"](*arrays, out)
    np.testing.assert_allclose(out.numpy(), task.check.expected, rtol=1e-4, atol=1e-4)


def test_decisions_follow_what_was_measured(target, instant, tmp_path):
    """The same objects as in a bench: what the runner says reaches the sketch policy."""
    from tvm.s_tir import meta_schedule as ms

    started = []

    class Policy(ExploreThenCommit):
        def start(self, sketches):
            started.append(super().start(sketches))
            return started[-1]

    mine = Strategy("mine", proposer=Evolution(Policy(0, 1), blind_generations=0))
    ms.tune_tir(
        MATMUL.tasks()[0].mod,
        target,
        str(tmp_path),
        16,
        num_trials_per_iter=8,
        **instant,
        **tune_parts(mine, target),
    )
    [chooser] = started
    assert chooser.decisions()["phase"] == "exploit"
    assert any(mean for mean in chooser.decisions()["mean_gflops"])


def test_an_unknown_name_is_refused(target):
    with pytest.raises(StrategyError, match=r"bad strategy 'optimised'.*did you mean 'optimized'"):
        tune_parts("optimised", target)


def test_a_search_that_was_not_prepared_says_so():
    from pytest_ansorbench.strategies import Registry

    with pytest.raises(Exception, match="expected a call of pre_tuning first"):
        search_strategy(Registry().get("optimized")).generate_measure_candidates()
