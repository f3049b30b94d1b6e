"""conv2d, the layer that image models spend their time in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from pytest_ansorbench.workloads.operators.convolution import Convolution, Planar, Square


@dataclass(frozen=True, kw_only=True)
class Conv2d(Square, Planar, Convolution):
    """Convolution over two axes: input NHWC, kernel HWIO, output NHWC; see `Convolution`."""

    family: ClassVar[str] = "conv2d"


CONV2D: Final = tuple(
    Conv2d.square(*shape)
    for shape in (
        # ResNet-50 (https://arxiv.org/abs/1512.03385, table 1): conv1,
        (224, 3, 64, 7, 2, 3),
        # the 3x3 layer of conv2_x,
        (56, 64, 64, 3, 1, 1),
        # of conv3_x,
        (28, 128, 128, 3, 1, 1),
        # of conv4_x,
        (14, 256, 256, 3, 1, 1),
        # and of conv5_x;
        (7, 512, 512, 3, 1, 1),
        # the 1x1 layer that ends each block of conv2_x.
        (56, 64, 256, 1, 1, 0),
        # VGG-16 (https://arxiv.org/abs/1409.1556, table 1): all three layers of conv5.
        (14, 512, 512, 3, 1, 1),
    )
)
