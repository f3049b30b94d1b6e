"""What untuned programs compute is what tuned ones are held to."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from pytest_ansorbench.measure.arguments import mismatch
from pytest_ansorbench.measure.engine import UntunedError
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.untuned import in_good_order, network_check, task_check
from pytest_ansorbench.workloads import BatchMatmul, Mlp, from_relax
from pytest_ansorbench.workloads.networks.apply import with_schedules
from tests.fast_engine import FastEngine
from tests.faults import Doubling, module
from tests.inference import infer
from tests.relax_modules import product
from tests.workloads.conftest import LAYERS, SMALL

MATMUL = BatchMatmul(batch=1, m=8, n=8, k=8)
MLP = Mlp(features=24, hidden=(16, 16), classes=5)


def test_a_task_s_check_is_what_its_program_computes(engine):
    [task] = MATMUL.tasks()
    check = task_check(engine, dataclasses.replace(task, check=None))
    assert [array.shape for array in check.inputs] == list(MATMUL.input_shapes)
    expected = MATMUL.reference(*check.inputs)
    np.testing.assert_allclose(*check.expected, expected, rtol=1e-5, atol=1e-5)
    assert mismatch([expected.astype(np.float32)], check) == ""
    assert mismatch([1.01 * expected.astype(np.float32)], check) != ""


@pytest.mark.parametrize("operator", (*SMALL, *LAYERS), ids=str)
def test_sums_in_another_order_of_loops_are_the_same(operator):
    from tvm.target import Target

    [task] = operator.tasks()
    with FastEngine(Target({"kind": "llvm", "opt-level": 0})) as engine:
        computed = engine.outputs(Program.operator(in_good_order(task.mod)), task.check)
    assert mismatch(computed.given, task.check) == ""


def innermost(mod):
    """The innermost loop around the last block with a sum: its extent, and whether it sums."""
    from tvm.s_tir import Schedule

    schedule = Schedule(mod)
    [block] = [
        block
        for block in schedule.get_child_blocks(schedule.get_sblock("root"))
        if 2 in [int(axis.iter_type) for axis in schedule.get(block).iter_vars]
    ]
    loop = schedule.get(schedule.get_loops(block)[-1])
    axes = schedule.get(block).iter_vars
    sums = [axis for axis in axes if int(axis.iter_type) == 2]
    return int(loop.extent), int(loop.extent) in [int(axis.dom.extent) for axis in sums]


@pytest.mark.parametrize("columns", [True, False])
def test_only_neighbours_in_memory_come_innermost(columns):
    """What is multiplied by a transposed matrix sums neighbours as it is."""
    from tvm import IRModule, te

    x, y = te.placeholder((3, 5), name="x"), te.placeholder((5, 7) if columns else (7, 5), name="y")
    k = te.reduce_axis((0, 5), name="k")
    product = te.compute(
        (3, 7), lambda i, j: te.sum(x[i, k] * (y[k, j] if columns else y[j, k]), axis=k)
    )
    func = te.create_prim_func([x, y, product]).with_attr("global_symbol", "main")
    mod = IRModule({"main": func})
    assert innermost(mod) == (5, True)
    assert innermost(in_good_order(mod)) == ((7, False) if columns else (5, True))


def test_inputs_are_positive_where_negative_ones_give_no_numbers(engine):
    from tvm import IRModule, te

    x = te.placeholder((64,), "float32", name="x")
    root = te.compute((64,), lambda i: te.sqrt(x[i]), name="root")
    func = te.create_prim_func([x, root]).with_attr("global_symbol", "main")
    [task] = MATMUL.tasks()
    rooted = dataclasses.replace(task, mod=IRModule({"main": func}), check=None)
    check = task_check(engine, rooted)
    assert (check.inputs[0] >= 0).all()
    np.testing.assert_allclose(*check.expected, np.sqrt(check.inputs[0]), rtol=1e-6)
    assert check.drawn == "[0.1, 1)"


def test_a_network_s_check_is_what_its_program_computes(engine):
    check, _ = network_check(engine, MLP, MLP.program(), MLP.tasks())
    for one in (check, check.fresh):
        np.testing.assert_allclose(*one.expected, infer(MLP.program(), one.inputs), rtol=1e-5)
    assert check.outputs[0].expected.shape == (1, 5)
    assert (check.inputs[0] != check.fresh.inputs[0]).all()


def whole_numbers(seed):
    """Of which sums of halves are exact."""
    return {"x": np.random.default_rng(seed).integers(1, 9, (4, 8)).astype(np.float32)}


def test_a_rewritten_network_is_held_to_what_its_model_computes(engine):
    # Its last place is another one, as where sums are added up in another order.
    almost = np.nextafter(np.float32(0.5), np.float32(1))
    network = from_relax(
        "product", lambda: product(0.5), rewrite=lambda _: product(almost), inputs=whole_numbers
    )
    check, _ = network_check(engine, network, network.program(), network.tasks())
    for one in (check, check.fresh):
        data, weights = one.inputs
        assert (weights == almost).all()
        np.testing.assert_array_equal(one.outputs[0].expected, data @ np.full_like(weights, 0.5))


def test_a_rewrite_that_computes_something_else_is_refused(engine):
    network = from_relax("product", lambda: product(0.5), rewrite=lambda _: product(0.51))
    with pytest.raises(UntunedError, match=r"its rewrite computes something else .* 32 of 32"):
        network_check(engine, network, network.program(), network.tasks())


def test_schedules_take_the_place_of_what_they_were_made_from(engine):
    from tvm.s_tir import Schedule

    program, tasks = MLP.program(), MLP.tasks()
    scheduled = []
    for task in tasks:
        schedule = Schedule(task.mod)
        block = schedule.get_child_blocks(schedule.get_sblock("root"))[0]
        schedule.parallel(schedule.get_loops(block)[0])
        scheduled.append(schedule.mod)
    tuned = with_schedules(program, tasks, scheduled)
    scheduled_functions = [
        function
        for _, function in tuned.functions_items()
        if function.attrs.get("tirx.is_scheduled")
    ]
    assert len(scheduled_functions) == len(tasks)
    np.testing.assert_allclose(
        infer(tuned, MLP.arguments()), infer(program, MLP.arguments()), rtol=1e-5
    )
    untouched = with_schedules(program, tasks, [None] * len(tasks))
    from tvm_ffi import structural_equal

    assert structural_equal(untouched, program)


@pytest.mark.parametrize(
    ("kind", "message"),
    [("crash", "SIGABRT|signal"), ("unbuildable", "build-error"), ("hang", "no result after")],
)
def test_a_program_that_cannot_run_says_why(engine, kind, message, monkeypatch):
    settings = dataclasses.replace(engine.runner._settings, run_timeout_s=1)
    monkeypatch.setattr(engine.runner, "_settings", settings)
    [task] = Doubling().tasks()
    with pytest.raises(UntunedError, match=message):
        task_check(engine, dataclasses.replace(task, mod=module(kind), check=None))
