"""What is tuned: operators at shapes of real networks, networks, and the interface of a case.

Importing this package does not import TVM; asking a case for its `tasks()` does.
"""

from pytest_ansorbench.workloads.benchdnn.problems import (
    BadProblem,
    from_benchdnn,
    from_benchdnn_batch,
)
from pytest_ansorbench.workloads.case import Case, Check, NetworkCase, Task
from pytest_ansorbench.workloads.catalogue import CASES, NETWORKS, OPERATORS, UnknownCase, get
from pytest_ansorbench.workloads.inputs import BadInputs
from pytest_ansorbench.workloads.networks.bert import BertLayer
from pytest_ansorbench.workloads.networks.convnext import ConvNextT
from pytest_ansorbench.workloads.networks.failures import ImportFailed
from pytest_ansorbench.workloads.networks.imported import (
    ImportedNetwork,
    from_exported_program,
    from_onnx,
    from_relax,
    from_tflite,
)
from pytest_ansorbench.workloads.networks.inception import InceptionV3
from pytest_ansorbench.workloads.networks.kernelbench import KernelBenchNetwork, from_kernelbench
from pytest_ansorbench.workloads.networks.llama import LlamaBlock
from pytest_ansorbench.workloads.networks.mobilenet import (
    EfficientNetB0,
    MobileNetV1,
    MobileNetV2,
    MobileNetV3,
)
from pytest_ansorbench.workloads.networks.network import Network
from pytest_ansorbench.workloads.networks.resnet import ResNet, ResNet3d18
from pytest_ansorbench.workloads.networks.rewrites import (
    channels_last,
    fast_math,
    packed,
    winograd,
)
from pytest_ansorbench.workloads.networks.sequential import Mlp, Vgg16
from pytest_ansorbench.workloads.networks.shapes import OpenShape
from pytest_ansorbench.workloads.networks.squeezenet import SqueezeNet11
from pytest_ansorbench.workloads.networks.vit import VitB16
from pytest_ansorbench.workloads.operator import Operator
from pytest_ansorbench.workloads.operators.attention import Attention, Rope
from pytest_ansorbench.workloads.operators.batch_matmul import BATCH_MATMUL, BatchMatmul
from pytest_ansorbench.workloads.operators.capsule_conv2d import CAPSULE_CONV2D, CapsuleConv2d
from pytest_ansorbench.workloads.operators.conv1d import CONV1D, Conv1d
from pytest_ansorbench.workloads.operators.conv2d import CONV2D, Conv2d
from pytest_ansorbench.workloads.operators.conv2d_bn_relu import CONV2D_BN_RELU, Conv2dBnRelu
from pytest_ansorbench.workloads.operators.conv3d import CONV3D, Conv3d
from pytest_ansorbench.workloads.operators.dense import Dense, SwiGlu
from pytest_ansorbench.workloads.operators.depthwise_conv2d import (
    DEPTHWISE_CONV2D,
    DepthwiseConv2d,
)
from pytest_ansorbench.workloads.operators.dilated_conv2d import DILATED_CONV2D, DilatedConv2d
from pytest_ansorbench.workloads.operators.gathered import BlockSparseDense, Embedding, Moe
from pytest_ansorbench.workloads.operators.grouped_conv2d import GROUPED_CONV2D, GroupedConv2d
from pytest_ansorbench.workloads.operators.matrix_norm import MATRIX_NORM, MatrixNorm
from pytest_ansorbench.workloads.operators.normalization import GroupNorm, LayerNorm, RmsNorm
from pytest_ansorbench.workloads.operators.packed import PackedConv2d, PackedDense
from pytest_ansorbench.workloads.operators.pooling import AvgPool2d, GlobalAvgPool2d, MaxPool2d
from pytest_ansorbench.workloads.operators.ranking import ArgMax, TopK
from pytest_ansorbench.workloads.operators.shape import BadShape
from pytest_ansorbench.workloads.operators.softmax import SOFTMAX, Softmax
from pytest_ansorbench.workloads.operators.transpose_batch_matmul import (
    TRANSPOSE_BATCH_MATMUL,
    TransposeBatchMatmul,
)
from pytest_ansorbench.workloads.operators.transposed_conv2d import (
    TRANSPOSED_CONV2D,
    TransposedConv2d,
)
from pytest_ansorbench.workloads.own import OwnOperator, from_te, from_tir
from pytest_ansorbench.workloads.signature import BadProgram, check_program, outputs_of
from pytest_ansorbench.workloads.suites import LLM, QUANTIZED, REASONING_COMPILER, VISION

__all__ = [
    "BATCH_MATMUL",
    "CAPSULE_CONV2D",
    "CASES",
    "CONV1D",
    "CONV2D",
    "CONV2D_BN_RELU",
    "CONV3D",
    "DEPTHWISE_CONV2D",
    "DILATED_CONV2D",
    "GROUPED_CONV2D",
    "LLM",
    "MATRIX_NORM",
    "NETWORKS",
    "OPERATORS",
    "QUANTIZED",
    "REASONING_COMPILER",
    "SOFTMAX",
    "TRANSPOSED_CONV2D",
    "TRANSPOSE_BATCH_MATMUL",
    "VISION",
    "ArgMax",
    "Attention",
    "AvgPool2d",
    "BadInputs",
    "BadProblem",
    "BadProgram",
    "BadShape",
    "BatchMatmul",
    "BertLayer",
    "BlockSparseDense",
    "CapsuleConv2d",
    "Case",
    "Check",
    "Conv1d",
    "Conv2d",
    "Conv2dBnRelu",
    "Conv3d",
    "ConvNextT",
    "Dense",
    "DepthwiseConv2d",
    "DilatedConv2d",
    "EfficientNetB0",
    "Embedding",
    "GlobalAvgPool2d",
    "GroupNorm",
    "GroupedConv2d",
    "ImportFailed",
    "ImportedNetwork",
    "InceptionV3",
    "KernelBenchNetwork",
    "LayerNorm",
    "LlamaBlock",
    "MatrixNorm",
    "MaxPool2d",
    "Mlp",
    "MobileNetV1",
    "MobileNetV2",
    "MobileNetV3",
    "Moe",
    "Network",
    "NetworkCase",
    "OpenShape",
    "Operator",
    "OwnOperator",
    "PackedConv2d",
    "PackedDense",
    "ResNet",
    "ResNet3d18",
    "RmsNorm",
    "Rope",
    "Softmax",
    "SqueezeNet11",
    "SwiGlu",
    "Task",
    "TopK",
    "TransposeBatchMatmul",
    "TransposedConv2d",
    "UnknownCase",
    "Vgg16",
    "VitB16",
    "channels_last",
    "check_program",
    "fast_math",
    "from_benchdnn",
    "from_benchdnn_batch",
    "from_exported_program",
    "from_kernelbench",
    "from_onnx",
    "from_relax",
    "from_te",
    "from_tflite",
    "from_tir",
    "get",
    "outputs_of",
    "packed",
    "winograd",
]
