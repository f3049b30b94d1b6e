"""The tensor programs, built without tuning: right results, honest FLOP counts, tunable."""

from dataclasses import replace

import numpy as np
import pytest
import tvm
from tvm import te
from tvm.s_tir.analysis import estimate_tir_flops
from tvm.s_tir.meta_schedule import TuneContext
from tvm.s_tir.meta_schedule.testing import te_workload
from tvm.target import Target

from pytest_ansorbench import workloads
from pytest_ansorbench.measure.arguments import mismatch
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.workloads.operator import Operator
from pytest_ansorbench.workloads.operators.typed import ALL, Typed
from tests.workloads.conftest import LAYERS, TYPED_LAYERS


def windows():
    """The least work of each family and window; untuned kernels reach some 1 GFLOP/s."""
    least = {}
    for operator in sorted(workloads.OPERATORS, key=lambda one: -one.flops):
        window = getattr(operator, "window", None), getattr(operator, "group_count", 1)
        least[type(operator), window] = operator
    return [
        pytest.param(operator, marks=[pytest.mark.slow] if operator.flops > 60e6 else [])
        for operator in least.values()
        if operator.flops < 300e6
    ]


#: From here on a kernel runs for longer unoptimized than optimizing it takes.
HEAVY = 30e6


@pytest.fixture(scope="module")
def target():
    mcpu = str(Target.from_device("cpu").attrs["mcpu"])
    found = Target({"kind": "llvm", "mcpu": mcpu, "num-cores": 2})
    register_intrinsics(found)  # TVM's own module of them takes 15 s to import
    return found


@pytest.fixture
def unchecked(monkeypatch):
    """Programs come without what they must compute, which takes longer than making them."""
    monkeypatch.setattr(Operator, "check", lambda self: None)


def run(mod, target, inputs, shape, dtype="float32", *, flops=0):
    """Output of the untuned kernel."""
    if flops < HEAVY:
        target = Target({**target.export(), "opt-level": 0})
    output = tvm.runtime.empty(shape, dtype)
    kernel = tvm.compile(mod, target=target)["main"]
    kernel(*(tvm.runtime.tensor(array) for array in inputs), output)
    return output.numpy()


def run_and_check(operator, target):
    (task,) = operator.tasks()
    check = task.check
    shape, dtype = check.expected.shape, operator.output_dtype
    output = run(task.mod, target, check.inputs, shape, dtype, flops=operator.flops)
    assert mismatch([output], check) == ""


def test_small_programs_agree_with_their_references(small, target):
    run_and_check(small, target)


def test_typed_programs_agree_with_their_references(typed, target):
    run_and_check(typed, target)


@pytest.mark.parametrize(
    ("dtype", "accumulator"),
    [(dtype, one) for dtype, (_, *others) in ALL.items() for one in others],
)
@pytest.mark.parametrize("family", [workloads.BatchMatmul, workloads.Conv2d])
def test_other_accumulators_agree_with_their_references(family, dtype, accumulator, target):
    """Sums of 512 and 576 terms."""
    sizes = {"m": 24, "n": 24, "k": 512}
    if family is workloads.Conv2d:
        sizes = {"height": 8, "width": 8, "kernel": 3, "in_channels": 64, "out_channels": 8}
    run_and_check(family(batch=1, dtype=dtype, accumulator=accumulator, **sizes), target)


@pytest.mark.parametrize("operator", [*LAYERS, *TYPED_LAYERS], ids=str)
def test_layers_agree_with_their_references(operator, target):
    run_and_check(operator, target)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8"])
@pytest.mark.parametrize(
    "operator", [workloads.ArgMax(m=5, n=9), workloads.TopK(m=5, n=9, k=3)], ids=str
)
def test_rankings_in_other_types_agree_with_their_references(operator, dtype, target):
    run_and_check(replace(operator, dtype=dtype), target)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_of_the_least_number_in_a_row_the_first_is_the_largest(unchecked, dtype, target):
    operator = workloads.ArgMax(m=2, n=3, dtype=dtype)
    (task,) = operator.tasks()
    rows = np.full((2, 3), np.iinfo(dtype).min, dtype)
    assert run(task.mod, target, [rows], (2,), "int32").tolist() == [0, 0]


@pytest.mark.parametrize("operator", windows(), ids=str)
def test_programs_agree_with_their_references(operator, target):
    run_and_check(operator, target)


