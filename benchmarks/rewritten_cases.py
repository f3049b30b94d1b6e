"""ResNet-18 as PyTorch has it: as it is, channels last, packed, by Winograd."""

import pytest
import torch

from pytest_ansorbench import workloads
from pytest_ansorbench.workloads.networks.imported import from_module
from pytest_ansorbench.workloads.networks.to_torch import to_torch

NETWORK = workloads.ResNet(depth=18)
GRAPH = NETWORK.graph()
MODULE = to_torch(GRAPH, dict(zip(GRAPH.weights, NETWORK.weights(), strict=True)))
INPUTS = (torch.zeros(1, 3, NETWORK.size, NETWORK.size),)
CASES = [
    from_module(MODULE, name=name, example_inputs=INPUTS, rewrite=rewrite)
    for name, rewrite in (
        ("resnet18", None),
        ("resnet18-channels-last", workloads.channels_last),
        ("resnet18-packed", workloads.packed),
        ("resnet18-winograd", workloads.winograd),
    )
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rewritten(ansor_bench, case):
    """Each by itself: they are different programs."""
    ansor_bench(case)
