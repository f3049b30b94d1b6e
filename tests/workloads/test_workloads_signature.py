"""Which arguments a program writes, and the sentence that one gets which cannot be tuned."""

import pytest

from pytest_ansorbench.workloads import (
    BadProgram,
    MobileNetV2,
    check_program,
    outputs_of,
)
from pytest_ansorbench.workloads.dataflow import Rounding
from tests.workloads import odd_programs


def module(function):
    from tvm import IRModule

    return IRModule({"main": function})


def expressions(*tensors):
    from tvm import te

    return module(te.create_prim_func([*tensors]))


def chain():
    """An input, its double, and the double of that."""
    from tvm import te

    x = te.placeholder((4,), name="x")
    y = te.compute((4,), lambda i: x(i) * 2, name="y")
    return x, y, te.compute((4,), lambda i: y(i) * 2, name="z")


@pytest.mark.parametrize(
    "made, outputs",
    [
        (odd_programs.two_outputs, 2),
        (odd_programs.in_place_at_last, 1),
        (odd_programs.running_sum, 1),
        (odd_programs.through_a_view, 1),
        (odd_programs.foreign_code, 1),
    ],
    ids=lambda made: getattr(made, "__name__", str(made)),
)
def test_outputs_are_what_is_written_and_such_a_program_is_fine(made, outputs):
    mod = module(made())
    assert outputs_of(mod) == outputs
    check_program(mod, "'x'")


def test_what_is_written_and_no_argument_is_no_output():
    x, y, z = chain()
    assert outputs_of(expressions(x, z)) == 1
    assert outputs_of(expressions(x, y, z)) == 2


def test_every_family_of_operators_has_one_output_and_can_be_tuned(small):
    mod = small.tasks()[0].mod
    assert outputs_of(mod) == 1
    check_program(mod, small.id)


def test_every_task_of_a_network_has_one_output_and_can_be_tuned():
    tasks = MobileNetV2().tasks()
    assert len(tasks) > 20
    assert {outputs_of(task.mod) for task in tasks} == {1}
    for task in tasks:
        check_program(task.mod, task.name)


BAD = {
    odd_programs.scalar_argument: "argument 1 of 'x', 'a', is a scalar, and kernels are called "
    "with tensors; make it a tensor of one element, or a constant",
    odd_programs.vectors: "argument 0 of 'x', 'x', has vectors as elements, float32x4, which NumPy "
    "has not; give it one more axis",
    odd_programs.symbolic_length: "the shape of argument 0 of 'x', 'x', depends on n; give it a "
    "number, e.g. by `prim_func.specialize`",
    odd_programs.adds_to_its_output: "argument 2 of 'x', 'y', is an output that is read before it "
    "is written; set it first, e.g. in `T.init()`, or add to an input of its own",
    odd_programs.reads_its_output_first: "argument 1 of 'x', 'y', is an output that is read before "
    "it is written; set it first, e.g. in `T.init()`, or add to an input of its own",
    odd_programs.doubles_its_input: "argument 0 of 'x', 'x', is an output that is read before it "
    "is written; set it first, e.g. in `T.init()`, or add to an input of its own",
    odd_programs.ragged_rows: "a loop of 'x' takes starts[vi + 1] - starts[vi] steps, which is no "
    "number; give it the most that there may be, e.g. 64, and leave out the rest by "
    "`T.if_then_else`",
    odd_programs.nothing_to_do: "there is nothing to tune in 'x': it has no block; put what it "
    "computes into `T.sblock`, or write it as `te.compute`",
    odd_programs.loops_alone: "there is nothing to tune in 'x': it has no block; put what it "
    "computes into `T.sblock`, or write it as `te.compute`",
}


@pytest.mark.parametrize("made", BAD, ids=lambda made: made.__name__)
def test_what_cannot_be_tuned_is_told_in_a_sentence(made):
    with pytest.raises(BadProgram) as refused:
        check_program(module(made()), "'x'")
    assert str(refused.value) == BAD[made]


def test_vectors_are_rounded_as_their_elements():
    assert Rounding.of(module(odd_programs.vectors())) == Rounding(2.0**-23)


def test_what_is_read_has_to_be_there():
    from tvm import te

    x, scale = te.placeholder((4,), name="x"), te.var("scale", "float32")
    mod = expressions(x, te.compute((4,), lambda i: x(i) * scale, name="y"))
    with pytest.raises(BadProgram) as refused:
        check_program(mod, "'x'")
    assert str(refused.value) == (
        "'x' is no whole program: Invalid use of undefined variable scale; make all that it reads "
        "its arguments"
    )


def test_foreign_code_that_nothing_is_known_of_cannot_be_tuned():
    from tvm import te, topi

    x = te.placeholder((2, 4), name="x")
    with pytest.raises(BadProgram, match=r"nothing says that .x. writes any .* with `T.writes`"):
        check_program(expressions(x, topi.sort(x)), "'x'")


def test_outputs_come_last():
    x, y, _ = chain()
    message = (
        "argument 0 of 'x', 'y', is written, but argument 1, 'x', is not; put the outputs last"
    )
    with pytest.raises(BadProgram, match=message):
        check_program(expressions(y, x), "'x'")
    with pytest.raises(BadProgram, match="argument 0 of the program, 'y', is written"):
        outputs_of(expressions(y, x))


def test_a_program_that_writes_nothing_has_no_outputs():
    with pytest.raises(BadProgram, match="nothing says that the program writes any of its argum"):
        outputs_of(module(odd_programs.nothing_to_do()))


def test_an_argument_without_elements_is_refused():
    from tvm import te, topi

    x = te.placeholder((0, 4), name="x")
    with pytest.raises(
        BadProgram, match=r"argument 0 of 'x', 'x', has no elements, .* is \[0, 4\]"
    ):
        check_program(expressions(x, topi.nn.relu(x)), "'x'")


@pytest.mark.parametrize("names", [["add"], ["add", "main"]], ids=str)
def test_there_is_one_function_and_it_is_called_main(names):
    from tvm import IRModule

    mod = IRModule(dict.fromkeys(names, odd_programs.two_outputs()))
    message = f"bad functions of 'x': {', '.join(names)}; expected one, main"
    with pytest.raises(BadProgram, match=message):
        check_program(mod, "'x'")
