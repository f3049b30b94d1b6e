"""conv3d, as in video models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from pytest_ansorbench.workloads.operators.convolution import Convolution


@dataclass(frozen=True, kw_only=True)
class Conv3d(Convolution):
    """Convolution over three axes: input NDHWC, kernel DHWIO, output NDHWC; see `Convolution`.

    Attributes:
        depth: Frames of the input.
        height: Rows of the input.
        width: Columns of the input.
    """

    depth: int
    height: int
    width: int

    family: ClassVar[str] = "conv3d"

    @property
    def extents(self) -> dict[str, int]:
        return {"depth": self.depth, "height": self.height, "width": self.width}


CONV3D: Final = tuple(
    Conv3d(
        batch=1,
        depth=depth,
        height=size,
        width=size,
        in_channels=ci,
        out_channels=co,
        kernel=kernel,
        padding=kernel // 2,
    )
    for depth, size, ci, co, kernel in (
        # R3D-18 (https://arxiv.org/abs/1711.11248) on 16 frames of 112x112: conv4_x,
        (4, 14, 256, 256, 3),
        # and conv5_x.
        (2, 7, 512, 512, 3),
        # Ansor's C3D: the 1x1 layer of ResNet-50's conv2_x, 16 frames of it.
        (16, 56, 64, 64, 1),
    )
)
