"""The NumPy references against loops that are too slow and too plain to be wrong."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ansorbench.workloads import (
    CapsuleConv2d,
    Conv1d,
    Conv2d,
    Conv2dBnRelu,
    Conv3d,
    DepthwiseConv2d,
    DilatedConv2d,
    GroupedConv2d,
    MatrixNorm,
    Softmax,
    TransposeBatchMatmul,
    TransposedConv2d,
)


def assert_close(actual, expected):
    assert actual.shape == expected.shape
    assert actual.dtype == np.float32
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


def taps_in_range(shape, position, kernel, stride, padding, dilation):
    """(tap, input index) of every tap of the window at `position` that is not padding."""
    for tap in np.ndindex(*(kernel,) * len(shape)):
        index = tuple(
            p * stride + t * dilation - padding for p, t in zip(position, tap, strict=True)
        )
        if all(0 <= i < extent for i, extent in zip(index, shape, strict=True)):
            yield tap, index


def naive_convolution(data, weight, output_shape, *, stride, padding, dilation=1, groups=1):
    output = np.zeros(output_shape)
    kernel, (ci, co) = weight.shape[0], weight.shape[-2:]
    for n, *position, o in np.ndindex(*output_shape):
        group = o // (co // groups)
        for tap, index in taps_in_range(
            data.shape[1:-1], position, kernel, stride, padding, dilation
        ):
            for c in range(ci):
                value = float(data[(n, *index, group * ci + c)])
                output[(n, *position, o)] += value * float(weight[(*tap, c, o)])
    return output


@st.composite
def convolutions(draw):
    """A small convolution of any of the families that share one reference."""
    groups = draw(st.integers(1, 3))
    kernel, dilation, padding = (draw(st.integers(low, 3)) for low in (1, 1, 0))
    span = dilation * (kernel - 1) + 1
    size = st.integers(max(1, span - 2 * padding), max(1, span - 2 * padding) + 3)
    common = {
        "batch": draw(st.integers(1, 2)),
        "in_channels": groups * draw(st.integers(1, 2)),
        "out_channels": groups * draw(st.integers(1, 2)),
        "kernel": kernel,
        "stride": draw(st.integers(1, 3)),
        "padding": padding,
    }
    plane = {"height": draw(size), "width": draw(size)}
    if groups > 1 and dilation == 1:
        return GroupedConv2d(groups=groups, **plane, **common)
    if dilation > 1:
        return DilatedConv2d(dilation=dilation, **plane, **common)
    return Conv2d(**plane, **common)


@settings(max_examples=40, deadline=None)
@given(convolutions())
def test_conv2d(operator):
    data, weight = operator.inputs()
    expected = naive_convolution(
        data,
        weight,
        operator.output_shape,
        stride=operator.stride,
        padding=operator.padding,
        dilation=getattr(operator, "dilation", 1),
        groups=getattr(operator, "groups", 1),
    )
    assert_close(operator.reference(data, weight), expected)


@pytest.mark.parametrize(
    "operator",
    [
        Conv1d(batch=2, length=9, in_channels=3, out_channels=4, kernel=3, stride=2, padding=1),
        Conv3d(batch=1, depth=3, height=5, width=4, in_channels=2, out_channels=3, kernel=3),
    ],
    ids=str,
)
def test_conv1d_and_conv3d(operator):
    data, weight = operator.inputs()
    expected = naive_convolution(
        data, weight, operator.output_shape, stride=operator.stride, padding=operator.padding
    )
    assert_close(operator.reference(data, weight), expected)


def test_depthwise_is_a_convolution_with_a_group_for_each_channel():
    operator = DepthwiseConv2d(
        batch=2, height=6, width=5, channels=4, kernel=3, stride=2, padding=1
    )
    data, weight = operator.inputs()
    expected = naive_convolution(
        data, weight[:, :, None], operator.output_shape, stride=2, padding=1, groups=4
    )
    assert_close(operator.reference(data, weight), expected)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_transposed_conv2d(data_source):
    draw = data_source.draw
    kernel = draw(st.integers(1, 4))
    operator = TransposedConv2d(
        batch=1,
        height=draw(st.integers(3, 4)),
        width=draw(st.integers(3, 4)),
        in_channels=2,
        out_channels=2,
        kernel=kernel,
        stride=draw(st.integers(1, 3)),
        padding=draw(st.integers(0, min(1, kernel - 1))),
    )
    data, weight = operator.inputs()
    expected = np.zeros(operator.output_shape)
    for h, w, i, j in np.ndindex(operator.height, operator.width, kernel, kernel):
        row = h * operator.stride + i - operator.padding
        column = w * operator.stride + j - operator.padding
        if 0 <= row < expected.shape[1] and 0 <= column < expected.shape[2]:
            for c, o in np.ndindex(2, 2):
                expected[0, row, column, o] += float(data[0, h, w, c]) * weight[i, j, c, o]
    assert_close(operator.reference(data, weight), expected)


def test_capsule_conv2d_multiplies_matrices():
    operator = CapsuleConv2d(
        batch=1,
        height=4,
        width=3,
        in_channels=2,
        out_channels=3,
        kernel=3,
        stride=2,
        padding=1,
        capsule=2,
    )
    data, weight = operator.inputs()
    expected = np.zeros(operator.output_shape)
    for h, w, o in np.ndindex(expected.shape[1], expected.shape[2], 3):
        for tap, index in taps_in_range((4, 3), (h, w), 3, 2, 1, 1):
            for c in range(2):
                pose, transform = data[0][index][:, :, c], weight[tap][:, :, c, o]
                expected[0, h, w, :, :, o] += pose @ transform
    assert_close(operator.reference(data, weight), expected)


def test_bn_relu_scales_shifts_and_clips_the_convolution():
    fields = {"batch": 1, "height": 5, "width": 5, "in_channels": 3, "out_channels": 4}
    operator = Conv2dBnRelu(kernel=3, padding=1, **fields)
    data, weight, scale, shift = operator.inputs()
    conv = Conv2d(kernel=3, padding=1, **fields).reference(data, weight)
    output = operator.reference(data, weight, scale, shift)
    expected = np.zeros_like(output)
    for index in np.ndindex(*output.shape):
        expected[index] = max(0.0, conv[index] * scale[index[-1]] + shift[index[-1]])
    assert (output == 0).any()
    assert_close(output, expected)


def test_transpose_batch_matmul_is_a_score_for_each_pair_of_tokens():
    operator = TransposeBatchMatmul(batch=2, length=3, heads=2, size=4)
    queries, keys = operator.inputs()
    expected = np.zeros((2, 2, 3, 3))
    for b, h, i, j in np.ndindex(2, 2, 3, 3):
        expected[b, h, i, j] = sum(queries[b, i, h, d] * keys[b, j, h, d] for d in range(4))
    assert_close(operator.reference(queries, keys), expected)


def test_matrix_norm_is_the_root_of_the_sum_of_squares():
    operator = MatrixNorm(batch=2, m=3, n=4)
    (matrices,) = operator.inputs()
    expected = [sum(float(x) ** 2 for x in matrix.flat) ** 0.5 for matrix in matrices]
    assert_close(operator.reference(matrices), np.array(expected))


def test_softmax_rows_are_distributions_that_ignore_a_shift():
    operator = Softmax(m=4, n=6)
    (scores,) = operator.inputs()
    output = operator.reference(scores)
    assert_close(output.sum(axis=1, dtype=np.float32), np.ones(4))
    assert_close(operator.reference(scores + np.float32(100)), output)
    ratios = output[:, 1:] / output[:, :-1]
    assert_close(ratios, np.exp(np.diff(scores.astype(np.float64), axis=1)))
