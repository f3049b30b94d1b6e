"""The operators beyond the paper's three: for them it promises nothing.

The search may not take longer and the kernels may not be slower, that is all.
"""

import pytest

from pytest_ansorbench import workloads

pytestmark = pytest.mark.ansor_bench(trials=1000, max_search_ratio=1.0, min_throughput_ratio=0.98)


@pytest.mark.parametrize("case", workloads.CONV3D, ids=str)
def test_conv3d(ansor_bench, case):
    """Video models: R3D-18."""
    ansor_bench(case)


@pytest.mark.parametrize("case", workloads.DEPTHWISE_CONV2D, ids=str)
def test_depthwise_conv2d(ansor_bench, case):
    """MobileNet."""
    ansor_bench(case)


@pytest.mark.parametrize("case", workloads.DILATED_CONV2D, ids=str)
def test_dilated_conv2d(ansor_bench, case):
    """Segmentation models: DeepLabv3."""
    ansor_bench(case)


@pytest.mark.parametrize("case", workloads.GROUPED_CONV2D, ids=str)
def test_grouped_conv2d(ansor_bench, case):
    """ResNeXt-50."""
    ansor_bench(case)


@pytest.mark.parametrize("case", workloads.TRANSPOSED_CONV2D, ids=str)
def test_transposed_conv2d(ansor_bench, case):
    """Generative models: DCGAN."""
    ansor_bench(case)


@pytest.mark.parametrize("case", workloads.CAPSULE_CONV2D, ids=str)
def test_capsule_conv2d(ansor_bench, case):
    """Matrix capsules."""
    ansor_bench(case)


@pytest.mark.parametrize("case", workloads.CONV2D_BN_RELU, ids=str)
def test_conv2d_bn_relu(ansor_bench, case):
    """ResNet-18, fused."""
    ansor_bench(case)


@pytest.mark.parametrize("case", workloads.TRANSPOSE_BATCH_MATMUL, ids=str)
def test_transpose_batch_matmul(ansor_bench, case):
    """Attention scores of BERT."""
    ansor_bench(case)


@pytest.mark.parametrize("case", workloads.MATRIX_NORM, ids=str)
def test_matrix_norm(ansor_bench, case):
    """Few outputs, long reductions."""
    ansor_bench(case)


@pytest.mark.parametrize("case", workloads.SOFTMAX, ids=str)
def test_softmax(ansor_bench, case):
    """Little arithmetic, much memory traffic."""
    ansor_bench(case)
