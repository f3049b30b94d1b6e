"""Design spaces: any has sketches that searches work with, and the default is TVM's own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_ansorbench.search import ResumeError, unpack
from pytest_ansorbench.search.sketches import SketchIndex
from pytest_ansorbench.strategies import (
    BUILTIN,
    BadAnswer,
    LimitedSpace,
    ProgramMaker,
    Registry,
    TargetSpace,
    mutate,
    stock_rules,
    stock_weights,
    undecided,
)
from pytest_ansorbench.workloads import Conv2d, Softmax
from tests.search.rounds import finished, searching, stepped
from tests.spaces import Broken, Empty, Named, Paralleling, Recomputing, Tensorizing
from tests.strategies.decisions.test_tensorized import DENSE, kinds_in
from tests.strategies.setups import MATMUL, context_of, make_setup, unchecked_tasks

SOFTMAX = Softmax(m=32, n=32)
CONV2D = Conv2d(
    batch=1, height=8, width=8, in_channels=16, out_channels=16, kernel=3, stride=1, padding=1
)
RANDOM = Registry().get("random")
VNNI = {
    "kind": "llvm",
    "mtriple": "x86_64-unknown-linux-gnu",
    "mcpu": "cascadelake",
    "num-cores": 2,
}

every_space = pytest.mark.parametrize(
    "space", [TargetSpace(), LimitedSpace(), Recomputing()], ids=lambda space: type(space).__name__
)
every_case = pytest.mark.parametrize("case", [MATMUL, SOFTMAX, CONV2D], ids=lambda case: case.id)


def kinds(rules):
    return [type(rule).__name__ for rule in rules]


def instructions(setup):
    """What the sketches of a task do, by the names of TVM's instructions."""
    return {kind for sketch in setup.sketches for kind in kinds_in(sketch.trace)}


def fingerprints(target, case, space):
    return SketchIndex(make_setup(target, case=case, space=space).sketches).fingerprints


@every_space
@every_case
def test_sketches_are_told_apart_and_their_programs_find_home(space, case, target):
    setup = make_setup(target, case=case, space=space)
    index, maker = SketchIndex(setup.sketches), ProgramMaker(setup.context)
    rules = setup.context.space_generator.mutator_probs
    assert len(set(index.fingerprints)) == len(setup.sketches) > 0
    for number, trace in enumerate(undecided(setup.sketches)):
        programs = maker.sample([trace] * 4, [1, 2, 3, 4])
        traces = [mutate(rule, one.schedule.trace, 1) for rule in rules for one in programs]
        mutants = maker.recall([trace for trace in traces if trace is not None])
        assert mutants
        assert {index.of(program.trace) for program in [*programs, *mutants]} == {number}


@every_case
def test_the_default_is_the_targets_own(case, target):
    from tvm.s_tir.meta_schedule import TuneContext

    [task] = unchecked_tasks(case)
    context = TuneContext(task.mod, target=target, space_generator="post-order-apply")
    stock = SketchIndex(context.generate_design_space()).fingerprints
    assert fingerprints(target, case, TargetSpace()) == stock
    ours = context_of(target, task)
    assert kinds(ours.space_generator.postprocs) == kinds(context.space_generator.postprocs)
    assert stock_weights(ours) == stock_weights(context)


def test_mutation_rules_of_one_class_are_told_apart(target):
    weights = stock_weights(make_setup(target, space=Paralleling()).context)
    assert weights == {"MutateParallel": 0.25, "MutateParallel-2": 0.75}


def test_shipped_strategies_search_the_default_but_for_one():
    others = {one.name: one.space for one in BUILTIN if one.space != TargetSpace()}
    assert others == {"default-limited": LimitedSpace()}


def test_stock_rules_are_the_targets_own_in_their_order(target):
    setup = make_setup(target)
    rules, again = stock_rules(target), stock_rules(target)
    assert kinds(rules) == kinds(setup.context.space_generator.sch_rules)
    assert kinds(rules) == kinds(again)
    assert not any(one.same_as(other) for one in rules for other in again)


