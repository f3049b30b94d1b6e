"""Programs of the built-in networks against the same networks in PyTorch."""

import numpy as np
import pytest

from pytest_ansorbench import workloads
from pytest_ansorbench.workloads.networks.to_relax import to_relax
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
]


@pytest.mark.parametrize("case, network", SMALL, ids=lambda value: getattr(value, "id", ""))
def test_a_program_computes_what_pytorch_computes(case, network):
    data, *weights = case.arguments()
    expected = torch_networks.run(network, data, weights)
    output = infer(case.program(), (data, *weights))
    assert output.shape == expected.shape == case.graph().nodes[-1].output.shape
    # Probabilities are small; what has to agree is their size relative to each other.
    np.testing.assert_allclose(output, expected, rtol=1e-3, atol=1e-6)
    assert np.ptp(expected) > 0.01 * np.abs(expected).mean()  # it says something


def test_the_unfused_program_computes_the_same():
    """What goes to TVM's own `compile_relax` is the same network."""
    from pytest_ansorbench.workloads.networks.to_relax import fuse

    case = workloads.Mlp(batch=2)
    unfused = to_relax(case.graph())
    assert len(list(unfused.functions)) == 1
    arguments = case.arguments()
    np.testing.assert_array_equal(infer(fuse(unfused), arguments), infer(case.program(), arguments))


def test_a_layer_that_nobody_lowers_is_refused():
    from pytest_ansorbench.workloads.networks.graph import Graph

    class Alien:
        def output_shape(self, *inputs):
            return inputs[0]

        def weights(self, *inputs):
            return ()

    graph = Graph((1, 2))
    graph(Alien(), graph.input)
    with pytest.raises(TypeError, match="nothing says how TVM is to compute it"):
        to_relax(graph)