# TVM's own definitions of the same operators: function, arguments and inputs, given ours.
def upstream_conv(operator):
    extents = operator.input_shapes[0][1:-1]
    dilation, groups = operator.window.dilation, operator.group_count
    function = {1: te_workload.conv1d_nlc, 2: te_workload.conv2d_nhwc, 3: te_workload.conv3d_ndhwc}
    return function[len(extents)](
        operator.batch,
        *extents,
        operator.in_channels,
        operator.out_channels,
        operator.kernel,
        operator.stride,
        operator.padding,
        dilation,
        groups,
    )


def given(function, *fields):
    """A definition that takes fields of an operator."""
    return lambda operator: function(*(getattr(operator, field) for field in fields))


IMAGES = ("batch", "height", "width")
CHANNELS = ("in_channels", "out_channels")
WINDOW = ("kernel", "stride", "padding")
UPSTREAM = {
    "Conv1d": upstream_conv,
    "Conv2d": upstream_conv,
    "Conv3d": upstream_conv,
    "DilatedConv2d": upstream_conv,
    "GroupedConv2d": upstream_conv,
    "DepthwiseConv2d": given(te_workload.depthwise_conv2d_nhwc, *IMAGES, "channels", *WINDOW),
    "TransposedConv2d": given(te_workload.conv2d_transpose_nhwc, *IMAGES, *CHANNELS, *WINDOW),
    "CapsuleConv2d": given(
        te_workload.conv2d_capsule_nhwijc, *IMAGES, *CHANNELS, *WINDOW, "capsule"
    ),
    "Conv2dBnRelu": given(te_workload.conv2d_nhwc_bn_relu, *IMAGES, *CHANNELS, *WINDOW),
    "BatchMatmul": given(te_workload.batch_matmul_nkkm, "batch", "m", "n", "k"),
    "TransposeBatchMatmul": given(
        te_workload.transpose_batch_matmul, "batch", "length", "heads", "size"
    ),
    "MatrixNorm": given(te_workload.norm_bmn, "batch", "m", "n"),
    "Softmax": given(te_workload.softmax_mn, "m", "n"),
}


def upstream_inputs(operator, inputs):
    """Our inputs in the order and layouts of TVM's definition."""
    if isinstance(operator, workloads.DepthwiseConv2d):
        data, weight = inputs
        return (data, weight[None])  # a leading axis for the channel multiplier
    if isinstance(operator, workloads.Conv2dBnRelu):
        data, weight, scale, shift = inputs
        return (data, weight, np.zeros_like(scale), shift, scale)  # a bias before the scale
    return inputs


def test_references_agree_with_upstream_definitions(small, target):
    tensors = UPSTREAM[type(small).__name__](small)
    func = te.create_prim_func(list(tensors)).with_attr("global_symbol", "main")
    check = small.check()
    inputs = upstream_inputs(small, check.inputs)
    output = run(tvm.IRModule({"main": func}), target, inputs, check.expected.shape)
    np.testing.assert_allclose(output, check.expected, rtol=check.rtol, atol=check.atol)


def flops_ratio(operator):
    """TVM's count over ours. Both count taps on padding, neither the padding itself."""
    if isinstance(operator, workloads.TransposedConv2d):
        # TVM counts every output and tap, zeros between inputs included.
        outputs, inputs = operator.output_shape[1:3], operator.input_shapes[0][1:3]
        return np.prod(outputs) / np.prod(inputs)
    if isinstance(operator, workloads.Softmax):
        return 4 / 5  # TVM does not count an exponential
    return 1.0


def test_flops_agree_with_tvms_count(unchecked):
    for operator in workloads.OPERATORS:
        (task,) = operator.tasks()
        # TVM does not count the root of a norm either, 1 in 131,073 at the smallest shape.
        expected = pytest.approx(flops_ratio(operator), rel=1e-5)
        assert estimate_tir_flops(task.mod) / operator.flops == expected, operator


def context_of(operator, target):
    return TuneContext(
        mod=operator.tasks()[0].mod,
        target=target,
        space_generator="post-order-apply",
        task_name=operator.id,
        num_threads=1,
        rand_state=0,
    )


def design_spaces(operator, target):
    return context_of(operator, target).generate_design_space()


FIRST_OF_FAMILIES = tuple({type(o): o for o in reversed(workloads.OPERATORS)}.values())