def test_rules_for_tensor_intrinsics_are_among_them_in_any_space():
    from tvm.target import Target

    from pytest_ansorbench.measure.intrinsics import register_intrinsics

    vnni = Target(VNNI)
    register_intrinsics(vnni)
    tensorizing = "MultiLevelTilingWithIntrin"
    assert kinds(stock_rules(vnni)).count(tensorizing) == 1
    assert kinds(LimitedSpace().start(vnni).sch_rules).count(tensorizing) == 1
    assert tensorizing not in kinds(stock_rules(Target({**VNNI, "mcpu": "x86-64"})))


@every_case
def test_the_limited_space_leaves_out_where_blocks_are_computed(case, target):
    limited = make_setup(target, case=case, space=LimitedSpace())
    left_out = {"SampleComputeLocation", "RFactor", "CacheWrite"}
    assert not instructions(limited) & left_out
    assert instructions(make_setup(target, case=case)) & left_out
    assert len(limited.sketches) == 1


def test_the_limited_space_tiles_on_fewer_levels(target):
    limited = make_setup(target, space=LimitedSpace())
    [sketch] = limited.sketches
    tiled = [one for one in sketch.trace.insts if one.kind.name == "SamplePerfectTile"]
    assert [[int(number) for number in one.attrs] for one in tiled] == [[3, 16]] * 3


def test_a_rule_in_python_adds_sketches_to_the_targets_own(target):
    stock = set(fingerprints(target, SOFTMAX, TargetSpace()))
    mine = set(fingerprints(target, SOFTMAX, Recomputing()))
    assert stock < mine
    assert mine == set(fingerprints(target, SOFTMAX, Recomputing()))


@pytest.mark.parametrize(
    ("name", "space", "case"),
    [("random", LimitedSpace(), CONV2D), ("draft", Recomputing(), SOFTMAX)],
    ids=["limited", "in python"],
)
def test_searches_measure_programs_of_a_space(name, space, case, fast_engine):
    strategy = replace(Registry().get(name), name="mine", space=space)
    made = search(strategy, fast_engine, case, trials=2)
    finished(made)
    assert [trial.status for trial in made.trials] == ["ok"] * 2
    assert all(trial.sketch >= 0 for trial in made.trials)


def test_draft_searches_with_an_intrinsic_of_a_user(fast_engine):
    """Sixteen sums of four products, so that programs are tensorized on any CPU."""
    mine = replace(Registry().get("draft"), name="mine", space=Tensorizing())
    made = search(mine, fast_engine, DENSE, trials=2)
    [entry] = finished(made)
    assert [trial.status for trial in made.trials] == ["ok"] * 2
    found = unpack(entry.state.candidates, DENSE.tasks()[0].mod)
    assert [kinds_in(one.trace).count("Tensorize") for one in found] == [1, 1]


def test_a_run_does_not_go_on_in_another_space(unbuilding_engine):
    begun = stepped(search(RANDOM, unbuilding_engine), 1)
    assert search(RANDOM, unbuilding_engine, resumed=begun).finished
    with pytest.raises(ResumeError, match="its design space is another one"):
        search(replace(RANDOM, space=LimitedSpace()), unbuilding_engine, resumed=begun)


def search(strategy, engine, case=MATMUL, trials=1, **others):
    return searching(case, strategy, engine, trials=trials, round_trials=trials, **others)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (
            Empty(),
            r"^bad design space of strategy 'mine': it has no sketch for the task '.+'; expected "
            r"at least one, so let a rule that changes nothing return its schedule, e\.g\. \[sch\]",
        ),
        (
            Named(),
            "^bad result 'post-order-apply' of start: expected one of MetaSchedule's space "
            r"generators, e\.g\. PostOrderApply\(\)",
        ),
    ],
)
def test_what_is_no_space_is_refused_in_a_sentence(space, message, unbuilding_engine):
    with pytest.raises(BadAnswer, match=message) as raised:
        search(replace(RANDOM, name="mine", space=space), unbuilding_engine)
    assert raised.value.method == space.start


def test_an_error_of_a_rule_says_whose_it_is(unbuilding_engine):
    with pytest.raises(Exception, match="planted") as raised:
        search(replace(RANDOM, name="mine", space=Broken()), unbuilding_engine)
    assert raised.value.__notes__ == ["while making the sketches of strategy 'mine'"]
