"""Every case that ships, by its id."""

from __future__ import annotations

import difflib
from typing import Final

from pytest_ansorbench.workloads.case import Case
from pytest_ansorbench.workloads.networks.bert import BertLayer
from pytest_ansorbench.workloads.networks.convnext import ConvNextT
from pytest_ansorbench.workloads.networks.inception import InceptionV3
from pytest_ansorbench.workloads.networks.llama import LlamaBlock
from pytest_ansorbench.workloads.networks.mobilenet import (
    EfficientNetB0,
    MobileNetV1,
    MobileNetV2,
    MobileNetV3,
)
from pytest_ansorbench.workloads.networks.network import Network
from pytest_ansorbench.workloads.networks.resnet import ResNet, ResNet3d18
from pytest_ansorbench.workloads.networks.sequential import Mlp, Vgg16
from pytest_ansorbench.workloads.networks.squeezenet import SqueezeNet11
from pytest_ansorbench.workloads.networks.vit import VitB16
from pytest_ansorbench.workloads.operator import Operator
from pytest_ansorbench.workloads.operators.batch_matmul import BATCH_MATMUL
from pytest_ansorbench.workloads.operators.capsule_conv2d import CAPSULE_CONV2D
from pytest_ansorbench.workloads.operators.conv1d import CONV1D
from pytest_ansorbench.workloads.operators.conv2d import CONV2D
from pytest_ansorbench.workloads.operators.conv2d_bn_relu import CONV2D_BN_RELU
from pytest_ansorbench.workloads.operators.conv3d import CONV3D
from pytest_ansorbench.workloads.operators.depthwise_conv2d import DEPTHWISE_CONV2D
from pytest_ansorbench.workloads.operators.dilated_conv2d import DILATED_CONV2D
from pytest_ansorbench.workloads.operators.grouped_conv2d import GROUPED_CONV2D
from pytest_ansorbench.workloads.operators.matrix_norm import MATRIX_NORM
from pytest_ansorbench.workloads.operators.softmax import SOFTMAX
from pytest_ansorbench.workloads.operators.transpose_batch_matmul import TRANSPOSE_BATCH_MATMUL
from pytest_ansorbench.workloads.operators.transposed_conv2d import TRANSPOSED_CONV2D
from pytest_ansorbench.workloads.suites import (
    LLM,
    ONE_PROGRAM,
    QUANTIZED,
    REASONING_COMPILER,
    VISION,
)

OPERATORS: Final[tuple[Operator, ...]] = (
    *CONV1D,
    *CONV2D,
    *BATCH_MATMUL,
    *CONV3D,
    *DEPTHWISE_CONV2D,
    *DILATED_CONV2D,
    *GROUPED_CONV2D,
    *TRANSPOSED_CONV2D,
    *CAPSULE_CONV2D,
    *CONV2D_BN_RELU,
    *TRANSPOSE_BATCH_MATMUL,
    *MATRIX_NORM,
    *SOFTMAX,
)

NETWORKS: Final[tuple[Network, ...]] = (
    # The paper's three,
    ResNet(depth=50),
    ResNet(depth=18),
    MobileNetV2(),
    # and those of TVM's tutorials and of Ansor's evaluation (https://arxiv.org/abs/2006.06762).
    MobileNetV1(),
    SqueezeNet11(),
    InceptionV3(),
    Vgg16(),
    Mlp(),
    BertLayer(),
    ResNet3d18(),
    # Of later years: small ones,
    MobileNetV3(),
    EfficientNetB0(),
    # those that transformers brought,
    VitB16(),
    ConvNextT(),
    # and a language model: a prompt behind others, and the next token.
    LlamaBlock(),
    LlamaBlock(tokens=1, past=255),
)

CASES: Final[tuple[Case, ...]] = (
    *OPERATORS,
    *NETWORKS,
    *LLM,
    *ONE_PROGRAM,
    *VISION,
    *QUANTIZED,
    *REASONING_COMPILER,
)

_BY_ID: Final = {case.id: case for case in CASES}


class UnknownCase(LookupError):
    """No case has this id.

    Attributes:
        close: Known ids that look like it, the closest first.
    """

    def __init__(self, case_id: str) -> None:
        self.close = tuple(difflib.get_close_matches(case_id, _BY_ID))
        example = self.close[0] if self.close else next(iter(_BY_ID))
        message = (
            f"bad case {case_id!r}: expected one of the {len(_BY_ID)} known ids, e.g. {example!r}"
        )
        if len(self.close) > 1:
            message += f" (close: {', '.join(map(repr, self.close[1:]))})"
        super().__init__(message)


def get(case_id: str) -> Case:
    """The case with this id.

    Raises:
        UnknownCase: If there is none; the message names similar ids.
    """
    try:
        return _BY_ID[case_id]
    except KeyError:
        raise UnknownCase(case_id) from None