@pytest.mark.parametrize(
    "operators",
    [FIRST_OF_FAMILIES, pytest.param(workloads.OPERATORS, marks=pytest.mark.slow)],
    ids=["first-of-families", "all"],
)
def test_every_program_has_design_spaces(unchecked, target, operators):
    sketches = {}
    for operator in operators:
        spaces = design_spaces(operator, target)
        decisions = [len(space.trace.decisions) for space in spaces]
        sketches[operator.id] = (len(spaces), min(decisions))
    assert len(sketches) == len(operators) >= 13
    # A single sketch, or one without a choice in it, would leave nothing to search.
    assert {i: s for i, s in sketches.items() if s[0] < 3 or s[1] < 1} == {}


@pytest.mark.parametrize(
    "operator", [operator for operator in FIRST_OF_FAMILIES if isinstance(operator, Typed)], ids=str
)
def test_types_have_the_sketches_of_float32(unchecked, target, operator):
    """A cast inside of the sum, and one behind it, are in the way of no schedule rule."""

    def choices(operator):
        return [len(space.trace.decisions) for space in design_spaces(operator, target)]

    expected = choices(operator)
    for dtype in operator.accumulators:
        assert choices(replace(operator, dtype=dtype)) == expected, dtype


@pytest.mark.parametrize("operator", LAYERS, ids=str)
def test_layers_leave_something_to_search(unchecked, target, operator):
    """Each sketch has a choice in it, but for copies and rotations, which reduce nothing."""
    choices = [len(space.trace.decisions) for space in design_spaces(operator, target)]
    if isinstance(operator, workloads.Embedding | workloads.Rope):
        assert choices == [0]
    else:
        # Each reduction is arranged in three ways.
        reductions = {
            workloads.Attention: 4,
            workloads.LayerNorm: 2,
            workloads.GroupNorm: 2,
            workloads.TopK: 2,
        }
        assert len(choices) == 3 ** reductions.get(type(operator), 1)
        assert min(choices) > 0


def exponentials(operator):
    """How many a layer has; TVM counts none of them."""
    match operator:
        case workloads.Dense(activation="silu") | workloads.SwiGlu():
            return operator.m * operator.n
        case workloads.Attention():
            return operator.batch * operator.heads * operator.queries * operator.keys
        case _:
            return 0


# Of these TVM reads no intermediate result twice, and so counts it twice; but for GELU's bias,
# for which it counts no error function.
COUNTED = (
    workloads.Dense,
    workloads.SwiGlu,
    workloads.Attention,
    workloads.Moe,
    workloads.BlockSparseDense,
    workloads.MaxPool2d,
    workloads.PackedDense,
    workloads.PackedConv2d,
)


@pytest.mark.parametrize("operator", [o for o in LAYERS if isinstance(o, COUNTED)], ids=str)
def test_flops_of_layers_agree_with_tvms_count(unchecked, operator):
    (task,) = operator.tasks()
    assert estimate_tir_flops(task.mod) + exponentials(operator) == operator.flops


VNNI = {"kind": "llvm", "mcpu": "cascadelake", "mtriple": "x86_64-linux-gnu", "num-cores": 2}
SIZES = {"height": 4, "width": 4, "in_channels": 16, "out_channels": 16, "kernel": 3, "padding": 1}


@pytest.mark.parametrize(
    ("operator", "offered", "fits"),
    [
        (workloads.PackedDense(m=4, n=32, k=16), True, True),
        (workloads.PackedConv2d(batch=1, **SIZES), True, True),
        # TVM offers it by types alone, and leaves what it does not fit as it was.
        (workloads.Dense(m=4, n=32, k=16, dtype="uint8"), True, False),
        (workloads.Dense(m=4, n=32, k=16), False, False),
    ],
    ids=str,
)
def test_vnni_multiplies_the_packed_layouts(unchecked, operator, offered, fits):
    """Compiled, not run: the CPU of the target need not be this one."""
    target = Target(VNNI)
    register_intrinsics(target)
    context = context_of(operator, target)
    program, *others = context.generate_design_space()
    for space in (program, *others):
        assert ("dot_16x4_vnni" in "\n".join(space.trace.as_python())) == offered
    program.enter_postproc()
    assert all(one.apply(program) for one in context.space_generator.postprocs)
    source = tvm.compile(program.mod, target=target).mod.inspect_source("s")
    assert ("vpdpbusd" in source) == fits
