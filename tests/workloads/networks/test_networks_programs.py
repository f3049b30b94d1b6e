"""Programs of the built-in networks against the same networks in PyTorch."""

import numpy as np
import pytest

from pytest_ansorbench import workloads
from pytest_ansorbench.workloads.networks import layers
from pytest_ansorbench.workloads.networks.graph import Graph
from pytest_ansorbench.workloads.networks.to_relax import fuse, to_relax
from tests.inference import infer
from tests.workloads.networks import torch_networks


def slow(case, network):
    """The larger ones: what the others have none of is in them too, but they take seconds."""
    return pytest.param(case, network, marks=pytest.mark.slow)


SMALL = [
    (workloads.ResNet(depth=18, size=48, batch=2), torch_networks.resnet18),
    slow(workloads.ResNet(depth=50, size=48), torch_networks.resnet50),
    slow(workloads.ResNet3d18(frames=5, size=20), torch_networks.resnet3d18),
    slow(workloads.MobileNetV1(size=40), torch_networks.mobilenet_v1),
    (workloads.MobileNetV2(size=40), torch_networks.mobilenet_v2),
    slow(workloads.SqueezeNet11(size=63), torch_networks.squeezenet11),
    slow(workloads.InceptionV3(size=75), torch_networks.inception_v3),
    slow(workloads.Vgg16(size=32), torch_networks.vgg16),
    (workloads.Mlp(batch=3), torch_networks.mlp),
    (
        workloads.BertLayer(batch=2, length=9, hidden=24, heads=3),
        lambda weights, x: torch_networks.bert_layer(weights, x, heads=3),
    ),
    slow(workloads.MobileNetV3(size=40, batch=2), torch_networks.mobilenet_v3),
    slow(workloads.EfficientNetB0(size=40), torch_networks.efficientnet_b0),
    slow(workloads.VitB16(size=32, batch=2), torch_networks.vit_b16),
    slow(workloads.ConvNextT(size=64), torch_networks.convnext_t),
    (
        workloads.LlamaBlock(batch=2, tokens=3, past=4, hidden=48, heads=6, key_heads=2, inner=20),
        torch_networks.llama_block,
    ),
    (
        workloads.LlamaBlock(tokens=1, past=5, hidden=48, heads=6, key_heads=6, inner=20),
        torch_networks.llama_block,
    ),
]


@pytest.mark.parametrize("case, network", SMALL, ids=lambda value: getattr(value, "id", ""))
def test_a_program_computes_what_pytorch_computes(case, network):
    arguments = case.arguments()
    count = len(case.input_shapes)
    expected = torch_networks.run(network, arguments[:count], arguments[count:])
    output = infer(case.program(), arguments)
    assert output.shape == expected.shape == case.graph().nodes[-1].output.shape
    # Probabilities are small; what has to agree is their size relative to each other.
    np.testing.assert_allclose(output, expected, rtol=1e-3, atol=1e-6)
    assert np.ptp(expected) > 0.01 * np.abs(expected).mean()  # it says something


def test_a_layer_that_nobody_lowers_is_refused():
    class Alien:
        def output_shape(self, *inputs):
            return inputs[0]

        def weights(self, *inputs):
            return ()

    graph = Graph((1, 2))
    graph(Alien(), graph.inputs[0])
    with pytest.raises(TypeError, match="nothing says how TVM is to compute it"):
        to_relax(graph)


def test_activations_and_gates_compute_what_pytorch_computes():
    """Those that no small network has."""
    torch = torch_networks.torch
    functions = {
        "silu": torch.nn.functional.silu,
        "hard-swish": torch.nn.functional.hardswish,
        "sigmoid": torch.sigmoid,
        "hard-sigmoid": torch.nn.functional.hardsigmoid,
    }
    rng = np.random.default_rng(0)
    image = rng.uniform(-9, 9, (2, 3, 4, 5)).astype(np.float32)
    for activation, function in functions.items():
        graph = Graph((2, 3, 4, 5), (2, 5))
        gate = graph(layers.Reshape((2, 1, 1, 5)), graph.inputs[1])
        graph(layers.Dense(6, activation), graph(layers.Multiply(), graph.inputs[0], gate))
        given = [rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((2, 5), (5, 6), (6,))]
        output = infer(fuse(to_relax(graph)), (image, *given))
        gates, matrix, bias = given
        values = (image * gates[:, None, None]) @ matrix + bias
        expected = function(torch.from_numpy(values)).numpy()
        np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-5, err_msg=activation)


def test_a_class_token_stands_first_with_its_place():
    graph = Graph((2, 3, 4), (2, 4))
    first = graph(layers.FirstToken(), graph(layers.ClassToken(), graph.inputs[0]))
    graph(layers.Add(), first, graph.inputs[1])
    rng = np.random.default_rng(0)
    shapes = ((2, 3, 4), (2, 4), (1, 1, 4), (4, 4))
    data, other, token, places = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes)
    output = infer(fuse(to_relax(graph)), (data, other, token, places))
    np.testing.assert_allclose(output, token[0] + places[0] + other, rtol=1e-6)
