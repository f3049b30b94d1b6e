"""How many sets of processes saved kernels are measured in."""

from __future__ import annotations

import pytest

from pytest_ansorbench.measure.process_sets import ProcessSets
from pytest_ansorbench.measure.side_by_side import Span


def test_auto_ends_when_ratios_are_known():
    effort = ProcessSets.parse("auto").effort
    assert effort.sets == Span(8, 24) and effort.precision == 0.01
    assert str(ProcessSets.parse("auto")) == "auto"


def test_a_number_is_the_number_of_sets():
    assert ProcessSets.parse("7").effort.sets == Span(7, 7)
    assert str(ProcessSets.parse("7")) == "7"


@pytest.mark.parametrize("text", ["0", "1", "-3", "many", "", "2.5"])
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match="expected auto or a number from 2"):
        ProcessSets.parse(text)
