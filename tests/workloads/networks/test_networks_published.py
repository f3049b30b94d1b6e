"""Weights and arithmetic of the built-in networks against what was published of them."""

import math

import pytest

from pytest_ansorbench import workloads

BY_ID = {case.id: case for case in workloads.NETWORKS}

# Sources: torchvision's model table (https://pytorch.org/vision/stable/models.html) and, for
# MobileNet v1, Keras's trainable parameters (https://keras.io/api/applications/mobilenet).
# Inception is without its auxiliary classifier of 3,326,696. The 3D ResNet is torchvision's r3d_18
# of 33,371,472 with a stem of 7x7x7 in place of 3x7x7; the layer of BERT is one of twelve.
# ConvNeXt is without the scales of its blocks, one for each channel. The layer of Llama is one of
# 16 of https://huggingface.co/meta-llama/Llama-3.2-1B, between 128,256 embeddings and a last norm.
LLAMA = (1_235_814_400 - 128_256 * 2048 - 2048) // 16
PARAMETERS = {
    "resnet18-n1-s224": 11_689_512,
    "resnet50-n1-s224": 25_557_032,
    "mobilenetv1-n1-s224": 4_231_976,
    "mobilenetv2-n1-s224": 3_504_872,
    "inceptionv3-n1-s299": 27_161_264 - 3_326_696,
    "squeezenet11-n1-s224": 1_235_496,
    "vgg16-n1-s224": 138_357_544,
    "resnet3d18-n1-t16-s112": 33_371_472 + 3 * 64 * (7 - 3) * 49,
    "bert-layer-n1-l128-h768-a12": 7_087_872,
    "mlp-n1-i784-h128x64-o10": 784 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10,
    "mobilenetv3-n1-s224": 5_483_032,
    "efficientnetb0-n1-s224": 5_288_548,
    "vitb16-n1-s224": 86_567_656,
    "convnextt-n1-s224": 28_589_128 - (3 * 96 + 3 * 192 + 9 * 384 + 3 * 768),
    "llama-block-n1-t32-p224-h2048-a32-k8-i8192": LLAMA,
    "llama-block-n1-t1-p255-h2048-a32-k8-i8192": LLAMA,
}
#: In these, batch norm has two numbers for each channel where our folded ones have one bias.
WITHOUT_BATCH_NORM = ("squeezenet", "vgg", "bert", "mlp", "vit", "convnext", "llama")

# Multiply-adds, from the papers that `docs` name; He et al. count 3.8e9 for ResNet-50.
MULTIPLY_ADDS = {
    "resnet18-n1-s224": 1.8e9,
    "resnet50-n1-s224": 3.8e9,
    "mobilenetv1-n1-s224": 569e6,
    "mobilenetv2-n1-s224": 300e6,
    "inceptionv3-n1-s299": 5.7e9,
    "vgg16-n1-s224": 15.5e9,
    "mobilenetv3-n1-s224": 219e6,
    "efficientnetb0-n1-s224": 0.39e9,
    "vitb16-n1-s224": 17.56e9,
    "convnextt-n1-s224": 4.5e9,
}


@pytest.mark.parametrize("case", workloads.NETWORKS, ids=str)
def test_parameters_are_as_many_as_published(case):
    weights = case.graph().weights
    count = sum(math.prod(weight.shape) for weight in weights.values())
    if not case.id.startswith(WITHOUT_BATCH_NORM):
        count += sum(
            math.prod(weight.shape)
            for name, weight in weights.items()
            if name.startswith("conv") and weight.role == "bias"
        )
    assert count == PARAMETERS[case.id]


@pytest.mark.parametrize("case_id", MULTIPLY_ADDS)
def test_multiply_adds_are_as_many_as_published(case_id):
    assert BY_ID[case_id].flops / 2 == pytest.approx(MULTIPLY_ADDS[case_id], rel=0.03)


@pytest.mark.parametrize(
    ("case", "case_id"),
    [
        (workloads.ResNet(depth=18, size=48), "resnet18-n1-s48"),
        (workloads.ResNet(depth=18, classes=10), "resnet18-n1-s224-o10"),
        (workloads.MobileNetV2(batch=4), "mobilenetv2-n4-s224"),
        (workloads.ResNet3d18(classes=10), "resnet3d18-n1-t16-s112-o10"),
        (workloads.VitB16(size=32), "vitb16-n1-s32"),
        (
            workloads.LlamaBlock(tokens=2, past=3, hidden=24, heads=6, key_heads=2, inner=5),
            "llama-block-n1-t2-p3-h24-a6-k2-i5",
        ),
    ],
)
def test_other_networks_have_other_ids(case, case_id):
    assert case.id == str(case) == case_id


@pytest.mark.parametrize("case", workloads.NETWORKS, ids=str)
def test_every_network_is_a_network_case(case):
    assert isinstance(case, workloads.NetworkCase)
    assert not isinstance(workloads.CONV2D[0], workloads.NetworkCase)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: workloads.ResNet(depth=34), "bad depth 34: expected one of 18 and 50"),
        (lambda: workloads.MobileNetV2(size=0), "bad size 0: expected a positive int"),
        (lambda: workloads.Vgg16(size=16).flops, "bad input of 1x1: a window of 2"),
        (lambda: workloads.BertLayer(hidden=10, heads=3), "bad heads 3: expected a divisor of"),
        (lambda: workloads.Mlp(hidden=(0, 2)), "bad hidden 0"),
        (lambda: workloads.ResNet3d18(frames=0), "bad frames 0"),
        (lambda: workloads.VitB16(size=40), "bad size 40: expected a multiple of 16, e.g. 32"),
        (lambda: workloads.LlamaBlock(hidden=96), "bad hidden 96: expected a multiple of 64"),
        (lambda: workloads.LlamaBlock(key_heads=5), "bad key_heads 5: expected a divisor of heads"),
    ],
)
def test_impossible_networks_are_refused(make, message):
    with pytest.raises(ValueError) as caught:
        make()
    assert message in str(caught.value)
