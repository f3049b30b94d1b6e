"""Users' own models: from ONNX, from PyTorch, from Relax; and files that are none."""

from __future__ import annotations

import sys
import traceback
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from pytest_ansorbench import workloads
from pytest_ansorbench.measure.local.lowering import network_executable
from pytest_ansorbench.workloads import ImportFailed
from pytest_ansorbench.workloads.networks import extract
from pytest_ansorbench.workloads.networks.imported import from_module
from pytest_ansorbench.workloads.networks.relax_names import tensor_type
from tests import onnx_models
from tests.inference import infer
from tests.relax_modules import relax_module

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")

#: Nothing is at its beginning.
UNREADABLE = Path("/proc/self/mem")
KERNEL = np.random.default_rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32)
MATRIX = np.random.default_rng(1).standard_normal((4, 5)).astype(np.float32)


def onnx_file(folder, operator="Relu", batch=1):
    nodes = [
        ("Conv", ["x", "kernel"], ["a"], {"pads": [1, 1, 1, 1]}),
        (operator, ["a"], ["b"], {}),
        ("GlobalAveragePool", ["b"], ["c"], {}),
        ("Flatten", ["c"], ["d"], {}),
        ("MatMul", ["d", "matrix"], ["y"], {}),
    ]
    values = {"x": ("FLOAT", [batch, 3, 8, 8])}, {"y": ("FLOAT", [batch, 5])}
    constants = {"kernel": KERNEL, "matrix": MATRIX}
    return onnx_models.write(folder / "small.onnx", nodes, *values, constants)


