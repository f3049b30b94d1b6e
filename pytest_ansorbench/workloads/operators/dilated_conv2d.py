"""Dilated conv2d, as in segmentation models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from pytest_ansorbench.workloads.operators.conv2d import Conv2d
from pytest_ansorbench.workloads.operators.window import Window


@dataclass(frozen=True, kw_only=True)
class DilatedConv2d(Conv2d):
    """`Conv2d` whose taps lie `dilation` elements apart.

    Attributes:
        dilation: Elements from one tap to the next, along both axes.
    """

    dilation: int

    family: ClassVar[str] = "dilated-conv2d"

    @property
    def window(self) -> Window:
        return Window(self.kernel, self.stride, self.padding, self.dilation)

    @property
    def shape_id(self) -> str:
        return f"{super().shape_id}-d{self.dilation}"


DILATED_CONV2D: Final = tuple(
    DilatedConv2d.square(size, channels, channels, 3, padding=padding, dilation=dilation)
    for size, channels, padding, dilation in (
        # Ansor's DIL: conv4_x of ResNet-50 at dilation 2. The padding is that of the plain
        # layer, so the output shrinks to 12x12.
        (14, 256, 1, 2),
        # DeepLabv3 (https://arxiv.org/abs/1706.05587) on ResNet-50, 224x224 images, output
        # stride 8: conv4_x,
        (28, 256, 2, 2),
        # and conv5_x.
        (28, 512, 4, 4),
    )
)
