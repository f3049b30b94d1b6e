"""Strategies as parts of stock `tune_tir`, with the policies that run under pytest."""

from __future__ import annotations

import dataclasses
import tempfile

import pytest

from pytest_ansorbench.metaschedule import search_strategy, tune_parts
from pytest_ansorbench.search.sketches import SketchIndex
from pytest_ansorbench.strategies import (
    Candidate,
    Evolution,
    ExploreThenCommit,
    NoModel,
    RandomTraces,
    Registry,
    Strategy,
    StrategyError,
    XGBoostModel,
)
from pytest_ansorbench.workloads import Softmax
from pytest_ansorbench.workloads.networks.relax_names import tensor_type
from tests.spaces import Recomputing
from tests.strategies.setups import MATMUL, make_setup
from tests.tuning import quiet_loggers, tune_tir
from tests.watching import Watched


@pytest.fixture
def instant(tmp_path):
    """A builder and a runner that cost nothing: the search is what is under test."""
    from tvm.ir.utils import derived_object
    from tvm.s_tir import meta_schedule as ms

    @derived_object
    class Builder(ms.builder.PyBuilder):
        def build(self, inputs):
            # TVM removes the folder of each artifact.
            folders = [tempfile.mkdtemp(dir=tmp_path) for _ in inputs]
            return [ms.builder.BuilderResult(f"{folder}/kernel", None) for folder in folders]

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


@pytest.fixture
def tune(target, instant, tmp_path):
    """Stock `tune_tir` of a small product, from parts and trials, in all and a round."""

    def tuned(parts, trials, round_trials):
        return tune_tir(
            MATMUL.tasks()[0].mod,
            target,
            str(tmp_path),
            trials,
            num_trials_per_iter=round_trials,
            **instant,
            **parts,
        )

    return tuned


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("default-small", marks=pytest.mark.slow),
        pytest.param("rules", marks=pytest.mark.slow),
        *("etc", "optimized", "draft", "draft+transfer", "random"),
    ],
)
def test_stock_tune_tir_takes_the_parts_of_a_strategy(name, target, tune):
    assert len(tune(tune_parts(name, target), 8, 4)) == 8


def test_tasks_of_a_network_are_tuned_each_with_a_policy_of_its_own(target, instant, tmp_path):
    watched = Watched(ExploreThenCommit())
    mine = Strategy("mine", proposer=Evolution(watched, blind_generations=0))
    database = tune_relax(target, tmp_path, instant, mine)
    assert len(database) == 16
    assert len(watched.started) == 2
    assert all(chooser.decisions() for chooser in watched.started)


@pytest.mark.parametrize("name", ["draft", "draft+transfer"])
def test_stock_tune_relax_takes_a_search_of_decisions(name, target, instant, tmp_path):
    database = tune_relax(target, tmp_path, instant, name)
    workloads = {record.workload for record in database.get_all_tuning_records()}
    assert len(database) == 16 and len(workloads) == 2


def tune_relax(target, folder, instant, strategy):
    """Tune two matrix multiplications in a row, 16 trials in all."""
    from tvm import relax
    from tvm.s_tir import meta_schedule as ms

    builder = relax.BlockBuilder()
    data = relax.Var("data", tensor_type((16, 16), "float32"))
    weights = [relax.Var(f"weight{n}", tensor_type((16, n), "float32")) for n in (16, 32)]
    with builder.function("main", [data, *weights]):
        with builder.dataflow():
            hidden = builder.emit(relax.op.matmul(data, weights[0]))
            output = builder.emit_output(relax.op.matmul(hidden, weights[1]))
        builder.emit_func_output(output)
    with target:
        mod = relax.transform.LegalizeOps()(builder.get())
    with quiet_loggers():
        return ms.relax_integration.tune_relax(
            mod,
            {},
            target,
            str(folder),
            16,
            num_trials_per_iter=4,
            **instant,
            **tune_parts(strategy, target),
        )


def test_decisions_follow_what_was_measured(target, tune):
    """The same objects as in a bench: what the runner says reaches the sketch policy."""
    watched = Watched(ExploreThenCommit(0, 1))
    mine = Strategy("mine", proposer=Evolution(watched, blind_generations=0))
    tune(tune_parts(mine, target), 16, 8)
    [chooser] = watched.started
    assert chooser.decisions()["phase"] == "exploit"
    assert any(mean for mean in chooser.decisions()["mean_gflops"])


