"""Shapes that no operator can have, and what the user reads."""

from dataclasses import dataclass, replace

import pytest

from pytest_ansorbench import workloads
from pytest_ansorbench.workloads import BadShape
from tests.workloads.conftest import LAYERS, SMALL

CONV = {"batch": 1, "height": 8, "width": 8, "in_channels": 64, "out_channels": 64, "kernel": 3}


def conv2d(**changes):
    return workloads.Conv2d(**{**CONV, **changes})


@pytest.mark.parametrize("value", [0, -1, 1.5, "4", None, True])
def test_conv2d_fields_are_positive_ints(value):
    for field in (*CONV, "stride"):
        with pytest.raises(BadShape, match=rf"^bad {field} .*: expected a positive int, e.g. 1$"):
            conv2d(**{field: value})


def test_padding_may_be_zero_but_not_negative():
    assert conv2d(padding=0).padding == 0
    with pytest.raises(BadShape, match=r"^bad padding -1: expected an int of at least 0, e.g. 1$"):
        conv2d(padding=-1)


def test_the_kernel_fits_into_the_padded_input():
    assert conv2d(height=3, padding=1, kernel=5).output_shape == (1, 1, 6, 64)
    expected = r"^bad kernel 6: expected at most 5 for height 3, padding 1 and dilation 1, e.g. 5$"
    with pytest.raises(BadShape, match=expected):
        conv2d(height=3, padding=1, kernel=6)


def test_dilation_widens_the_kernel():
    assert workloads.DilatedConv2d(**{**CONV, "height": 5}, dilation=2).output_shape[1] == 1
    expected = r"^bad kernel 3: expected at most 2 for height 4, padding 0 and dilation 2, e.g. 2$"
    with pytest.raises(BadShape, match=expected):
        workloads.DilatedConv2d(**{**CONV, "height": 4}, dilation=2)


@pytest.mark.parametrize("field", ["in_channels", "out_channels"])
def test_groups_divide_both_channel_counts(field):
    channels = {"in_channels": 60, "out_channels": 60, field: 64}
    expected = (
        f"^bad groups 5: expected a divisor of in_channels {channels['in_channels']}"
        f" and out_channels {channels['out_channels']}, e.g. 4$"
    )
    with pytest.raises(BadShape, match=expected):
        workloads.GroupedConv2d(**{**CONV, **channels}, groups=5)
    assert workloads.GroupedConv2d(**{**CONV, **channels}, groups=4).groups == 4


def test_transposed_padding_is_less_than_the_kernel():
    with pytest.raises(BadShape, match=r"^bad padding 3: expected less than kernel 3, e.g. 0$"):
        workloads.TransposedConv2d(**CONV, padding=3)


def test_transposed_padding_leaves_some_output():
    with pytest.raises(BadShape, match=r"^bad padding 2: expected at most 1, .*, e.g. 1$"):
        workloads.TransposedConv2d(**{**CONV, "height": 1}, padding=2)
    left = workloads.TransposedConv2d(**{**CONV, "height": 1}, padding=1)
    assert left.output_shape[1] == 1


@pytest.mark.parametrize("operator", [*SMALL, *LAYERS], ids=str)
def test_every_family_checks_its_fields(operator):
    for name, value in vars(operator).items():
        if type(value) is int and name != "padding":
            with pytest.raises(BadShape, match=rf"^bad {name} 0: expected a positive int"):
                replace(operator, **{name: 0})


@dataclass(frozen=True, kw_only=True)
class Named(workloads.BatchMatmul):
    name: str
    scale: float = 0.5


def test_fields_that_are_no_whole_numbers_are_whatever_they_are():
    assert Named(batch=1, m=16, n=16, k=16, name="a,b").name == "a,b"
    with pytest.raises(BadShape, match=r"^bad m 0: "):
        Named(batch=1, m=0, n=16, k=16, name="a,b")
