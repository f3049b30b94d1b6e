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


CONV1D: Final = (
    # Ansor's C1D (https://arxiv.org/abs/2006.06762, section 7.1) takes channels and
    # kernels of ResNet-18 to one axis: conv3_1, which halves the extent,
    Conv1d(batch=1, length=256, in_channels=64, out_channels=128, kernel=3, stride=2, padding=1),
    # the shortcut beside conv4_1,
    Conv1d(batch=1, length=128, in_channels=128, out_channels=256, kernel=1, stride=2),
    # conv4_x with a wider kernel,
    Conv1d(batch=1, length=64, in_channels=256, out_channels=256, kernel=5, padding=2),
    # and conv5_x.
    Conv1d(batch=1, length=32, in_channels=512, out_channels=512, kernel=3, padding=1),
    # Whisper tiny (https://arxiv.org/abs/2212.04356), encoder: conv1, on 30 s of audio as
    # 80 mel bands,
    Conv1d(batch=1, length=3000, in_channels=80, out_channels=384, kernel=3, padding=1),
    # and conv2.
    Conv1d(batch=1, length=3000, in_channels=384, out_channels=384, kernel=3, stride=2, padding=1),
)
