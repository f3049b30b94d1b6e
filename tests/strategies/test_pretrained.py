"""A pretrained cost model: the prior at first, corrected by what is measured."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ansorbench.strategies import (
    PretrainedModel,
    ProgramMaker,
    extract,
    is_blind,
    load_program_model,
    pool,
    program_model,
    undecided,
)
from pytest_ansorbench.workloads import BatchMatmul
from tests.strategies.setups import make_setup

MATMUL = BatchMatmul(batch=1, m=64, n=64, k=64)


@pytest.fixture(scope="module")
def measured(target):
    """A setup with a pretrained model, and candidates of it."""
    setup = make_setup(target, case=MATMUL, cost_model=PretrainedModel())
    sketches = undecided(setup.sketches)
    traces = [sketches[index % len(sketches)] for index in range(48)]
    programs = ProgramMaker(setup.context).sample(traces, range(1, 49))
    return setup, [program.candidate().measure_candidate for program in programs]


def results_of(latencies_s):
    from tvm.s_tir.meta_schedule.runner import RunnerResult

    return [
        RunnerResult([float(one)], None) if np.isfinite(one) else RunnerResult(None, "failed")
        for one in latencies_s
    ]


def test_it_begins_with_the_prior_and_is_never_blind(measured):
    setup, candidates = measured
    model = PretrainedModel().start()
    assert not is_blind(model)
    scores = model.predict(setup.context, candidates)
    rows = pool(extract(model.extractor, setup.context, candidates))
    np.testing.assert_allclose(scores, np.exp2(load_program_model().predict(rows)))
    assert (scores > 0.0).all()


def test_what_is_measured_corrects_it(measured):
    setup, candidates = measured
    model = PretrainedModel().start()
    before = model.predict(setup.context, candidates)
    # The opposite of what it thinks.
    latencies_s = 1e-3 * (0.1 + before)
    known, asked = slice(0, 36), slice(36, None)
    model.update(setup.context, candidates[known], results_of(latencies_s[known]))
    after = model.predict(setup.context, candidates)
    truth = 1.0 / latencies_s
    assert np.corrcoef(after[known], truth[known])[0, 1] > 0.8
    improved = np.corrcoef(after[asked], truth[asked])[0, 1]
    assert improved > np.corrcoef(before[asked], truth[asked])[0, 1] + 0.3


def test_few_trials_and_failed_ones_are_taken(measured):
    setup, candidates = measured
    model = PretrainedModel(least=8).start()
    before = model.predict(setup.context, candidates)
    model.update(setup.context, candidates[:4], results_of([1e-3] * 4))
    after = model.predict(setup.context, candidates)
    np.testing.assert_array_equal(np.argsort(after), np.argsort(before))
    model.update(setup.context, candidates[4:9], results_of([np.inf] * 5))
    assert np.isfinite(model.predict(setup.context, candidates)).all()


def test_one_run_does_not_leak_into_another(measured):
    setup, candidates = measured
    policy = PretrainedModel()
    one, other = policy.start(), policy.start()
    before = other.predict(setup.context, candidates)
    one.update(setup.context, candidates, results_of(np.linspace(1e-3, 1e-2, len(candidates))))
    np.testing.assert_array_equal(other.predict(setup.context, candidates), before)


def test_programs_are_read_before_too_many_of_them_are_held(measured, monkeypatch):
    setup, candidates = measured
    latencies_s = np.linspace(1e-3, 2e-3, len(candidates))
    held, read = PretrainedModel().start(), PretrainedModel().start()
    held.update(setup.context, candidates, results_of(latencies_s))
    monkeypatch.setattr(program_model, "_MOST_UNREAD", len(candidates))
    read.update(setup.context, candidates, results_of(latencies_s))
    assert held.unread and not read.unread
    first, second = (model.predict(setup.context, candidates) for model in (held, read))
    np.testing.assert_array_equal(first, second)


def test_on_other_targets_a_resumed_run_answers_as_one_that_was_never_interrupted(measured):
    from tvm.s_tir.meta_schedule import TuneContext
    from tvm.target import Target

    setup, candidates = measured
    context = TuneContext(setup.context.mod, target=Target("c"))
    results = results_of(np.linspace(1e-3, 1e-2, len(candidates)))
    uninterrupted, resumed = PretrainedModel().start(), PretrainedModel().start()
    # It knows the target before there is anything to learn.
    uninterrupted.predict(context, candidates)
    for model in (uninterrupted, resumed):
        model.update(context, candidates, results)
    first, second = (model.predict(context, candidates) for model in (uninterrupted, resumed))
    np.testing.assert_array_equal(first, second)