def test_a_design_space_of_a_user_is_what_is_tuned(target, instant, tmp_path):
    case, watched = Softmax(m=16, n=16), Watched(RandomTraces())
    mine = Strategy("mine", proposer=watched, cost_model=NoModel(), space=Recomputing())
    tune_tir(case.tasks()[0].mod, target, str(tmp_path), 2, **instant, **tune_parts(mine, target))
    [setup] = watched.setups
    expected = make_setup(target, case=case, space=Recomputing()).sketches
    assert SketchIndex(setup.sketches).fingerprints == SketchIndex(expected).fingerprints


def test_a_foreign_cost_model_is_asked_all_the_same(target, tune):
    """One that comes without an extractor, such as TVM's random model."""
    from tvm.s_tir import meta_schedule as ms

    rules = Registry().get("rules")
    few = dataclasses.replace(rules.proposer, population=32, min_unmeasured=8, generations=1)
    parts = tune_parts(dataclasses.replace(rules, proposer=few), target)
    parts["cost_model"] = ms.cost_model.RandomModel()
    assert len(tune(parts, 8, 4)) == 8


def test_the_cost_model_of_the_parts_is_known_again(target, tune):
    """TVM hands it back as a stranger; whether it is trained yet decides how to search."""
    watched = Watched(Evolution(population=16, min_unmeasured=4, blind_generations=0))
    mine = Strategy("mine", proposer=watched, cost_model=XGBoostModel(warmup_samples=8))
    parts = tune_parts(mine, target)
    tune(parts, 8, 8)
    assert watched.started[0].decisions()["generations"] == 0
    parts["strategy"] = search_strategy(mine, cost_model=parts["cost_model"])
    tune(parts, 8, 8)
    assert watched.started[1].decisions()["generations"] == 4


def test_payloads_come_back_through_tune_tir(target, tune):
    learnt = []

    class Numbering(RandomTraces):
        def start(self, setup):
            proposer = super().start(setup)
            propose, learn = proposer.propose, proposer.learn

            def numbered(trials):
                return [
                    Candidate(candidate.measure_candidate, {"place": place})
                    for place, candidate in enumerate(propose(trials))
                ]

            def noted(batch):
                learnt.append([seen.candidate.payload["place"] for seen in batch])
                learn(batch)

            proposer.propose, proposer.learn = numbered, noted
            return proposer

    mine = Strategy("mine", proposer=Numbering(), cost_model=NoModel())
    tune(tune_parts(mine, target), 6, 4)
    assert learnt == [[0, 1, 2, 3], [0, 1]]


@pytest.mark.parametrize("payload", [{1, 2}, float("nan")])
def test_a_payload_that_is_no_json_is_refused_in_tune_tir_too(target, payload):
    class Unkeepable(RandomTraces):
        def start(self, setup):
            proposer = super().start(setup)
            propose = proposer.propose
            proposer.propose = lambda trials: [
                Candidate(candidate.measure_candidate, payload) for candidate in propose(trials)
            ]
            return proposer

    from tvm.s_tir.meta_schedule import TuneContext

    mine = Strategy("mine", proposer=Unkeepable(), cost_model=NoModel())
    context = TuneContext(
        MATMUL.tasks()[0].mod,
        target=target,
        space_generator=mine.space.start(target),
        search_strategy=search_strategy(mine),
    )
    context.pre_tuning(4, 4, context.generate_design_space())
    with pytest.raises(Exception, match="bad payload of strategy 'mine'"):
        context.generate_measure_candidates()


def test_a_target_that_tvm_does_not_know_is_refused():
    with pytest.raises(ValueError, match="nonsense"):
        tune_parts("optimized", "nonsense")


def test_an_unknown_name_is_refused(target):
    with pytest.raises(StrategyError, match=r"bad strategy 'optimised'.*did you mean 'optimized'"):
        tune_parts("optimised", target)


def test_a_search_that_was_not_prepared_says_so():
    with pytest.raises(Exception, match="expected a call of pre_tuning first"):
        search_strategy(Registry().get("optimized")).generate_measure_candidates()
