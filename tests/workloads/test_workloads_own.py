"""Operators of a user's own: what they are called with, what is right, and what is refused."""

import numpy as np
import pytest

from pytest_ansorbench import workloads
from pytest_ansorbench.measure.arguments import mismatch
from pytest_ansorbench.workloads import BadProgram, Case
from pytest_ansorbench.workloads.inputs import BadInputs
from tests.workloads import odd_programs


def scaled_sum():
    """Inputs x and y, output 2 x + y."""
    from tvm import te

    x, y = (te.placeholder((4, 8), name=name) for name in "xy")
    return x, y, te.compute((4, 8), lambda i, j: 2 * x(i, j) + y(i, j), name="z")


def row_sums():
    """One input, and two outputs: sums of its rows, and its double."""
    from tvm import te

    x = te.placeholder((4, 8), name="x")
    k = te.reduce_axis((0, 8), name="k")
    sums = te.compute((4,), lambda i: te.sum(x(i, k), axis=k), name="sums")
    return [x, sums, te.compute((4, 8), lambda i, j: 2 * x(i, j), name="double")]


def product(m, n, k):
    """A matrix product, as a function that returns its tensors."""

    def tensors():
        from tvm import te

        a, b = te.placeholder((m, k), name="a"), te.placeholder((k, n), name="b")
        r = te.reduce_axis((0, k), name="r")
        made = te.compute((m, n), lambda i, j: te.sum(a(i, r) * b(r, j), axis=r), name="c")
        return a, b, made

    return tensors


def computed(task):
    """What the untuned program makes of the check's inputs."""
    import tvm
    from tvm.runtime import tensor

    shapes = [output.expected.shape for output in task.check.outputs]
    taken = [tensor(np.full(shape, np.nan, "float32")) for shape in shapes]
    tvm.compile(task.mod, target="llvm")["main"](*map(tensor, task.check.inputs), *taken)
    return [one.numpy() for one in taken]


def test_a_tensor_expression_is_a_case_of_one_task():
    case = workloads.from_te("scaled-sum", scaled_sum, lambda x, y: 2 * x + y)
    assert isinstance(case, Case)
    assert (case.id, str(case), case.flops) == ("scaled-sum", "scaled-sum", 64)
    [task] = case.tasks()
    assert (task.name, task.flops, task.weight) == ("scaled-sum", 64, 1)
    assert [array.shape for array in task.check.inputs] == [(4, 8), (4, 8)]
    [output] = computed(task)
    np.testing.assert_allclose(output, *task.check.expected, rtol=1e-6)


@pytest.mark.parametrize("several", [tuple, list])
def test_several_outputs_are_a_tuple_or_a_list(several):
    case = workloads.from_te("rows", row_sums, lambda x: several([x.sum(axis=1), 2 * x]))
    [task] = case.tasks()
    assert len(task.check.expected) == len(task.check.rtol) == len(task.check.atol) == 2
    for output, expected in zip(computed(task), task.check.expected, strict=True):
        np.testing.assert_allclose(output, expected, rtol=1e-5)


def as_module():
    from tvm import IRModule

    return IRModule({"main": odd_programs.two_outputs()})


@pytest.mark.parametrize(
    "source",
    [odd_programs.two_outputs, odd_programs.two_outputs.__wrapped__, as_module, None, "module"],
    ids=["cached", "function", "returns a module", "a function of TVM's", "a module"],
)
def test_a_function_of_tensorir_is_a_case_however_it_is_given(source):
    given = {None: odd_programs.two_outputs, "module": as_module}.get(source)
    source = given() if given else source
    [task] = workloads.from_tir("pair", source, lambda a: (a + 1, a - 1)).tasks()
    assert [variable.name_hint for variable in task.mod.get_global_vars()] == ["main"]
    for output, expected in zip(computed(task), task.check.expected, strict=True):
        np.testing.assert_allclose(output, expected, rtol=1e-6)


def test_without_a_reference_there_is_no_check():
    assert workloads.from_te("sum", scaled_sum).tasks()[0].check is None


