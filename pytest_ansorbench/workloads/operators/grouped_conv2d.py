"""Grouped conv2d, as in ResNeXt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from pytest_ansorbench.workloads.operators.conv2d import Conv2d
from pytest_ansorbench.workloads.operators.shape import require_divisor


@dataclass(frozen=True, kw_only=True)
class GroupedConv2d(Conv2d):
    """`Conv2d` whose channels are divided into groups that do not see each other.

    Attributes:
        groups: Number of groups; divides both channel counts.
    """

    groups: int

    family: ClassVar[str] = "grouped-conv2d"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_divisor(
            "groups",
            self.groups,
            in_channels=self.in_channels,
            out_channels=self.out_channels,
        )

    @property
    def group_count(self) -> int:
        return self.groups

    @property
    def shape_id(self) -> str:
        return f"{super().shape_id}-g{self.groups}"


GROUPED_CONV2D: Final = tuple(
    GroupedConv2d.square(size, ci, co, 3, stride, padding=1, groups=groups)
    for size, ci, co, stride, groups in (
        # Ansor's GRP: conv3_1 of ResNet-18 in 4 groups,
        (56, 64, 128, 2, 4),
        # and conv4_x.
        (14, 256, 256, 1, 4),
        # ResNeXt-50 32x4d (https://arxiv.org/abs/1611.05431, table 1): conv2_x,
        (56, 128, 128, 1, 32),
        # and conv4_x.
        (14, 512, 512, 1, 32),
    )
)
