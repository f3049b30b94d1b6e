"""A network under construction, and its random weights."""

import numpy as np

from pytest_ansorbench.workloads.networks.graph import Graph, draw_weights
from pytest_ansorbench.workloads.networks.layers import Add, Conv, Dense, GlobalAvgPool, LayerNorm


def small():
    graph = Graph((1, 4, 4, 3))
    first = graph(Conv(8, 3, padding=1, activation="relu"), graph.inputs[0])
    second = graph(Conv(8, 1), first)
    graph(LayerNorm(), graph(Dense(2), graph(GlobalAvgPool(), graph(Add(), first, second))))
    return graph


def test_layers_are_named_by_kind_and_number():
    names = [node.name for node in small().nodes]
    assert names == ["conv1", "conv2", "add1", "globalavgpool1", "dense1", "layernorm1"]


def test_values_lead_from_layer_to_layer():
    graph = small()
    assert [node.output.index for node in graph.nodes] == [1, 2, 3, 4, 5, 6]
    assert [value.index for value in graph.nodes[2].inputs] == [1, 2]
    assert graph.nodes[-1].output.shape == (1, 2)


def test_flops_are_two_for_each_multiply_add():
    assert small().flops == 2 * (16 * 8 * 27 + 16 * 8 * 8 + 8 * 2)


def test_weights_have_the_size_they_should():
    drawn = draw_weights(small(), seed="x")
    assert list(drawn) == [
        *("conv1.kernel", "conv1.bias", "conv2.kernel", "conv2.bias"),
        *("dense1.matrix", "dense1.bias", "layernorm1.scale", "layernorm1.shift"),
    ]
    graph = Graph((1, 8, 8, 64))
    graph(LayerNorm(), graph(Conv(256, 3, activation="relu"), graph.inputs[0]))
    large = draw_weights(graph, seed="x")
    assert abs(np.std(large["conv1.kernel"]) * np.sqrt(9 * 64 / 2) - 1.0) < 0.02
    assert abs(np.mean(large["layernorm1.scale"]) - 1.0) < 0.05
    assert {array.dtype for array in large.values()} == {np.dtype(np.float32)}


def test_weights_are_the_same_every_time_and_differ_by_name_and_seed():
    first, again, other = (draw_weights(small(), seed=seed) for seed in "xxy")
    for name, array in first.items():
        np.testing.assert_array_equal(array, again[name])
        assert not np.array_equal(array, other[name])
    assert not np.array_equal(first["conv1.bias"], first["conv2.bias"])


def test_several_inputs_come_before_all_that_is_made_of_them():
    graph = Graph((2, 3), (2, 3))
    output = graph(Add(), *graph.inputs)
    assert [value.index for value in (*graph.inputs, output)] == [0, 1, 2]
