"""conv1d, as in audio and text models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from pytest_ansorbench.workloads.operators.convolution import Convolution


@dataclass(frozen=True, kw_only=True)
class Conv1d(Convolution):
    """Convolution over one axis: input NLC, kernel LIO, output NLC; see `Convolution`.

    Attributes:
        length: Elements along the spatial axis of the input.
    """

    length: int

    family: ClassVar[str] = "conv1d"

    @property
    def extents(self) -> dict[str, int]:
        return {"length": self.length}


CONV1D: Final = tuple(
    Conv1d(
        batch=1,
        length=length,
        in_channels=ci,
        out_channels=co,
        kernel=kernel,
        stride=stride,
        padding=padding,
    )
    for length, ci, co, kernel, stride, padding in (
        # Ansor's C1D (https://arxiv.org/abs/2006.06762, section 7.1) takes channels and
        # kernels of ResNet-18 to one axis: conv3_1, which halves the extent,
        (256, 64, 128, 3, 2, 1),
        # the shortcut beside conv4_1,
        (128, 128, 256, 1, 2, 0),
        # conv4_x with a wider kernel,
        (64, 256, 256, 5, 1, 2),
        # and conv5_x.
        (32, 512, 512, 3, 1, 1),
        # Whisper tiny (https://arxiv.org/abs/2212.04356), encoder: conv1, on 30 s of audio as
        # 80 mel bands,
        (3000, 80, 384, 3, 1, 1),
        # and conv2.
        (3000, 384, 384, 3, 2, 1),
    )
)
