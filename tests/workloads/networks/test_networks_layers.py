"""Layers: what comes out, what they weigh, and what they refuse."""

import pytest

from pytest_ansorbench.workloads.networks import layers
from pytest_ansorbench.workloads.networks.layers import LayerError

IMAGE = (2, 9, 8, 6)


@pytest.mark.parametrize(
    "layer, inputs, output, weights, multiply_adds",
    [
        (layers.Conv(4, 3), [IMAGE], (2, 7, 6, 4), [(3, 3, 6, 4), (4,)], 2 * 7 * 6 * 4 * 54),
        (layers.Conv(4, 3, 2, 1), [IMAGE], (2, 5, 4, 4), [(3, 3, 6, 4), (4,)], 160 * 54),
        (
            layers.Conv(6, (1, 3), 1, (0, 1), groups=6),
            [IMAGE],
            IMAGE,
            [(1, 3, 1, 6), (6,)],
            2 * 9 * 8 * 6 * 3,
        ),
        (
            layers.Conv(5, 3, (1, 2, 2), 1),
            [(1, 4, 6, 6, 2)],
            (1, 4, 3, 3, 5),
            [(3, 3, 3, 2, 5), (5,)],
            4 * 9 * 5 * 54,
        ),
        (layers.Dense(7), [(2, 3, 5)], (2, 3, 7), [(5, 7), (7,)], 2 * 3 * 7 * 5),
        (layers.Dense(7, bias=False), [(2, 5)], (2, 7), [(5, 7)], 2 * 7 * 5),
        (layers.MatMul(), [(2, 3, 5), (2, 5, 4)], (2, 3, 4), [], 2 * 3 * 4 * 5),
        (layers.MaxPool(3, 2), [IMAGE], (2, 4, 3, 6), [], 0),
        (layers.AvgPool(3, 1, 1), [IMAGE], IMAGE, [], 0),
        (layers.GlobalAvgPool(), [IMAGE], (2, 6), [], 0),
        (layers.Add(), [IMAGE, IMAGE], IMAGE, [], 0),
        (layers.Multiply(), [IMAGE, (2, 1, 1, 6)], IMAGE, [], 0),
        (layers.Relu(), [IMAGE], IMAGE, [], 0),
        (layers.Softmax(), [(2, 5)], (2, 5), [], 0),
        (layers.CausalSoftmax(), [(2, 3, 5)], (2, 3, 5), [], 0),
        (layers.Scale(0.5), [(2, 5)], (2, 5), [], 0),
        (layers.LayerNorm(), [(2, 5)], (2, 5), [(5,), (5,)], 0),
        (layers.RmsNorm(), [(2, 5)], (2, 5), [(5,)], 0),
        (layers.Rotate(), [(2, 3, 4), (3, 4), (3, 4)], (2, 3, 4), [], 0),
        (layers.ClassToken(), [(2, 3, 4)], (2, 4, 4), [(1, 1, 4), (4, 4)], 0),
        (layers.FirstToken(), [(2, 3, 4)], (2, 4), [], 0),
        (layers.Concat(), [(2, 3), (2, 4)], (2, 7), [], 0),
        (layers.Concat(axis=1), [(2, 3, 5), (2, 4, 5)], (2, 7, 5), [], 0),
        (layers.Reshape((6, 2)), [(3, 4)], (6, 2), [], 0),
        (layers.Transpose((0, 2, 1)), [(2, 3, 4)], (2, 4, 3), [], 0),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "output_shape") else None,
)
def test_shapes_weights_and_arithmetic(layer, inputs, output, weights, multiply_adds):
    assert layer.output_shape(*inputs) == output
    assert [weight.shape for weight in layer.weights(*inputs)] == weights
    assert layer.multiply_adds(*inputs) == multiply_adds


@pytest.mark.parametrize(
    "layer, inputs, message",
    [
        (layers.Conv(4, 3), [(1, 2, 9, 3)], "bad input of 2x9: a window of 3"),
        (layers.Conv(4, (1, 3, 3)), [IMAGE], "bad setting (1, 3, 3): expected one number"),
        (layers.Conv(4, 1, groups=4), [IMAGE], "bad channels that come in 6"),
        (layers.Conv(4, 1, groups=6), [IMAGE], "bad channels 4: expected a multiple of 6"),
        (layers.MatMul(), [(2, 3), (2, 3)], "bad product of (2, 3) and (2, 3)"),
        (layers.MaxPool(3, 2), [(1, 2, 2, 1)], "bad input of 2x2"),
        (layers.Add(), [(2, 3), (3, 2)], "bad sum of (2, 3) and (3, 2)"),
        (layers.Concat(), [(2, 3), (3, 3)], "expected the same shape but for axis 1"),
        (layers.Multiply(), [(2, 3), (2, 2)], "bad factors of (2, 3) and (2, 2)"),
        (layers.Multiply(), [(2, 3), (3,)], "bad factors of (2, 3) and (3,)"),
        (layers.CausalSoftmax(), [(1, 3, 2)], "bad scores of (1, 3, 2)"),
        (layers.Rotate(), [(2, 3, 4), (3, 4), (2, 4)], "bad angles [(3, 4), (2, 4)] of (2, 3, 4)"),
        (layers.Rotate(), [(1, 2, 3), (2, 3), (2, 3)], "an even size"),
        (layers.Reshape((5,)), [(2, 3)], "bad shape (5,)"),
        (layers.Transpose((0, 0)), [(2, 3)], "bad order (0, 0)"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "output_shape") else None,
)
def test_what_does_not_fit_is_refused(layer, inputs, message):
    with pytest.raises(LayerError) as caught:
        layer.output_shape(*inputs)
    assert message in str(caught.value)
