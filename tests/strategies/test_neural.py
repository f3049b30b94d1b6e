"""Networks as models: that they learn, that they repeat themselves, and do without PyTorch."""

from __future__ import annotations

import sys
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest

from pytest_ansorbench.stats.ranks import rank_correlation
from pytest_ansorbench.strategies import (
    AutoTVM,
    Bagged,
    DecisionInputs,
    NestInputs,
    ProgramMaker,
    Registry,
    SegmentMLP,
    StrategyError,
    TreeGRU,
    undecided,
)
from pytest_ansorbench.strategies.autotvm.nests import CONTEXT, LOOPS, nest_of
from tests.strategies.point_searches import SMALL_GRU, Hidden, design_space, searched
from tests.strategies.setups import MATMUL, make_setup

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
#: Column of a loop's row.
VECTORIZED = 7
GRU = partial(TreeGRU, embedded=32, hidden=32, steps=100, rate=3e-3)


@pytest.fixture(scope="module")
def programs(target):
    """What is told of programs' loops, and a law: those with wide vectors are fast."""
    space = design_space(target, MATMUL)
    rng = np.random.default_rng(0)
    rows = NestInputs().start(space)([space.draw(rng) for _ in range(160)])
    loops = rows.reshape(160, LOOPS, 1 + CONTEXT)
    widths = np.where(loops[:, :, VECTORIZED] == 1.0, 2.0 ** loops[:, :, 1], 1.0).max(axis=1)
    return rows, widths / widths.max()


def trained(programs, policy):
    rows, throughput = programs
    return policy.fit(rows[:100], throughput[:100], np.ones(100), 7)


@needs_torch
@pytest.mark.parametrize("objective", ["rank", "regression"])
def test_a_recurrent_network_learns_what_a_loop_does(programs, objective):
    rows, throughput = programs
    scores = trained(programs, GRU(objective)).predict(rows[100:])
    assert rank_correlation(scores, throughput[100:]) > 0.7
    off = np.abs(scores - throughput[100:]).mean()
    assert off < 0.15 if objective == "regression" else off > 0.3


@needs_torch
def test_a_seed_repeats_itself_and_leaves_pytorch_as_it_was(programs):
    import torch

    torch.manual_seed(5)
    state, threads = torch.random.get_rng_state(), torch.get_num_threads()
    policy = TreeGRU(**SMALL_GRU, batch=32)
    first, second = (trained(programs, policy).predict(programs[0]) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert torch.equal(state, torch.random.get_rng_state())
    assert threads == torch.get_num_threads()
    other = policy.fit(*programs, np.ones(160), 8).predict(programs[0])
    assert not np.allclose(first, other)


@needs_torch
def test_scores_do_not_depend_on_what_else_is_asked(programs):
    rows, _ = programs
    model = trained(programs, TreeGRU(**SMALL_GRU))
    alone = [model.predict(rows[at : at + 1])[0] for at in range(20)]
    np.testing.assert_allclose(alone, model.predict(rows[:20]), atol=1e-5)


@needs_torch
def test_bags_take_networks_too(programs):
    model = trained(programs, Bagged(TreeGRU(**SMALL_GRU), members=2))
    assert np.isfinite(model.predict(programs[0])).all()


@needs_torch
def test_failures_alone_are_not_learnt_from(programs):
    rows, throughput = programs
    assert TreeGRU().fit(rows, np.zeros_like(throughput), np.ones(160), 0) is None


@needs_torch
def test_rows_of_other_inputs_are_refused_before_the_first_trial(target):
    space = design_space(target)
    policy = AutoTVM(model=TreeGRU(), inputs=DecisionInputs())
    with pytest.raises(StrategyError, match=r"bad rows of shape \(0, \d+\): .* NestInputs\(\)"):
        searched(policy, space, Hidden(space), 16)


@pytest.mark.parametrize("wrong", [{"objective": "best"}, {"steps": 0}, {"rate": 0.0}])
def test_bad_parameters_are_named(wrong):
    with pytest.raises(ValueError, match=f"bad {next(iter(wrong))} .*expected"):
        TreeGRU(**wrong)


def test_what_is_not_installed_is_named_before_a_search(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    cure = r" takes PyTorch .* 'pytest-ansorbench\[torch\]'"
    bagged = AutoTVM(model=Bagged(TreeGRU()), inputs=NestInputs())
    for policy in (Registry().get("autotvm-treegru").proposer, bagged):
        with pytest.raises(StrategyError, match="TreeGRU" + cure):
            policy.start(None)
    with pytest.raises(StrategyError, match="SegmentMLP" + cure):
        Registry().get("default-mlp").cost_model.start()


@pytest.fixture(scope="module")
def measured(target):
    """A task, programs, and seconds that fall with what the innermost loop of the schedule does."""
    from tvm.s_tir.meta_schedule.runner import RunnerResult

    setup = make_setup(target)
    maker = ProgramMaker(setup.context)
    programs = maker.sample(undecided(setup.sketches) * 40, range(1, 1 + 40 * len(setup.sketches)))
    nests = [nest_of(one.schedule.mod) for one in programs]
    widths = [max((one.extent for one in nest if one.kind == 2), default=1) for nest in nests]
    candidates = [one.candidate().measure_candidate for one in programs]
    return setup.context, candidates, widths, [RunnerResult([1e-3 / w], None) for w in widths]


@needs_torch
def test_metaschedules_network_learns_what_a_loop_does_and_repeats_itself(measured):
    context, candidates, widths, results = measured
    first, second = SegmentMLP().start(), SegmentMLP().start()
    np.testing.assert_array_equal(first.predict(context, candidates[:3]), np.ones(3))
    for model in (first, second):
        model.update(context, candidates[:80], results[:80])
    scores = first.predict(context, candidates[80:])
    assert (scores > 0.0).all()
    assert rank_correlation(scores, widths[80:]) > 0.5
    np.testing.assert_array_equal(scores, second.predict(context, candidates[80:]))
    np.testing.assert_allclose(first.predict(context, candidates[80:81]), scores[:1], rtol=1e-4)


@needs_torch
def test_metaschedules_network_waits_for_a_valid_program(measured):
    from tvm.s_tir.meta_schedule.runner import RunnerResult

    context, candidates, _, results = measured
    model = SegmentMLP().start()
    model.update(context, candidates[:2], [RunnerResult(None, "failed")] * 2)
    np.testing.assert_array_equal(model.predict(context, candidates[:2]), np.ones(2))
    model.update(context, candidates[2:5], results[2:5])
    assert not np.array_equal(model.predict(context, candidates[:2]), np.ones(2))


@needs_torch
def test_metaschedules_own_trainer_fails(measured):
    """Where it does not, `SegmentMLP` is no longer needed: TVM's `MLPModel` is."""
    import torch
    from tvm.s_tir.meta_schedule.cost_model.mlp_model import MLPModel

    context, candidates, _, results = measured
    # A fifth of the tasks, of one none, is held out.
    with pytest.raises(ValueError, match="need at least one array to concatenate"):
        MLPModel().update(context, candidates[:8], results[:8])
    # One program has no axis.
    with pytest.raises(ValueError, match="zero-dimensional arrays cannot be concatenated"):
        MLPModel().predict(context, candidates[:1])
    # PyTorch's schedule took a flag that is gone.
    parameter = torch.zeros(1, requires_grad=True)
    with pytest.raises(TypeError, match="verbose"):
        torch.optim.lr_scheduler.StepLR(torch.optim.Adam([parameter]), 5, verbose=True)