def test_what_only_moves_data_has_a_flop():
    from tvm import te

    def copied():
        x = te.placeholder((4,), name="x")
        return x, te.compute((4,), lambda i: x(3 - i), name="y")

    assert workloads.from_te("reversed", copied).flops == 1


@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (1, 1, 4099), (1009, 1, 1), (7, 13, 31)])
def test_tiny_and_prime_extents_are_fine(m, n, k):
    case = workloads.from_te("tiny", product(m, n, k), lambda a, b: a @ b)
    [task] = case.tasks()
    assert task.flops == 2 * m * n * k
    [output] = computed(task)
    check = task.check
    assert mismatch([output], check) == ""


def test_inputs_are_those_of_the_reference_whatever_it_does_to_them():
    def in_place(x, y):
        x *= 2
        x += y
        return x

    [one] = workloads.from_te("one", scaled_sum, in_place).tasks()
    np.testing.assert_allclose(computed(one)[0], *one.check.expected, rtol=1e-6)


def test_inputs_are_those_on_which_the_reference_is_a_number():
    [one] = workloads.from_te("logs", scaled_sum, lambda x, y: np.log(x) + y).tasks()
    assert one.check.drawn == "[0.1, 1)"
    assert min(array.min() for array in one.check.inputs) >= 0.1


def test_inputs_are_given_by_the_names_of_the_arguments():
    given = {"x": (5, 6)}
    [one] = workloads.from_te("sum", scaled_sum, lambda x, y: 2 * x + y, inputs=given).tasks()
    x, y = one.check.inputs
    assert (x >= 5).all() and (y < 1).all()
    with pytest.raises(BadInputs, match="unknown input 'z' in inputs: expected 'x', 'y'"):
        workloads.from_te("sum", scaled_sum, np.add, inputs={"z": (5, 6)}).tasks()


def test_what_cannot_be_tuned_has_neither_tasks_nor_operations():
    case = workloads.from_tir("rows", odd_programs.ragged_rows)
    for asked in (case.tasks, lambda: case.flops):
        with pytest.raises(BadProgram, match="a loop of 'rows' takes"):
            asked()


def test_a_reference_that_says_nothing_is_refused():
    case = workloads.from_te("zeros", scaled_sum, lambda x, y: np.zeros_like(x))
    with pytest.raises(BadProgram, match=r"returns the same for all inputs .*inputs={'x': \(0, 10"):
        case.tasks()


@pytest.mark.parametrize(
    "made, cause",
    [
        (lambda: None, "not a NoneType"),
        (lambda: scaled_sum()[-1], "expected a sequence, not a Tensor"),
        (lambda: [*scaled_sum()][1:], "IsArg"),
    ],
    ids=["nothing", "a single tensor", "an input is missing"],
)
def test_tensors_that_make_no_program_are_refused_with_the_cause(made, cause):
    with pytest.raises(
        BadProgram, match=f"the tensors of 'x' make no program: .*{cause}.*; return"
    ):
        workloads.from_te("x", made).tasks()


@pytest.mark.parametrize(
    "reference, shapes",
    [
        (lambda x, y: x[0], r"\(8,\)"),
        (lambda x, y: (x, y), r"\(4, 8\), \(4, 8\)"),
        (lambda x, y: [x, x[0]], r"\(4, 8\), \(8,\)"),
    ],
    ids=["shape", "number", "list"],
)
def test_a_reference_of_another_shape_is_refused(reference, shapes):
    message = rf"the reference of 'x' returns outputs of the shapes {shapes}; expected \(4, 8\)"
    with pytest.raises(BadProgram, match=message):
        workloads.from_te("x", scaled_sum, reference).tasks()


@pytest.mark.parametrize("name", ["", 3, None])
def test_a_name_is_a_text(name):
    with pytest.raises(ValueError, match=f"bad name {name!r}: expected a text, e.g. 'scaled-add"):
        workloads.from_te(name, scaled_sum)