def expected(x):
    """The same in NumPy."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    convolved = np.einsum("nchwij,ocij->nohw", windows, KERNEL)
    return np.maximum(convolved, 0).mean(axis=(2, 3)) @ MATRIX


def agrees(case):
    data, *weights = case.arguments()
    assert sum(array.size for array in weights) >= KERNEL.size + MATRIX.size
    np.testing.assert_allclose(
        infer(case.program(), (data, *weights)), expected(data), rtol=1e-3, atol=1e-4
    )
    assert {task.weight for task in case.tasks()} == {1}
    assert case.flops == sum(task.weight * task.flops for task in case.tasks())
    assert isinstance(case, workloads.NetworkCase)


def test_an_onnx_file_becomes_a_case(tmp_path):
    path = onnx_file(tmp_path)
    case = workloads.from_onnx(path)
    assert case.id == str(case) == "small"
    agrees(case)


@pytest.mark.parametrize(
    "shapes",
    [
        {"x": (2, 3, 8, 8)},
        {"x": np.array([2, 3, 8, 8])},
        {"n": np.int64(2)},
        {"n": 2, "x": (2, 3, 8, 8)},
    ],
    ids=str,
)
def test_open_shapes_are_given_by_input_or_by_symbol(tmp_path, shapes):
    path = onnx_file(tmp_path, batch="n")
    agrees(workloads.from_onnx(path, shapes=shapes))


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({}, r"input 'x', \(n, 3, 8, 8\), is open; give it, e.g. shapes={'x': \(1, 3, 8, 8\)} or "
         r"shapes={'n': 1}$"),
        ({"X": (1, 3, 8, 8)}, "bad name 'X' in shapes: expected an input, x or a symbol, n$"),
        ({"x": (1, 3, 8)}, r"bad shape \(1, 3, 8\) of its input 'x': the model has \(n, 3, "),
        ({"x": (1, 4, 8, 8)}, r"bad shape \(1, 4, 8, 8\) of its input 'x': the model has \(n, 3, "),
        ({"n": 2, "x": (1, 3, 8, 8)}, r"the model has \(n, 3, 8, 8\), n = 2$"),
        ({"n": 0}, "bad n 0 in shapes: expected a positive int, e.g. 1$"),
        ({"n": 2.5}, "bad n 2.5 in shapes: expected a positive int, e.g. 1$"),
        ({"x": None}, "bad x None in shapes: expected a positive int, e.g. 1$"),
        ({"x": "2,3"}, "bad x '2' in shapes: expected a positive int, e.g. 1$"),
        ({"n": (2, 3)}, r"bad n \(2, 3\): expected a positive int, e.g. n=1$"),
        ({"x": (1.5, 3, 8, 8)}, "bad x 1.5 in shapes: expected a positive int, e.g. 1$"),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit_are_refused(tmp_path, shapes, message):
    path = onnx_file(tmp_path, batch="n")
    with pytest.raises(ImportFailed, match=message) as caught:
        workloads.from_onnx(path, shapes=shapes).tasks()
    assert str(caught.value).startswith(f"bad model file {str(path)!r}: ")


@pytest.mark.parametrize("batch", [None, 0, -1])
def test_what_has_no_name_is_open(tmp_path, batch):
    path = onnx_file(tmp_path, batch=batch)
    agrees(workloads.from_onnx(path, shapes={"x": (2, 3, 8, 8)}))
    with pytest.raises(ImportFailed, match=r"'x', \(\?, 3, 8, 8\), is open; give it, e.g."):
        workloads.from_onnx(path).tasks()


def test_an_onnx_input_that_is_no_tensor_is_refused(tmp_path):
    import onnx

    path = onnx_file(tmp_path)
    model = onnx.load(str(path))
    model.graph.input[0].type.sequence_type.elem_type.tensor_type.elem_type = 1
    onnx.save(model, str(path))
    with pytest.raises(ImportFailed, match="its input 'x' is no tensor; export it with tensors"):
        workloads.from_onnx(path).tasks()


def test_an_extent_that_onnx_fixes_may_be_another(tmp_path):
    path = onnx_file(tmp_path, batch=1)
    agrees(workloads.from_onnx(path, shapes={"x": (2, 3, 8, 8)}))


@needs_torch
def test_an_exported_program_of_any_batch_becomes_a_case(tmp_path):
    import torch

    path = tmp_path / "small.pt2"
    batch = torch.export.Dim("batch")
    exported = torch.export.export(
        torch_model(), (torch.zeros(2, 3, 8, 8),), dynamic_shapes=({0: batch},)
    )
    torch.export.save(exported, str(path))
    agrees(workloads.from_exported_program(path, shapes={"x": (4, 3, 8, 8)}))
    with pytest.raises(
        ImportFailed, match=r"'x', \(s\d+, 3, 8, 8\), is open; give it, e.g. shapes="
    ):
        workloads.from_exported_program(path).tasks()
    with pytest.raises(
        ImportFailed, match=r"bad shape \(4, 3, 8, 9\) of its input 'x': the model has"
    ):
        workloads.from_exported_program(path, shapes={"x": (4, 3, 8, 9)}).tasks()


def network(layers, *inputs, name="mine", **given):
    """A network whose operators are told by a function of Relax, a builder and the inputs."""
    return workloads.from_relax(name, lambda: relax_module(layers, *inputs), **given)


def test_a_weight_is_one_argument_however_often_it_is_read():
    square = MATRIX[:, :4]

    def twice(relax, builder, x):
        weight = relax.const(square)
        return relax.op.matmul(relax.op.nn.relu(relax.op.matmul(x, weight)), weight)

    case = network(twice, ("x", (3, 4), "float32"))
    x, weight = case.arguments()
    np.testing.assert_array_equal(weight, square)
    right = np.maximum(x @ square, 0) @ square
    np.testing.assert_allclose(infer(case.program(), (x, weight)), right, rtol=1e-5, atol=1e-5)


def test_only_kernels_check_weights():
    import tvm
    from tvm import relax

    def product(relax, builder, x):
        return relax.op.matmul(x, relax.const(MATRIX))

    case = network(product, ("x", (3, len(MATRIX)), "float32"))
    executable = network_executable(case.program(), tvm.target.Target("llvm"))
    assert executable.as_text().count("call  vm.builtin.check_tensor_info") == 1  # x
    x, weight = map(tvm.runtime.tensor, case.arguments())
    run = relax.VirtualMachine(executable, tvm.cpu())["main"]
    run(x, weight)
    with pytest.raises(Exception, match="shape"):
        run(x, tvm.runtime.tensor(MATRIX[1:]))
    with pytest.raises(Exception, match="shape"):
        run(weight, weight)


@pytest.mark.parametrize("shapes", [{"x": (3, 4)}, {"n": 3}], ids=str)
def test_symbols_of_relax_are_given(shapes):
    case = network(
        lambda relax, builder, x: relax.op.add(x, relax.op.nn.relu(x)),
        ("x", ("n", 4), "float32"),
        shapes=shapes,
    )
    [data] = case.arguments()
    assert data.shape == (3, 4)
    np.testing.assert_allclose(infer(case.program(), (data,)), data + np.maximum(data, 0))


def test_an_open_shape_of_relax_is_refused():
    case = network(lambda relax, builder, x: relax.op.nn.relu(x), ("x", ("n", 4), "float32"))
    with pytest.raises(
        ImportFailed, match=r"^bad network 'mine': the shape of its input 'x', \(n, 4\)"
    ):
        case.tasks()


def none_emptied(relax, builder, x):
    none = builder.emit(relax.op.strided_slice(x, axes=[0], begin=[0], end=[0]))
    return relax.op.matmul(none, relax.const(np.eye(4, dtype=np.float32)))


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        (lambda relax, builder, x: x, r"nothing in it to tune \(operators: none\); expected at"),
        (lambda relax, builder, x: relax.const(MATRIX), "nothing in it to tune"),
        (none_emptied, r"nothing in it to tune \(operators: strided_slice, matmul\)"),
        (lambda relax, builder, x: relax.op.nonzero(x), "of what nonzero gives depends on values"),
        (lambda relax, builder, x: relax.op.unique(x), "of what unique gives depends on values"),
        (
            lambda relax, builder, x: relax.op.ewise_fma(x, x, relax.op.nn.relu(x)),
            "TVM has no kernel of ewise_fma with these arguments; leave it out of the model, or",
        ),
    ],
)
def test_what_cannot_be_tuned_is_refused_in_a_sentence(layers, message):
    with pytest.raises(ImportFailed, match=rf"^bad network 'mine': .*{message}") as caught:
        network(layers, ("x", (4, 4), "float32")).tasks()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("layer", "tasks", "wanted"),
    [
        (lambda op, x: op.cumsum(x, axis=1), ["add", "cumsum"], lambda x: np.cumsum(x, 1)),
        (lambda op, x: op.sort(x, axis=1), ["add"], lambda x: np.sort(x, 1)),
        (lambda op, x: op.topk(x, 3, ret_type="values"), ["add"], lambda x: -np.sort(-x)[:, :3]),
    ],
    ids=["cumsum", "sort", "topk"],
)
def test_what_a_library_does_stays_as_it_is(layer, tasks, wanted):
    case = network(
        lambda relax, builder, x: layer(relax.op, builder.emit(relax.op.add(x, x))),
        ("x", (4, 8), "float32"),
    )
    [data] = case.arguments()
    assert [task.name for task in case.tasks()] == tasks
    np.testing.assert_allclose(infer(case.program(), (data,)), wanted(data + data), rtol=1e-5)


def branch():
    from tvm import relax

    flag = relax.Var("flag", tensor_type([], "bool"))
    x, w = (relax.Var(name, tensor_type([8, 8], "float32")) for name in "xw")
    builder = relax.BlockBuilder()
    with builder.function("main", [flag, x, w]):
        product = builder.emit(relax.op.nn.relu(relax.op.matmul(x, w)))
        sides = []
        for value in (relax.op.add(product, x), relax.op.nn.softmax(product)):
            variable = relax.Var("side", tensor_type([8, 8], "float32"))
            block = relax.BindingBlock([relax.VarBinding(variable, value)])
            sides.append(relax.SeqExpr([block], variable))
        builder.emit_func_output(builder.emit(relax.If(flag, *sides)))
    return builder.get()


def test_both_sides_of_a_branch_are_tuned():
    case = workloads.from_relax("branch", branch)
    tasks = {task.name: task for task in case.tasks()}
    assert {*tasks} == {"fused_matmul_relu", "add", "softmax"}
    assert tasks["add"].surroundings.given == (1,)  # x itself
    _, x, w = case.arguments()
    product = np.maximum(x @ w, 0)
    powers = np.exp(product)
    for flag, wanted in (
        (True, product + x),
        (False, powers / powers.sum(axis=1, keepdims=True)),
    ):
        found = infer(case.program(), (np.array(flag), x, w))
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


def test_onnx_branches_are_tuned(tmp_path):
    values = {"flag": ("BOOL", []), "x": ("FLOAT", [4, 5])}, {"y": ("FLOAT", [4, 5])}

    def side(name, operator, *given):
        return onnx_models.graph(name, [(operator, given, [name], {})], {}, {name: values[1]["y"]})

    sides = {
        "then_branch": side("a", "Add", "x", "matrix"),
        "else_branch": side("b", "Mul", "x", "x"),
    }
    branch = [("If", ["flag"], ["y"], sides)]
    path = onnx_models.write(tmp_path / "branch.onnx", branch, *values, {"matrix": MATRIX})
    assert {task.name for task in workloads.from_onnx(path).tasks()} == {"add", "multiply"}


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: None, "its function returned a NoneType; expected a Relax module, e.g. relax"),
        (lambda: 3, "its function returned a int"),
        (lambda: ir_module(), r"no Relax function main \(functions: none\); call the one"),
        (lambda: ir_module(other=branch()["main"]), r"no Relax function main \(functions: other\)"),
    ],
)
def test_a_function_that_gives_no_network_is_refused(function, message):
    with pytest.raises(ImportFailed, match=rf"^bad network 'mine': .*{message}"):
        workloads.from_relax("mine", function).tasks()


def ir_module(**functions):
    from tvm import IRModule

    return IRModule(functions)


def test_an_error_of_the_user_s_function_stays_theirs():
    def fail():
        raise FileNotFoundError("weights.npz")

    with pytest.raises(FileNotFoundError, match=r"weights\.npz"):
        workloads.from_relax("mine", fail).tasks()


@pytest.mark.parametrize(
    ("type_of_input", "message"),
    [
        (lambda types: types["Shape"](ndim=2), "its input 'x' is .*hape.*; expected tensors only"),
        (lambda types: types["Tuple"]([tensor_type([2], "float32")]), "its input 'x' is .*uple"),
    ],
)
def test_inputs_that_are_no_tensors_are_refused(type_of_input, message):
    def build():
        from tvm import relax

        types = {
            kind: getattr(relax, f"{kind}StructInfo", None) or getattr(relax, f"{kind}Type")
            for kind in ("Shape", "Tuple")  # as TVM 0.25 and later ones call them
        }
        x = relax.Var("x", type_of_input(types))
        builder = relax.BlockBuilder()
        with builder.function("main", [x]):
            builder.emit_func_output(builder.emit(relax.const(MATRIX)))
        return builder.get()

    with pytest.raises(ImportFailed, match=message):
        workloads.from_relax("mine", build).tasks()


@needs_torch
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            "Counting",
            "its batch norm is in training mode and counts batches; export it after .eval",
        ),
        ("Writing", "it writes 'memory', which TVM's programs cannot; take that as an input and"),
        ("Dropout", "its aten.native_dropout.default draws at random, which TVM's programs do"),
        ("Dropout2d", "its aten.bernoulli.p draws at random, which TVM's programs do not; export"),
    ],
)
def test_what_is_not_all_in_its_outputs_is_refused(tmp_path, kind, message):
    import torch

    class Counting(torch.nn.BatchNorm1d):
        def __init__(self):
            super().__init__(4)

    class Writing(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("memory", torch.zeros(3, 4))

        def forward(self, x):
            self.memory.add_(x)
            return torch.relu(self.memory)

    own = {"Counting": Counting, "Writing": Writing}
    model = own[kind]() if kind in own else getattr(torch.nn, kind)()
    path = tmp_path / "odd.pt2"
    x = torch.zeros((1, 3, 4, 4) if kind == "Dropout2d" else (3, 4))
    torch.export.save(torch.export.export(model, (x,)), str(path))
    with pytest.raises(ImportFailed, match=message):
        workloads.from_exported_program(path).tasks()


def test_the_cause_stays_with_the_sentence(tmp_path):
    path = onnx_file(tmp_path)
    with pytest.raises(
        ImportFailed, match=r"bad shape \(1, 4, 8, 8\).*has \(1, 3, 8, 8\): "
    ) as caught:
        workloads.from_onnx(path, shapes={"x": (1, 4, 8, 8)}).tasks()
    frames = traceback.extract_tb(caught.value.__cause__.__traceback__)
    assert any("tvm" in frame.filename for frame in frames)


@pytest.mark.parametrize("where", ["extract_tasks", "_bytes", "check_program"])
def test_a_fault_of_our_own_stays_one(monkeypatch, where):
    def divide(*_):
        return 1 / 0

    monkeypatch.setattr(extract, where, divide)
    case = network(lambda relax, builder, x: relax.op.nn.relu(x), ("x", (3, 4), "float32"))
    with pytest.raises(ZeroDivisionError):
        case.tasks()


def test_an_unsupported_operator_is_named(tmp_path):
    path = onnx_file(tmp_path, "StringNormalizer")
    with pytest.raises(ImportFailed) as caught:
        workloads.from_onnx(path).tasks()
    assert "StringNormalizer" in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "read", [workloads.from_onnx, workloads.from_exported_program, workloads.from_tflite]
)
@pytest.mark.parametrize("content", [None, b"", b"not a model at all"])
def test_a_broken_file_is_refused_in_a_sentence(tmp_path, read, content):
    if read is workloads.from_exported_program:
        pytest.importorskip("torch")
    if read is workloads.from_tflite:
        pytest.importorskip("tflite")
    path = tmp_path / "broken.model"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ImportFailed, match=r"bad model file .*broken\.model"):
        read(path).tasks()


@pytest.mark.skipif(not UNREADABLE.is_file(), reason="takes Linux")
@pytest.mark.parametrize(
    ("read", "module"),
    [
        (workloads.from_onnx, "onnx"),
        (workloads.from_exported_program, "torch"),
        (workloads.from_tflite, "tflite"),
        (workloads.from_kernelbench, "torch"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_a_sentence(read, module):
    pytest.importorskip(module)
    with pytest.raises(ImportFailed, match=rf"^bad model file '{UNREADABLE}': .*Input/output err"):
        read(UNREADABLE).tasks()


@pytest.mark.parametrize(
    ("read", "extra"),
    [
        (workloads.from_onnx, "onnx"),
        (workloads.from_exported_program, "torch"),
        (workloads.from_tflite, "tflite"),
        (workloads.from_kernelbench, "torch"),
    ],
)
def test_a_missing_extra_is_named(tmp_path, monkeypatch, read, extra):
    monkeypatch.setitem(sys.modules, extra, None)
    with pytest.raises(ImportFailed, match=rf"pip install 'pytest-ansorbench\[{extra}\]'"):
        read(tmp_path / "any").tasks()


def torch_model():
    import torch

    class Small(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.kernel = torch.nn.Parameter(torch.from_numpy(KERNEL))
            self.matrix = torch.nn.Parameter(torch.from_numpy(MATRIX))

        def forward(self, x):
            y = torch.relu(torch.nn.functional.conv2d(x, self.kernel, padding=1))
            return y.mean(dim=(2, 3)) @ self.matrix

    return Small()


@needs_torch
def test_an_exported_program_becomes_a_case(tmp_path):
    import torch

    path = tmp_path / "small.pt2"
    exported = torch.export.export(torch_model(), (torch.zeros(1, 3, 8, 8),))
    torch.export.save(exported, str(path))
    agrees(workloads.from_exported_program(path))


@needs_torch
def test_a_module_with_a_region_without_gradients_becomes_a_case():
    import torch

    class Gradless(type(torch_model())):
        def forward(self, x):
            with torch.no_grad():
                return super().forward(x)

    agrees(from_module(Gradless(), example_inputs=(torch.zeros(1, 3, 8, 8),)))


@needs_torch
def test_a_single_example_is_one_input():
    import torch

    case = from_module(torch_model(), example_inputs=torch.zeros(2, 3, 8, 8))
    assert case.arguments()[0].shape == (2, 3, 8, 8)
    agrees(case)


@needs_torch
def test_shapes_beside_examples_are_refused():
    import torch

    message = r"^bad network 'Small': bad shapes {'x': \(2, 3, 8, 8\)}: its examples have their own"
    with pytest.raises(ImportFailed, match=message):
        from_module(
            torch_model(),
            example_inputs=(torch.zeros(1, 3, 8, 8),),
            shapes={"x": (2, 3, 8, 8)},
        )


def test_a_function_becomes_a_case():
    def small(relax, builder, x):
        y = relax.op.nn.conv2d(x, relax.const(KERNEL), padding=(1, 1))
        y = relax.op.mean(relax.op.nn.relu(y), axis=[2, 3])
        return relax.op.matmul(y, relax.const(MATRIX))

    case = network(small, ("x", (1, 3, 8, 8), "float32"))
    assert case.id == "mine"
    agrees(case)


def test_nothing_is_read_before_it_is_needed(tmp_path):
    case = workloads.from_onnx(tmp_path / "absent.onnx")
    assert case.id == "absent"
