"""The landscapes that ship are as one that is contributed has to be."""

from __future__ import annotations

import pytest

from pytest_ansorbench.landscapes.checking import faults
from pytest_ansorbench.landscapes.files import read_landscape
from tests.landscapes.recorded import LANDSCAPES

SHIPPED = sorted(LANDSCAPES.glob("*.json.gz"))


def test_there_are_six_families_in_six_megabytes():
    assert len({path.name.split("-")[0] for path in SHIPPED}) == 6
    assert sum(path.stat().st_size for path in SHIPPED) <= 6_000_000


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name.split("-")[0])
def test_nothing_is_wrong_with_one(path):
    assert faults(path) == []
    subject = read_landscape(path).subject
    assert subject.license == "CC0-1.0"
    assert subject.peak is not None, "throughput was not held to the peak"
