"""Tasks of networks, as TVM extracts them."""

from collections import Counter

import pytest

from pytest_ansorbench import workloads
from pytest_ansorbench.search.describe import describe_tasks
from pytest_ansorbench.strategies import Registry
from pytest_ansorbench.workloads.case import Surroundings
from pytest_ansorbench.workloads.networks.extract import extract_tasks
from pytest_ansorbench.workloads.networks.to_relax import fuse
from tests.relax_modules import relax_module

DEFAULT = Registry().get("default")

# The convolutions among the 29 tasks of ResNet-50 in TVM's tutorial "Auto-scheduling a Neural
# Network for x86 CPU" (https://tvm.apache.org/docs/v0.8.0/how_to/tune_with_autoscheduler/
# tune_network_x86.html): input, kernel, output. Two of them appear there as Winograd
# convolutions with transformed kernels of 6x6; marked below.
TUTORIAL = {
    ((1, 224, 224, 3), (7, 7, 3, 64), (1, 112, 112, 64)),
    ((1, 56, 56, 64), (1, 1, 64, 64), (1, 56, 56, 64)),
    ((1, 56, 56, 64), (3, 3, 64, 64), (1, 56, 56, 64)),
    ((1, 56, 56, 64), (1, 1, 64, 256), (1, 56, 56, 256)),
    ((1, 56, 56, 256), (1, 1, 256, 64), (1, 56, 56, 64)),
    ((1, 56, 56, 256), (1, 1, 256, 128), (1, 28, 28, 128)),
    ((1, 28, 28, 128), (3, 3, 128, 128), (1, 28, 28, 128)),  # task 7, Winograd
    ((1, 28, 28, 128), (1, 1, 128, 512), (1, 28, 28, 512)),
    ((1, 56, 56, 256), (1, 1, 256, 512), (1, 28, 28, 512)),
    ((1, 28, 28, 512), (1, 1, 512, 128), (1, 28, 28, 128)),
    ((1, 28, 28, 512), (1, 1, 512, 256), (1, 14, 14, 256)),
    ((1, 14, 14, 256), (3, 3, 256, 256), (1, 14, 14, 256)),  # task 5, Winograd
    ((1, 14, 14, 256), (1, 1, 256, 1024), (1, 14, 14, 1024)),
    ((1, 28, 28, 512), (1, 1, 512, 1024), (1, 14, 14, 1024)),
    ((1, 14, 14, 1024), (1, 1, 1024, 256), (1, 14, 14, 256)),
    ((1, 14, 14, 1024), (1, 1, 1024, 512), (1, 7, 7, 512)),
    ((1, 7, 7, 512), (3, 3, 512, 512), (1, 7, 7, 512)),
    ((1, 7, 7, 512), (1, 1, 512, 2048), (1, 7, 7, 2048)),
    ((1, 14, 14, 1024), (1, 1, 1024, 2048), (1, 7, 7, 2048)),
    ((1, 7, 7, 2048), (1, 1, 2048, 512), (1, 7, 7, 512)),
}


@pytest.fixture(scope="module")
def resnet50(target):
    return describe_tasks(workloads.get("resnet50-n1-s224").tasks(), target, DEFAULT)


def test_resnet50_has_the_convolutions_of_the_tutorial(resnet50):
    convolutions = [task for task in resnet50 if "conv2d" in task.name]
    found = {(task.shapes[0], task.shapes[1], task.shapes[-1]) for task in convolutions}
    assert found == TUTORIAL
    assert sum(task.weight for task in convolutions) == 53


def test_resnet50_has_the_other_tasks_of_the_tutorial(resnet50):
    others = [task for task in resnet50 if "conv2d" not in task.name]
    kinds = Counter(
        kind
        for task in others
        for kind in ("max_pool2d", "mean", "matmul", "softmax")
        if kind in task.name
    )
    assert kinds == dict.fromkeys(("max_pool2d", "mean", "matmul", "softmax"), 1)
    assert len(others) == 4


def test_resnet50_s_arithmetic_is_all_in_its_tasks(resnet50):
    flops = sum(task.weight * task.flops for task in resnet50)
    # TVM counts additions of biases and comparisons of activations as well.
    assert 1.0 <= flops / workloads.get("resnet50-n1-s224").flops < 1.02


def test_tasks_come_in_the_order_of_the_network(resnet50):
    assert resnet50[0].shapes[0] == (1, 224, 224, 3)
    assert "softmax" in resnet50[-1].name


def test_convolutions_have_sketches_to_choose_from(resnet50):
    assert all(task.sketches >= 2 and task.tunable for task in resnet50 if "conv" in task.name)


def test_a_task_that_only_moves_data_has_nothing_to_tune(target):
    case = workloads.BertLayer(length=8, hidden=16, heads=2)
    tasks = {task.name: task for task in describe_tasks(case.tasks(), target, DEFAULT)}
    moving = [task for name, task in tasks.items() if "transpose" in name and not task.flops > 1]
    assert moving
    assert not any(task.tunable for task in moving)
    assert any(task.tunable for task in tasks.values())


def test_equal_layers_are_one_task(target):
    case = workloads.Mlp(features=32, hidden=(32, 32), classes=8)
    tasks = case.tasks()
    assert sorted(task.weight for task in tasks) == [1, 1, 2]
    assert all(task.check is None for task in tasks)
    twice = next(task for task in tasks if task.weight == 2)
    assert twice.flops >= 2 * 32 * 32


def test_tasks_know_their_weights_and_how_much_the_network_touches():
    case = workloads.Mlp(features=32, hidden=(32, 32), classes=8)
    inputs, *weights = case.arguments()
    # One call has an output of 32 numbers at most, and an input of as many unless it is given.
    touched = inputs.nbytes + sum(weight.nbytes for weight in weights) + 2 * inputs.nbytes
    for task in case.tasks():
        expected = () if "softmax" in task.name else (1, 2)
        assert task.surroundings == Surroundings(expected, touched), task.name


@pytest.mark.parametrize("case_id", ["resnet18-n1-s224", "mobilenetv2-n1-s224"])
def test_weights_of_convolutions_are_found(case_id):
    first, *others = workloads.get(case_id).tasks()
    assert first.surroundings.given == (0, 1, 2)
    for task in others:
        # Data, kernel, bias; a shortcut comes after them.
        layer = "conv2d" in task.name or "matmul" in task.name
        assert task.surroundings.given == ((1, 2) if layer else ()), task.name


def test_an_argument_is_a_weight_only_if_it_is_one_at_every_call():
    def layers(relax, builder, x, weight):
        twice = relax.op.nn.softmax(relax.op.nn.softmax(weight))
        return relax.op.nn.relu(relax.op.matmul(twice, x))

    module = relax_module(layers, *((name, (64,), "float32") for name in "xw"))
    tasks = {task.name: task for task in extract_tasks(fuse(module))}
    assert tasks["softmax"].weight == 2
    assert tasks["softmax"].surroundings.given == ()
